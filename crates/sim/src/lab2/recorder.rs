//! The interface of a recorder. A recorder sees every detail of a run.

use std::time::Duration;

use ring_proto::lab2::Event;

use super::outcome::Violation;
use super::schedule::Fault;

/// An observer that sees the events of a simulation, and cannot change the simulation. Times are from the start of the
/// run.
pub trait Recorder {
    /// Records a frame; `from` is `None` if the frame does not come from a node.
    fn on_sent(&mut self, at: Duration, from: Option<usize>, frame: &[u8]);
    /// Records that a node read a frame that had waited for `age`.
    fn on_read(&mut self, at: Duration, node: usize, frame: &[u8], age: Duration);
    /// Records an event of a state machine.
    fn on_event(&mut self, at: Duration, node: usize, event: &Event);
    /// Records an action of the schedule.
    fn on_action(&mut self, at: Duration, fault: &Fault);
    /// Records the start of a phase of the run.
    fn on_phase(&mut self, at: Duration, name: &'static str);
    /// Records a violation.
    fn on_violation(&mut self, violation: &Violation);
}
