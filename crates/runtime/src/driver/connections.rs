//! Slots and events of a bounded number of connections, over any network.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};

use ring_proto::{CloseReason, StreamId};

use super::connection::{ConnectionPhase, Stream, WriteOutcome};
use super::{IoEvent, Streams};

/// Maximum number of failed `accept` calls in a row. After this number of failures, this node ignores the listener
/// until the listener's next change. The maximum is larger than the number of peers that can wait to be accepted.
const FAILED_ACCEPTS_MAX: usize = 4096;
/// The ratio between the number of slots and the maximum number of closing connections.
const SLOTS_PER_CLOSING: usize = 2;

/// A network that makes connections.
pub trait Network<P> {
    /// The type of the network's connections.
    type Connection: Connection;

    /// Starts to connect to a peer.
    ///
    /// # Errors
    /// Returns an error if the attempt fails at once.
    fn connect(&mut self, to: P) -> io::Result<Self::Connection>;

    /// Accepts the next connection. Returns the connection and its peer.
    ///
    /// # Errors
    /// `WouldBlock`: no peer waits. `OutOfMemory`: the system has no memory or descriptor at the moment. Any other
    /// error: this connection failed, but another peer may wait.
    fn accept(&mut self) -> io::Result<(Self::Connection, P)>;

    /// Watches `connection`. After this call, [`next_changed`](Self::next_changed) reports each change of the
    /// connection once. A second call replaces the key.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot watch the connection.
    fn watch(&mut self, connection: &Self::Connection, key: u64) -> io::Result<()>;

    /// Returns the next source that may have changed.
    fn next_changed(&mut self) -> Option<Changed>;
}

/// A source that may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// Peers may have connected.
    Listener,
    /// A connection may have changed. The value is the key with which the network watches the connection.
    Connection(u64),
}

/// A connection of a network. Functions of a connection never block.
pub trait Connection {
    /// Checks whether the connection is established.
    ///
    /// # Errors
    /// `WouldBlock`: the connection is not established yet. Any other error: the connection cannot be established.
    fn check_established(&mut self) -> io::Result<()>;

    /// Reads bytes and returns their number. 0 means that the peer closed its side.
    ///
    /// # Errors
    /// `WouldBlock`: there are no bytes to read. Any other error: the connection has failed.
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize>;

    /// Checks whether the peer reset the connection, perhaps after it closed its side.
    ///
    /// # Errors
    /// Fails if the connection has failed.
    fn check_reset(&mut self) -> io::Result<()>;

    /// Writes as many bytes from the start of `bytes` as the connection takes. Returns the number of written bytes.
    ///
    /// # Errors
    /// `WouldBlock`: the connection takes no bytes at the moment. The next call begins with the same bytes. Any other
    /// error: the connection has failed.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Writes the bytes that mark the end of this node's stream, if there are such bytes. The caller calls this
    /// function after all other bytes, before it finishes or closes the connection.
    ///
    /// # Errors
    /// `WouldBlock`: the connection takes no bytes at the moment. Any other error: the connection has failed.
    fn write_end(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Closes this node's side.
    ///
    /// # Errors
    /// Fails if the connection has failed.
    fn finish(&mut self) -> io::Result<()>;

    /// Closes the connection. The peer reads all written bytes, and then the end of the stream.
    fn close(self);

    /// Resets the connection.
    fn abort(self);
}

/// A bounded number of connections of one network.
#[derive(Debug)]
pub struct Connections<N: Network<P>, P> {
    network: N,
    slots: Vec<StreamSlot<N::Connection, P>>,
    /// Free slots. The next connection gets the last slot of this list.
    free_slots: Vec<u16>,
    /// Slots that may have work to do. Each slot is in the queue at most once.
    due: VecDeque<u16>,
    /// Connections that the machine closed, but whose last bytes are unwritten. The oldest is first.
    closing: VecDeque<StreamId>,
    /// Connections that failed before they had a socket.
    failed: VecDeque<(StreamId, CloseReason)>,
    /// Whether peers may be waiting to be accepted.
    may_accept: bool,
}

#[derive(Debug)]
struct StreamSlot<C, P> {
    generation: u32,
    is_due: bool,
    stream: Option<Stream<C, P>>,
}

impl<N: Network<P>, P: Copy> Connections<N, P> {
    /// Makes slots for at most `count` connections of `network`.
    pub fn new(network: N, count: u16) -> Self {
        let slot = || StreamSlot {
            generation: 0,
            is_due: false,
            stream: None,
        };
        Self {
            network,
            slots: (0..count).map(|_| slot()).collect(),
            free_slots: (0..count).rev().collect(),
            due: VecDeque::with_capacity(count.into()),
            closing: VecDeque::new(),
            failed: VecDeque::new(),
            may_accept: true,
        }
    }

