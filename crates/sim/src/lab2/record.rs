//! Who wants to see every detail of a run.

use std::time::Duration;

use ring_proto::lab2::Event;

use super::outcome::Violation;
use super::plan::Fault;

/// Sees what happens in a world; cannot change it. Times are from the world's beginning.
pub trait Record {
    /// A frame was sent, by a node or, if `None`, by something that is none.
    fn sent(&mut self, at: Duration, from: Option<usize>, frame: &[u8]);
    /// A node has read a frame that had waited for `age`.
    fn heard(&mut self, at: Duration, node: usize, frame: &[u8], age: Duration);
    /// A machine has told something.
    fn told(&mut self, at: Duration, node: usize, event: &Event);
    /// An action of the plan was carried out.
    fn acted(&mut self, at: Duration, fault: &Fault);
    /// The run has come to another part.
    fn phase(&mut self, at: Duration, name: &'static str);
    /// Something was broken.
    fn broken(&mut self, violation: &Violation);
}
