//! Simulated TCP connections and their faults.
//!
//! The driver's [`Connections`](ring_runtime::driver::Connections) run over this network. So slots, partial reads and
//! writes, and ends of connections behave as in the daemon. Everything that takes time is a [`Step`] among the
//! simulation's events.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::rc::Rc;

use ring_runtime::driver::{Changed, Connection, Network, Streams};
use ring_trust::StreamKeys;

use super::checked_streams::WrittenData;
use super::rng::{Rng, Stream};

/// The number of bytes that a connection holds between a writer and a reader.
const WINDOW_BYTES: usize = 4096;

/// A node's connections. Static dispatch lets a system without connections avoid their cost.
pub trait Carrier<P> {
    /// Whether the system has connections.
    const ANY: bool;

    /// Returns the connections as the driver uses them.
    fn streams(&mut self) -> Option<&mut dyn Streams<P>>;

    /// Whether the driver has work on its connections even if no new event has arrived.
    fn is_due(&self) -> bool;

    /// Replaces the keys of the connections.
    fn set_keys(&mut self, keys: StreamKeys);
}

/// The connection type of a system that has no connections.
#[derive(Debug)]
pub struct NoStreams;

impl<P> Carrier<P> for NoStreams {
    const ANY: bool = false;

    fn streams(&mut self) -> Option<&mut dyn Streams<P>> {
        None
    }

    fn is_due(&self) -> bool {
        false
    }

    fn set_keys(&mut self, _: StreamKeys) {}
}

/// The faults of new connections; connections that already exist do not get these faults. Rates are per thousand.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamConditions {
    /// The rate of connections that are never answered.
    pub unanswered: u16,
    /// The rate of connections whose bytes arrive one by one.
    pub dribble: u16,
    /// The rate of connections that are reset after a random number of bytes.
    pub reset: u16,
    /// The rate of connections that stall after a random number of bytes.
    pub stall: u16,
    /// The number of bytes after which every connection is reset.
    pub reset_at: Option<u64>,
    /// The rate of connections in which one direction ends after a random number of bytes.
    pub half: u16,
}

/// The faults that one connection will have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StreamFate {
    pub(super) unanswered: bool,
    pub(super) dribbles: bool,
    /// The number of bytes after which both ends are reset.
    pub(super) reset_at: Option<u64>,
    /// The number of ends of file that arrive as usual. The next end of file resets both ends.
    pub(super) reset_end: Option<u8>,
    /// The number of bytes after which nothing arrives at either end, not even a reset.
    pub(super) stalls_at: Option<u64>,
    /// The number of bytes after which this end gets an end of file, and no bytes after it.
    pub(super) half_at: Option<(u64, Side)>,
}

/// An end of a connection: 0 connects, 1 accepts.
pub type Side = usize;

/// A step of a connection that takes time. The first field is the connection. If the second field is a number, the step
/// arrives at this end.
#[derive(Debug)]
pub enum Step {
    /// A peer asks to connect.
    Connect(usize),
    /// The connecting end learns whether the connection is established or refused.
    Answer(usize, bool),
    /// Bytes arrive at an end.
    Data(usize, usize, Vec<u8>),
    /// An end of file arrives at one end of the connection.
    Finish(usize, usize),
    /// A reset arrives at one end of the connection.
    Reset(usize, usize),
    /// One end learns that its peer has read bytes.
    Room(usize, usize),
}