    /// Returns the network.
    pub const fn network(&self) -> &N {
        &self.network
    }

    /// Returns the network, for a change of its options.
    pub const fn network_mut(&mut self) -> &mut N {
        &mut self.network
    }

    /// Returns an open connection; `None` if it has ended.
    pub fn connection(&self, id: StreamId) -> Option<&N::Connection> {
        Some(&self.slot(id)?.stream.as_ref()?.connection)
    }

    fn id(&self, slot: u16) -> StreamId {
        StreamId {
            slot,
            generation: self.slots[usize::from(slot)].generation,
        }
    }

    fn slot(&self, id: StreamId) -> Option<&StreamSlot<N::Connection, P>> {
        let slot = self.slots.get(usize::from(id.slot))?;
        (slot.generation == id.generation).then_some(slot)
    }

    fn stream(&mut self, id: StreamId) -> Option<&mut Stream<N::Connection, P>> {
        let slot = self.slots.get_mut(usize::from(id.slot))?;
        let is_same = slot.generation == id.generation;
        slot.stream.as_mut().filter(|_| is_same)
    }

    fn make_due(&mut self, slot: u16) {
        let is_due = &mut self.slots[usize::from(slot)].is_due;
        if !std::mem::replace(is_due, true) {
            self.due.push_back(slot);
        }
    }

    /// Puts a connection into a free slot. The caller ensures that a slot is free.
    fn add(&mut self, connection: io::Result<N::Connection>, phase: ConnectionPhase<P>) {
        let Some(slot) = self.free_slots.pop() else {
            return;
        };
        let id = self.id(slot);
        let watched = connection.and_then(|connection| {
            self.network.watch(&connection, key(id))?;
            Ok(connection)
        });
        match watched {
            Ok(connection) => {
                let stream = Stream::new(connection, phase);
                self.slots[usize::from(slot)].stream = Some(stream);
                self.make_due(slot);
            }
            Err(error) => {
                self.failed.push_back((id, reason(&error)));
                self.vacate(slot);
            }
        }
    }

    /// Frees a slot. The slot's generation increases, so later connections never get the id of the old connection.
    fn vacate(&mut self, slot: u16) -> Option<N::Connection> {
        let id = self.id(slot);
        self.closing.retain(|&closing| closing != id);
        let it = &mut self.slots[usize::from(slot)];
        it.generation = it.generation.wrapping_add(1);
        let stream = it.stream.take();
        self.free_slots.push(slot);
        // A peer that could not be accepted before may now use the descriptor of the closed connection.
        self.may_accept = true;
        stream.map(|stream| stream.connection)
    }

    fn accept(&mut self) {
        let mut failed = 0;
        while self.may_accept && !self.free_slots.is_empty() {
            match self.network.accept() {
                Ok((connection, from)) => {
                    failed = 0;
                    self.add(Ok(connection), ConnectionPhase::Accepted(from));
                }
                // Without a descriptor, this node waits until another peer connects or a connection closes.
                Err(error) if ends_accepting(error.kind()) => self.may_accept = false,
                // A peer that has given up must not block the peers that wait after it, because the network does not
                // announce them again.
                Err(_) => {
                    failed += 1;
                    self.may_accept = failed < FAILED_ACCEPTS_MAX;
                }
            }
        }
    }

    /// Forgets a failure that the machine did not see, because the machine no longer uses the connection.
    fn forget_failure(&mut self, id: StreamId) {
        self.failed.retain(|&(failed, _)| failed != id);
    }

    fn collect_changes(&mut self) {
        while let Some(changed) = self.network.next_changed() {
            match changed {
                Changed::Listener => self.may_accept = true,
                Changed::Connection(key) => {
                    let id = id_of(key);
                    if let Some(stream) = self.stream(id) {
                        stream.on_change();
                        self.make_due(id.slot);
                    }
                }
            }
        }
    }

