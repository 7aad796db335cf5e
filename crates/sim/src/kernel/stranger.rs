//! Connections from strangers: peers that are not nodes and misbehave.

use super::simulation::Simulation;
use super::streams::{Pipe, Step};
use super::system::{Peer, System};

/// A stranger's use of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Stranger<P> {
    pub(crate) from: P,
    pub(crate) to: P,
    pub(crate) says: Vec<u8>,
    /// The time between two bytes, in nanoseconds.
    pub(crate) gap: u64,
    /// Whether the stranger reads arriving bytes.
    pub(crate) reads: bool,
    /// The stranger's last act, after it has sent everything.
    pub(crate) ends: Ending,
}

/// The last act of a stranger that has sent everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Stays,
    /// The stranger closes its side.
    Finishes,
    Resets,
}

impl<S: System> Simulation<S> {
    pub(crate) fn admit_stranger(&mut self, to: usize, stranger: &Stranger<Peer<S>>) {
        let mut pipe = Pipe::new(stranger.from, stranger.to, to);
        pipe.ends[0].reads = stranger.reads;
        pipe.ends[0].flying = stranger.says.len();
        let at = {
            let mut fabric = self.fabric.borrow_mut();
            fabric.ensure_node(to);
            fabric.pipes.push(pipe);
            fabric.pipes.len() - 1
        };
        self.push_step(self.now, Step::Connect(at));
        let (least, most) = self.network.latency;
        let mut due = self.now + 2 * (least + most);
        for &byte in &stranger.says {
            due += stranger.gap;
            self.push_step(due, Step::Data(at, 1, vec![byte]));
        }
        match stranger.ends {
            Ending::Stays => {}
            Ending::Finishes => self.push_step(due, Step::Finish(at, 1)),
            Ending::Resets => self.push_step(due, Step::Reset(at, 1)),
        }
    }
}