impl Step {
    /// Returns the connection, and the end at which the step arrives.
    pub(super) const fn place(&self) -> (usize, Side) {
        match *self {
            Self::Connect(pipe) => (pipe, 1),
            Self::Answer(pipe, _) => (pipe, 0),
            Self::Data(pipe, to, _)
            | Self::Finish(pipe, to)
            | Self::Reset(pipe, to)
            | Self::Room(pipe, to) => (pipe, to),
        }
    }
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
#[derive(Debug, Default)]
pub(super) struct End {
    /// The node at this end; `None` if a stranger is at this end.
    pub(super) node: Option<usize>,
    key: Option<u64>,
    pub(super) established: bool,
    pub(super) error: Option<ErrorKind>,
    /// Bytes that have arrived and are not read.
    pub(super) unread: VecDeque<u8>,
    /// The number of written bytes that are on their way.
    pub(super) flying: usize,
    pub(super) finished: bool,
    /// Whether the owner of this end has closed it or is dead.
    pub(super) gone: bool,
    /// Whether the kernel resets the connection if the owner of this end dies.
    resets: bool,
    /// Whether this end belongs to a stranger that reads all arriving bytes.
    pub(super) reads: bool,
    /// The steps on their way to this end, with the times at which they were sent. The steps arrive in the order of the
    /// list. Each event of the simulation delivers one step.
    pub(super) coming: VecDeque<(u64, Step)>,
}

#[derive(Debug)]
pub(super) struct Pipe<P> {
    /// The address from which the connecting end connects.
    pub(super) from: P,
    /// The address to which the connecting end connects.
    pub(super) to: P,
    pub(super) ends: [End; 2],
    pub(super) fate: StreamFate,
    /// The number of bytes that have arrived at either end.
    pub(super) delivered: u64,
    /// The number of ends of file that have arrived.
    pub(super) ended: u8,
    /// Whether the network reset the connection, so that no more bytes arrive.
    pub(super) broken: bool,
    /// The end at which an end of file arrived too early. No more bytes arrive at this end.
    pub(super) halved: Option<Side>,
    /// The data that each end has written before the encryption, if the run has keys.
    pub(super) written: [WrittenData; 2],
}

impl<P> Pipe<P> {
    /// Returns a new connection to an address of a node.
    pub(super) fn new(from: P, to: P, node: usize) -> Self {
        let mut ends = [End::default(), End::default()];
        ends[1].node = Some(node);
        Self {
            from,
            to,
            ends,
            fate: StreamFate::default(),
            delivered: 0,
            ended: 0,
            broken: false,
            halved: None,
            written: Default::default(),
        }
    }
}

/// All connections of a simulation, between peers whose addresses are `P`.
#[derive(Debug)]
pub struct ConnectionTable<P> {
    pub(super) pipes: Vec<Pipe<P>>,
    changed: Vec<VecDeque<Changed>>,
    /// For each node: the address from which the node connects; `None` if the address never changed.
    addresses: Vec<Option<P>>,
    pub(super) to_accept: Vec<VecDeque<usize>>,
    /// The steps that the simulation has not handled.
    pub(super) steps: Vec<Step>,
    /// The time, in nanoseconds, after which a kernel gives up a connection without acknowledgements. If the time is
    /// `None`, a kernel never gives up.
    pub ack_timeout: Option<u64>,
    /// The random numbers of the handshakes.
    pub(super) seeds: Rng,
    /// Whether a node of the run has keys.
    pub(super) is_checked: bool,
    /// For each node: whether its state machine must not get data of connections without encryption.
    pub(super) requires_encryption: Vec<bool>,
    /// Data that the state machine of the running node received although no node sent them.
    pub(super) forgeries: Vec<&'static str>,
}

impl<P> Default for ConnectionTable<P> {
    fn default() -> Self {
        Self {
            pipes: Vec::new(),
            changed: Vec::new(),
            addresses: Vec::new(),
            to_accept: Vec::new(),
            steps: Vec::new(),
            ack_timeout: None,
            seeds: Rng::new(0, Stream::Handshakes),
            is_checked: false,
            requires_encryption: Vec::new(),
            forgeries: Vec::new(),
        }
    }
}

impl<P> ConnectionTable<P> {
    pub(super) fn ensure_node(&mut self, node: usize) {
        let nodes = self.changed.len().max(node + 1);
        self.changed.resize_with(nodes, VecDeque::new);
        self.to_accept.resize_with(nodes, VecDeque::new);
        self.addresses.resize_with(nodes, || None);
        self.requires_encryption.resize(nodes, false);
    }