    /// Returns the next event of this slot. The caller has already removed the slot from `due`.
    fn poll_slot(&mut self, slot: u16) -> Option<IoEvent<P>> {
        let stream = self.slots[usize::from(slot)].stream.as_mut()?;
        if stream.is_closing() {
            self.write(self.id(slot), &mut |_| 0);
            return None;
        }
        let happened = stream.next_event();
        match happened {
            Some(IoEvent::Closed(_)) => {
                if let Some(connection) = self.vacate(slot) {
                    connection.abort();
                }
            }
            Some(_) => self.make_due(slot),
            None => {}
        }
        happened
    }
}

impl<N: Network<P>, P: Copy> Streams<P> for Connections<N, P> {
    fn next_id(&self) -> Option<StreamId> {
        self.free_slots.last().map(|&slot| self.id(slot))
    }

    fn open(&mut self, to: P) {
        let connection = self.network.connect(to);
        self.add(connection, ConnectionPhase::Connecting);
    }

    fn write(&mut self, id: StreamId, fill: &mut dyn FnMut(&mut [u8]) -> usize) {
        let Some(stream) = self.stream(id) else {
            return;
        };
        match stream.write(fill) {
            Ok(WriteOutcome::Open) => {}
            Ok(WriteOutcome::Closed) => {
                if let Some(connection) = self.vacate(id.slot) {
                    connection.close();
                }
            }
            Err(_) if stream.is_closing() => {
                self.vacate(id.slot);
            }
            Err(error) => {
                stream.fail(reason(&error));
                self.make_due(id.slot);
            }
        }
    }

    fn finish(&mut self, id: StreamId) {
        if self.stream(id).is_some_and(Stream::finish) {
            self.write(id, &mut |_| 0);
        }
    }

    fn close(&mut self, id: StreamId) {
        self.forget_failure(id);
        if self.stream(id).is_some_and(Stream::close) {
            self.write(id, &mut |_| 0);
        }
        if self.stream(id).is_some() && !self.closing.contains(&id) {
            self.closing.push_back(id);
            // Peers that do not read must not occupy the slots that other peers need.
            if self.closing.len() > self.slots.len() / SLOTS_PER_CLOSING
                && let Some(oldest) = self.closing.pop_front()
            {
                self.abort(oldest);
            }
        }
    }

    fn abort(&mut self, id: StreamId) {
        self.forget_failure(id);
        if self.stream(id).is_some()
            && let Some(connection) = self.vacate(id.slot)
        {
            connection.abort();
        }
    }

    fn next_event(&mut self) -> Option<(StreamId, IoEvent<P>)> {
        if let Some((id, closed)) = self.failed.pop_front() {
            return Some((id, IoEvent::Closed(closed)));
        }
        if self.due.is_empty() {
            self.collect_changes();
        }
        self.accept();
        while let Some(slot) = self.due.pop_front() {
            self.slots[usize::from(slot)].is_due = false;
            let id = self.id(slot);
            if let Some(happened) = self.poll_slot(slot) {
                return Some((id, happened));
            }
        }
        None
    }

    fn is_due(&self) -> bool {
        let can_accept = self.may_accept && !self.free_slots.is_empty();
        can_accept || !self.due.is_empty() || !self.failed.is_empty()
    }

    fn received(&self, id: StreamId) -> Option<(&[u8], bool)> {
        let stream = self.slot(id)?.stream.as_ref()?;
        Some(stream.input())
    }

    fn receive_again(&mut self, id: StreamId) {
        if let Some(stream) = self.stream(id) {
            stream.receive_again();
            self.make_due(id.slot);
        }
    }

    fn consume(&mut self, id: StreamId, count: usize) {
        if let Some(stream) = self.stream(id) {
            stream.consume(count);
        }
    }
}

/// Whether an error of this kind also prevents this node from accepting other peers.
fn ends_accepting(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::OutOfMemory)
}

/// Returns the key with which the network watches a connection.
fn key(id: StreamId) -> u64 {
    u64::from(id.generation) << 16 | u64::from(id.slot)
}

fn id_of(key: u64) -> StreamId {
    let [g3, g2, g1, g0, s1, s0] = {
        let [_, _, rest @ ..] = key.to_be_bytes();
        rest
    };
    StreamId {
        slot: u16::from_be_bytes([s1, s0]),
        generation: u32::from_be_bytes([g3, g2, g1, g0]),
    }
}

/// Converts an error into the reason for the end of a connection.
pub(super) fn reason(error: &io::Error) -> CloseReason {
    match error.kind() {
        ErrorKind::ConnectionRefused => CloseReason::Refused,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            CloseReason::Reset
        }
        ErrorKind::TimedOut => CloseReason::TimedOut,
        _ => CloseReason::Failed,
    }
}
