//! Peers that are no nodes, and do not do as they should.

use super::streams::{Pipe, Step};
use super::system::{Peer, System};
use super::world::World;

/// How a stranger uses a connection.
#[derive(Debug, Clone)]
pub struct Stranger<P> {
    /// Where it connects from.
    pub from: P,
    /// Where it connects to.
    pub to: P,
    /// What it sends, byte by byte.
    pub says: Vec<u8>,
    /// The time between two bytes, in nanoseconds.
    pub gap: u64,
    /// Whether it reads what comes.
    pub reads: bool,
    /// What it does once all is sent.
    pub ends: Ending,
}

/// What a stranger does once it has sent everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Nothing.
    Stays,
    /// It closes its own side.
    Finishes,
    /// It resets the connection.
    Resets,
}

impl<S: System> World<S> {
    /// A stranger connects to a node.
    pub fn admit_stranger(&mut self, to: usize, stranger: &Stranger<Peer<S>>) {
        let mut pipe = Pipe::new(stranger.from, stranger.to, to);
        pipe.ends[0].reads = stranger.reads;
        pipe.ends[0].flying = stranger.says.len();
        let at = {
            let mut fabric = self.fabric.borrow_mut();
            fabric.make_room(to);
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
