//! Connections: what a system's nodes need of TCP, and what can go wrong with it.
//!
//! The driver's own [`Connections`] run over this network, so slots, partial reads and writes, and the end of
//! a connection are those of the daemon. All that takes time is a [`Step`] among the world's events.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::io::{self, ErrorKind};
use std::rc::Rc;

use ring_runtime::driver::{Changed, Connection, Connections, Network, Streams};

/// Bytes that a connection holds between a writer and a reader.
const WINDOW: usize = 4096;

/// What carries a node's connections. Known when the program is compiled, so that a system without any pays
/// for none.
pub trait Carrier<P> {
    /// Whether there are any.
    const ANY: bool;

    /// As the driver uses them.
    fn streams(&mut self) -> Option<&mut dyn Streams<P>>;

    /// Whether more happens without the network's doing.
    fn is_due(&self) -> bool;
}

/// For a system without connections.
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
}

impl<P: Copy + Debug> Carrier<P> for Connections<Tcp<P>, P> {
    const ANY: bool = true;

    fn streams(&mut self) -> Option<&mut dyn Streams<P>> {
        Some(self)
    }

    fn is_due(&self) -> bool {
        Streams::is_due(self)
    }
}

/// What the network does to connections that are made from now on; rates are in thousandths.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamWeather {
    /// Those that nobody answers.
    pub unanswered: u16,
    /// Those whose bytes arrive one by one.
    pub dribble: u16,
    /// Those that are reset, after any number of bytes.
    pub reset: u16,
    /// Those on which nothing arrives any longer, after any number of bytes.
    pub stall: u16,
    /// All are reset after so many bytes.
    pub reset_at: Option<u64>,
    /// Those one way of which ends, after any number of bytes, while the other goes on.
    pub half: u16,
}

/// What becomes of one connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fate {
    pub(super) unanswered: bool,
    pub(super) dribbles: bool,
    /// After so many bytes both ends are told of a reset.
    pub(super) reset_at: Option<u64>,
    /// An end of file does not arrive: in its place both ends are told of a reset. So many arrive before it.
    pub(super) reset_end: Option<u8>,
    /// After so many bytes nothing arrives at either end, not even a reset.
    pub(super) stalls_at: Option<u64>,
    /// After so many bytes an end of file arrives at this end in place of what follows.
    pub(super) half_at: Option<(u64, Side)>,
}

/// One of a connection's ends: 0 connects, 1 accepts.
pub(super) type Side = usize;

/// Something that takes time.
#[derive(Debug)]
pub enum Step {
    /// A peer asks to connect.
    Connect(usize),
    /// The connecting end is told that the connection stands, or that nobody listens.
    Answer(usize, bool),
    /// Bytes arrive at an end.
    Data(usize, usize, Vec<u8>),
    /// An end of file arrives at an end.
    Finish(usize, usize),
    /// A reset arrives at an end.
    Reset(usize, usize),
    /// An end learns that its peer has read.
    Room(usize, usize),
}

impl Step {
    /// The connection, and the end at which it arrives.
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
    reason = "facts that know nothing of each other"
)]
#[derive(Debug, Default)]
pub(super) struct End {
    /// `None`: a stranger's.
    pub(super) node: Option<usize>,
    key: Option<u64>,
    pub(super) established: bool,
    pub(super) error: Option<ErrorKind>,
    /// Arrived, and not read.
    pub(super) unread: VecDeque<u8>,
    /// Written, and not arrived.
    pub(super) flying: usize,
    pub(super) finished: bool,
    /// Its owner is done with it, or dead.
    pub(super) gone: bool,
    /// Its kernel resets it if its owner dies.
    resets: bool,
    /// A stranger that reads what comes.
    pub(super) reads: bool,
    /// Steps on their way to it, each with the time at which it was sent. They arrive in this order, one at
    /// each event.
    pub(super) coming: VecDeque<(u64, Step)>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Pipe<P> {
    /// Where it comes from.
    pub(super) from: P,
    /// Where it goes.
    pub(super) to: P,
    pub(super) ends: [End; 2],
    pub(super) fate: Fate,
    /// Bytes that have arrived at either end.
    pub(super) delivered: u64,
    /// Ends of file that have.
    pub(super) ended: u8,
    /// The network has reset it: nothing that was on its way arrives.
    pub(super) broken: bool,
    /// One way has ended before its time: nothing that was on its way there arrives.
    pub(super) halved: Option<Side>,
}

impl<P> Pipe<P> {
    /// A connection that is asked for, to an address of a node.
    pub(super) fn new(from: P, to: P, node: usize) -> Self {
        let mut ends = [End::default(), End::default()];
        ends[1].node = Some(node);
        Self {
            from,
            to,
            ends,
            fate: Fate::default(),
            delivered: 0,
            ended: 0,
            broken: false,
            halved: None,
        }
    }
}

/// All connections of a world, between peers whose addresses are `P`.
#[derive(Debug)]
pub struct Fabric<P> {
    pub(super) pipes: Vec<Pipe<P>>,
    /// By node.
    changed: Vec<VecDeque<Changed>>,
    /// By node, where it connects from if that is no longer the address that it was started with.
    addresses: Vec<Option<P>>,
    pub(super) to_accept: Vec<VecDeque<usize>>,
    /// What was done since the world has last looked.
    pub(super) steps: Vec<Step>,
    /// After so long, in nanoseconds, a kernel gives up a connection on which what it sends is not acknowledged; `None`:
    /// never.
    pub patience: Option<u64>,
}

impl<P> Default for Fabric<P> {
    fn default() -> Self {
        Self {
            pipes: Vec::new(),
            changed: Vec::new(),
            addresses: Vec::new(),
            to_accept: Vec::new(),
            steps: Vec::new(),
            patience: None,
        }
    }
}

impl<P> Fabric<P> {
    pub(super) fn make_room(&mut self, node: usize) {
        let nodes = self.changed.len().max(node + 1);
        self.changed.resize_with(nodes, VecDeque::new);
        self.to_accept.resize_with(nodes, VecDeque::new);
        self.addresses.resize_with(nodes, || None);
    }