    pub(super) fn draw_seed(&mut self) -> [u8; 32] {
        let mut seed = [0; 32];
        for part in seed.as_chunks_mut().0 {
            *part = self.seeds.draw().to_be_bytes();
        }
        seed
    }

    /// Records a change at an end, and returns the node that must handle it.
    pub(super) fn notify(&mut self, pipe: usize, side: Side) -> Option<usize> {
        let end = &self.pipes[pipe].ends[side];
        let (node, key) = end.node.zip(end.key)?;
        self.changed[node].push_back(Changed::Connection(key));
        Some(node)
    }

    pub(super) fn queue_accept(&mut self, pipe: usize, node: usize) {
        self.to_accept[node].push_back(pipe);
        self.changed[node].push_back(Changed::Listener);
    }

    /// Sets the address from which a node connects from now on.
    pub(super) fn set_address(&mut self, node: usize, address: P) {
        self.ensure_node(node);
        self.addresses[node] = Some(address);
    }

    pub(super) fn has_changes(&self, node: usize) -> bool {
        self.changed.get(node).is_some_and(|news| !news.is_empty())
    }

    /// Closes the connections of a dead process. Resets a connection if the process left bytes unread or is
    /// [`resetting`](Tcp::resetting). If a connection is not established yet, the node's next process gets it.
    pub(super) fn end_connections(&mut self, node: usize) {
        if node >= self.changed.len() {
            return;
        }
        self.addresses[node] = None;
        self.changed[node].clear();
        self.to_accept[node].clear();
        for (at, pipe) in self.pipes.iter_mut().enumerate() {
            for side in 0..2 {
                let end = &mut pipe.ends[side];
                let is_asked_for = side == 1 && !end.established;
                if end.node == Some(node) && !end.gone && !is_asked_for {
                    end.gone = true;
                    end.key = None;
                    self.steps.push(if end.resets || !end.unread.is_empty() {
                        Step::Reset(at, 1 - side)
                    } else {
                        Step::Finish(at, 1 - side)
                    });
                }
            }
        }
    }
}

/// One node's access to the connections.
#[derive(Debug, Clone)]
pub struct Tcp<P> {
    pub(super) node: usize,
    /// The address from which the node connects.
    own: P,
    resets: bool,
    pub(super) fabric: Rc<RefCell<ConnectionTable<P>>>,
    /// Returns the node with this address; `None` if no node has the address.
    node_of: fn(P) -> Option<usize>,
}

impl<P: Copy> Tcp<P> {
    /// Returns the access of `node`, which connects from the address `own`.
    pub fn of(
        fabric: &Rc<RefCell<ConnectionTable<P>>>,
        node: usize,
        own: P,
        node_of: fn(P) -> Option<usize>,
    ) -> Self {
        fabric.borrow_mut().ensure_node(node);
        Self {
            node,
            own,
            resets: false,
            fabric: Rc::clone(fabric),
            node_of,
        }
    }

    /// Makes the kernel reset each connection that the process does not close before it dies.
    pub const fn resetting(mut self) -> Self {
        self.resets = true;
        self
    }
}

/// An end of a connection.
#[derive(Debug)]
pub struct Socket<P> {
    pub(super) fabric: Rc<RefCell<ConnectionTable<P>>>,
    pub(super) pipe: usize,
    pub(super) side: Side,
}

impl<P: Copy> Network<P> for Tcp<P> {
    type Connection = Socket<P>;

    fn connect(&mut self, to: P) -> io::Result<Socket<P>> {
        let peer = (self.node_of)(to).ok_or(ErrorKind::AddrNotAvailable)?;
        let fabric = &mut *self.fabric.borrow_mut();
        let pipe = fabric.pipes.len();
        let own = fabric.addresses[self.node].unwrap_or(self.own);
        let mut new = Pipe::new(own, to, peer);
        new.ends[0].node = Some(self.node);
        new.ends[0].resets = self.resets;
        fabric.pipes.push(new);
        fabric.steps.push(Step::Connect(pipe));
        Ok(Socket {
            fabric: Rc::clone(&self.fabric),
            pipe,
            side: 0,
        })
    }

