//! A network in memory, for tests. The test sets the state of each connection. The network announces each change of
//! this state once.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::rc::Rc;

use super::{Changed, Connection, Network};

/// The opposite end of a connection, and the results that the network returns for this connection.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// Bytes that the peer sent and that this node has not read.
    pub sent: VecDeque<u8>,
    pub has_closed: bool,
    pub has_reset: bool,
    pub read: Vec<u8>,
    /// Number of further bytes that the peer accepts.
    pub takes: usize,
    /// Whether the peer read the end of the stream.
    pub end: bool,
    /// The way in which this node ended the connection. `None` if this node has not ended it.
    pub over: Option<&'static str>,
    /// Whether the peer leaves the connection attempt unanswered.
    pub silent: bool,
    pub refuses: bool,
    pub key: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct MemoryConnection(pub Rc<RefCell<Peer>>);

impl Connection for MemoryConnection {
    fn check_established(&mut self) -> io::Result<()> {
        let peer = self.0.borrow();
        match (peer.refuses, peer.silent) {
            (true, _) => Err(ErrorKind::ConnectionRefused.into()),
            (_, true) => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        }
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut peer = self.0.borrow_mut();
        let count = room.len().min(peer.sent.len());
        if count == 0 && !peer.has_closed {
            return Err(ErrorKind::WouldBlock.into());
        }
        let sent = peer.sent.drain(..count);
        room.iter_mut().zip(sent).for_each(|(to, byte)| *to = byte);
        Ok(count)
    }

    fn check_reset(&mut self) -> io::Result<()> {
        let has_reset = self.0.borrow().has_reset;
        let reset = || Err(ErrorKind::ConnectionReset.into());
        if has_reset { reset() } else { Ok(()) }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut peer = self.0.borrow_mut();
        let count = bytes.len().min(peer.takes);
        if count == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        peer.takes -= count;
        peer.read.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.borrow_mut().end = true;
        Ok(())
    }

    fn close(self) {
        self.0.borrow_mut().over = Some("closed");
    }

    fn abort(self) {
        self.0.borrow_mut().over = Some("reset");
    }
}

#[derive(Debug)]
pub(super) struct Lan<P> {
    /// Peers to which this node can connect, in order.
    pub reachable: VecDeque<MemoryConnection>,
    pub calls: VecDeque<(MemoryConnection, P)>,
    /// Errors that the next calls of `accept` return.
    pub refusals: VecDeque<ErrorKind>,
    pub changed: VecDeque<Changed>,
}

impl<P> Default for Lan<P> {
    fn default() -> Self {
        Self {
            reachable: VecDeque::new(),
            calls: VecDeque::new(),
            refusals: VecDeque::new(),
            changed: VecDeque::new(),
        }
    }
}

#[derive(Debug)]
pub(super) struct SharedLan<P = u32>(pub Rc<RefCell<Lan<P>>>);

impl<P> Clone for SharedLan<P> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<P> Default for SharedLan<P> {
    fn default() -> Self {
        Self(Rc::default())
    }
}

impl<P> Network<P> for SharedLan<P> {
    type Connection = MemoryConnection;

    fn connect(&mut self, _to: P) -> io::Result<MemoryConnection> {
        let peer = self.0.borrow_mut().reachable.pop_front();
        peer.ok_or_else(|| ErrorKind::HostUnreachable.into())
    }

    fn accept(&mut self) -> io::Result<(MemoryConnection, P)> {
        if let Some(refusal) = self.0.borrow_mut().refusals.pop_front() {
            return Err(refusal.into());
        }
        let call = self.0.borrow_mut().calls.pop_front();
        call.ok_or_else(|| ErrorKind::WouldBlock.into())
    }

    fn watch(&mut self, connection: &MemoryConnection, key: u64) -> io::Result<()> {
        connection.0.borrow_mut().key = key;
        Ok(())
    }

    fn next_changed(&mut self) -> Option<Changed> {
        self.0.borrow_mut().changed.pop_front()
    }
}