    /// Something has changed for an end; the node that is to look, if there is one.
    pub(super) fn notify(&mut self, pipe: usize, side: Side) -> Option<usize> {
        let end = &self.pipes[pipe].ends[side];
        let (node, key) = end.node.zip(end.key)?;
        self.changed[node].push_back(Changed::Connection(key));
        Some(node)
    }

    /// A peer may be accepted.
    pub(super) fn offer(&mut self, pipe: usize, node: usize) {
        self.to_accept[node].push_back(pipe);
        self.changed[node].push_back(Changed::Listener);
    }

    /// A node connects from another address from now on.
    pub(super) fn set_address(&mut self, node: usize, address: P) {
        self.make_room(node);
        self.addresses[node] = Some(address);
    }

    /// Whether something has changed for a node that it has not looked at.
    pub(super) fn has_news(&self, node: usize) -> bool {
        self.changed.get(node).is_some_and(|news| !news.is_empty())
    }

    /// A process is dead: its kernel ends its connections, by a reset where something was left unread or the process
    /// [wanted it so](Tcp::resetting). What still asks to connect to it asks the next one.
    pub(super) fn crash(&mut self, node: usize) {
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

/// One node's part in a world's connections.
#[derive(Debug, Clone)]
pub struct Tcp<P> {
    node: usize,
    /// Its address.
    own: P,
    resets: bool,
    fabric: Rc<RefCell<Fabric<P>>>,
    /// A peer's node; `None`: no node has that address.
    node_of: fn(P) -> Option<usize>,
}

impl<P: Copy> Tcp<P> {
    /// That of `node`, which connects from its `own` address.
    pub fn of(
        fabric: &Rc<RefCell<Fabric<P>>>,
        node: usize,
        own: P,
        node_of: fn(P) -> Option<usize>,
    ) -> Self {
        fabric.borrow_mut().make_room(node);
        Self {
            node,
            own,
            resets: false,
            fabric: Rc::clone(fabric),
            node_of,
        }
    }

    /// The same, but what its process has not closed in so many words is reset when it dies.
    pub const fn resetting(mut self) -> Self {
        self.resets = true;
        self
    }
}

/// An end of a connection.
#[derive(Debug)]
pub struct Socket<P> {
    fabric: Rc<RefCell<Fabric<P>>>,
    pipe: usize,
    side: Side,
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
        // As the kernel's: what there is already is told.
        fabric.changed[self.node].push_back(Changed::Connection(key));
        Ok(())
    }

    fn changed(&mut self) -> Option<Changed> {
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
    fn established(&mut self) -> io::Result<()> {
        self.with(|own, _, _| match own.error {
            Some(error) => Err(error.into()),
            None if own.established => Ok(()),
            None => Err(ErrorKind::WouldBlock.into()),
        })
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let (pipe, other) = (self.pipe, 1 - self.side);
        // As the kernel's: what has come before a reset can be read, and so can an end.
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

    fn check(&mut self) -> io::Result<()> {
        self.with(|own, _, _| own.error.map_or(Ok(()), |error| Err(error.into())))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (pipe, other) = (self.pipe, 1 - self.side);
        self.with(|own, peer, steps| {
            if let Some(error) = own.error {
                return Err(error.into());
            }
            let room = WINDOW.saturating_sub(own.flying + peer.unread.len());
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