    fn accept(&mut self) -> io::Result<(Socket<P>, P)> {
        let fabric = &mut *self.fabric.borrow_mut();
        let waiting = fabric.to_accept[self.node].pop_front();
        let pipe = waiting.ok_or(ErrorKind::WouldBlock)?;
        let from = fabric.pipes[pipe].from;
        fabric.pipes[pipe].ends[1].resets = self.resets;
        let socket = Socket {
            fabric: Rc::clone(&self.fabric),
            pipe,
            side: 1,
        };
        Ok((socket, from))
    }

    fn watch(&mut self, socket: &Socket<P>, key: u64) -> io::Result<()> {
        let fabric = &mut *self.fabric.borrow_mut();
        fabric.pipes[socket.pipe].ends[socket.side].key = Some(key);
        // Reports data that has already arrived, as a real kernel does.
        fabric.changed[self.node].push_back(Changed::Connection(key));
        Ok(())
    }

    fn next_changed(&mut self) -> Option<Changed> {
        self.fabric.borrow_mut().changed[self.node].pop_front()
    }
}

impl<P> Socket<P> {
    fn with<T>(&self, act: impl FnOnce(&mut End, &mut End, &mut Vec<Step>) -> T) -> T {
        let fabric = &mut *self.fabric.borrow_mut();
        let [first, second] = &mut fabric.pipes[self.pipe].ends;
        if self.side == 0 {
            act(first, second, &mut fabric.steps)
        } else {
            act(second, first, &mut fabric.steps)
        }
    }

    fn leave(&self, step: Option<Step>) {
        self.with(|own, _, steps| {
            if own.error.is_none() {
                steps.extend(step);
            }
            own.gone = true;
            own.key = None;
        });
    }
}

impl<P> Connection for Socket<P> {
    fn check_established(&mut self) -> io::Result<()> {
        self.with(|own, _, _| match own.error {
            Some(error) => Err(error.into()),
            None if own.established => Ok(()),
            None => Err(ErrorKind::WouldBlock.into()),
        })
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let (pipe, other) = (self.pipe, 1 - self.side);
        // As with a real kernel, bytes and an end of file that came before a reset can still be read.
        self.with(|own, _, steps| {
            let count = room.len().min(own.unread.len());
            if count == 0 && !own.finished {
                return Err(own.error.unwrap_or(ErrorKind::WouldBlock).into());
            }
            let bytes = own.unread.drain(..count);
            room.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
            if count > 0 {
                steps.push(Step::Room(pipe, other));
            }
            Ok(count)
        })
    }

    fn check_reset(&mut self) -> io::Result<()> {
        self.with(|own, _, _| own.error.map_or(Ok(()), |error| Err(error.into())))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (pipe, other) = (self.pipe, 1 - self.side);
        self.with(|own, peer, steps| {
            if let Some(error) = own.error {
                return Err(error.into());
            }
            let room = WINDOW_BYTES.saturating_sub(own.flying + peer.unread.len());
            let count = room.min(bytes.len());
            if count == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            own.flying += count;
            steps.push(Step::Data(pipe, other, bytes[..count].to_vec()));
            Ok(count)
        })
    }

    fn finish(&mut self) -> io::Result<()> {
        let (pipe, other) = (self.pipe, 1 - self.side);
        self.with(|own, _, steps| {
            if let Some(error) = own.error {
                return Err(error.into());
            }
            steps.push(Step::Finish(pipe, other));
            Ok(())
        })
    }

    fn close(self) {
        self.leave(Some(Step::Finish(self.pipe, 1 - self.side)));
    }

    fn abort(self) {
        self.leave(Some(Step::Reset(self.pipe, 1 - self.side)));
    }
}
