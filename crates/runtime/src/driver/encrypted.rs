//! A network whose connections are encrypted.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use ring_trust::{DropReason, KeyId, SecureStream, StreamEnds, StreamKeys, StreamState};

use super::{Changed, Connection, Network};
use crate::random_bytes;

/// Maximum number of accepted connections whose peers are not proven.
const UNPROVEN_MAX: usize = 32;
/// The network watches each connection under a key. The keys of unproven connections contain this bit. The keys of
/// other connections have only 48 bits.
const UNPROVEN_KEY: u64 = 1 << 63;
/// Maximum number of bytes that one call reads from a connection.
const READ_MAX: usize = 16 * 1024;

/// A source of unpredictable numbers. Each connection takes one number.
pub type DrawSeed = Box<dyn FnMut() -> io::Result<[u8; 32]>>;

/// A connection that knows the address of its own end.
pub trait LocalAddress {
    /// Returns this node's address of the connection.
    ///
    /// # Errors
    /// Fails if the connection has failed.
    fn local_address(&self) -> io::Result<SocketAddr>;
}

/// A network that encrypts its connections if the node has keys (`docs/reference/trust.md`). A peer counts as connected
/// only after it has proven that it has a key. So peers without a key do not occupy the slots for connections.
pub struct Encrypted<N: Network<SocketAddr>> {
    network: N,
    system: &'static str,
    draw_seed: DrawSeed,
    trust: Rc<RefCell<StreamTrust>>,
    /// Accepted connections that the driver has not fetched yet. Some of their peers are proven, and some are not. The
    /// oldest connection is first.
    accepted: VecDeque<AcceptedConnection<N::Connection>>,
    next_key: u64,
}

#[derive(Debug)]
struct AcceptedConnection<C> {
    key: u64,
    connection: EncryptedConnection<C>,
    is_proven: bool,
}

/// Data that the network and its connections share.
struct StreamTrust {
    keys: StreamKeys,
    /// For each reason, the number of refused streams, and the address of the last refused peer.
    refused: BTreeMap<DropReason, (u64, SocketAddr)>,
}

impl StreamTrust {
    fn count(&mut self, reason: DropReason, peer: SocketAddr) {
        let (number, _) = self.refused.remove(&reason).unwrap_or((0, peer));
        self.refused.insert(reason, (number + 1, peer));
    }
}

impl fmt::Debug for StreamTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamTrust").finish_non_exhaustive()
    }
}

impl<N: Network<SocketAddr>> fmt::Debug for Encrypted<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Encrypted");
        debug.field("system", &self.system).finish_non_exhaustive()
    }
}

impl<N: Network<SocketAddr>> Encrypted<N> {
    /// Wraps a network. The name of the system is part of each handshake. The node has no keys yet.
    pub fn new(network: N, system: &'static str) -> Self {
        Self::with_seeds(network, system, Box::new(random_bytes))
    }

    /// Wraps a network. The handshakes use random numbers from `draw_seed` instead of random numbers from the kernel.
    pub fn with_seeds(network: N, system: &'static str, draw_seed: DrawSeed) -> Self {
        Self {
            network,
            system,
            draw_seed,
            trust: Rc::new(RefCell::new(StreamTrust {
                keys: StreamKeys::none(),
                refused: BTreeMap::new(),
            })),
            accepted: VecDeque::new(),
            next_key: UNPROVEN_KEY,
        }
    }

    /// Replaces the keys. If the key of a connection was removed, this connection fails at its next use. A connection
    /// without encryption also fails at its next use if the node no longer accepts such connections.
    pub fn set_keys(&mut self, keys: StreamKeys) {
        self.trust.borrow_mut().keys = keys;
    }

    /// Returns the numbers of streams that were refused after the last call of this function. Each entry has a reason,
    /// a number, and the address of the last refused peer.
    pub(super) fn take_refused(
        &mut self,
    ) -> impl Iterator<Item = (DropReason, u64, SocketAddr)> + use<N> {
        let refused = std::mem::take(&mut self.trust.borrow_mut().refused);
        let refused = refused.into_iter();
        refused.map(|(reason, (number, peer))| (reason, number, peer))
    }

    fn ends(&self, initiator: SocketAddr, responder: SocketAddr) -> StreamEnds {
        StreamEnds {
            system: self.system,
            initiator,
            responder,
        }
    }

    /// Finds the host that has the most unproven connections, and resets the oldest of them.
    fn drop_oldest(&mut self) {
        let unproven = || {
            let accepted = self.accepted.iter().enumerate();
            accepted.filter(|(_, it)| !it.is_proven)
        };
        let count = |ip: IpAddr| {
            let same = unproven().filter(|(_, it)| it.connection.peer.ip() == ip);
            same.count()
        };
        // `max_by_key` returns the last of several equal values. With `rev`, this is the oldest connection.
        let oldest = unproven()
            .rev()
            .max_by_key(|(_, it)| count(it.connection.peer.ip()));
        if let Some((at, _)) = oldest
            && let Some(oldest) = self.accepted.remove(at)
        {
            oldest.connection.abort();
        }
    }

    /// Continues the handshake of an accepted connection. If the peer is proven, the next `accept` returns the
    /// connection.
    fn advance(&mut self, key: u64) {
        let Some(at) = self.accepted.iter().position(|it| it.key == key) else {
            return;
        };
        let accepted = &mut self.accepted[at];
        match accepted.connection.advance() {
            Ok(()) => accepted.is_proven = true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => {
                if let Some(failed) = self.accepted.remove(at) {
                    failed.connection.abort();
                }
            }
        }
    }

    fn next_proven(&mut self) -> Option<(EncryptedConnection<N::Connection>, SocketAddr)> {
        let at = self.accepted.iter().position(|it| it.is_proven)?;
        let connection = self.accepted.remove(at)?.connection;
        let peer = connection.peer;
        Some((connection, peer))
    }
}

impl<N: Network<SocketAddr> + AsFd> AsFd for Encrypted<N> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.network.as_fd()
    }
}

impl<N: Network<SocketAddr>> Network<SocketAddr> for Encrypted<N>
where
    N::Connection: LocalAddress,
{
    type Connection = EncryptedConnection<N::Connection>;

    fn connect(&mut self, to: SocketAddr) -> io::Result<Self::Connection> {
        let connection = self.network.connect(to)?;
        let ends = self.ends(connection.local_address()?, to);
        let seed = (self.draw_seed)()?;
        let stream = SecureStream::initiator(&self.trust.borrow().keys, &ends, seed);
        Ok(EncryptedConnection::new(
            connection,
            stream,
            to,
            &self.trust,
        ))
    }

    fn accept(&mut self) -> io::Result<(Self::Connection, SocketAddr)> {
        if let Some(proven) = self.next_proven() {
            return Ok(proven);
        }
        let (connection, from) = self.network.accept()?;
        let ends = self.ends(from, connection.local_address()?);
        let stream = SecureStream::responder(ends, (self.draw_seed)()?);
        let connection = EncryptedConnection::new(connection, stream, from, &self.trust);
        if self.trust.borrow().keys.is_empty() {
            return Ok((connection, from));
        }
        if self.accepted.len() >= UNPROVEN_MAX {
            self.drop_oldest();
        }
        self.next_key = UNPROVEN_KEY | self.next_key.wrapping_add(1);
        let key = self.next_key;
        self.network.watch(&connection.connection, key)?;
        self.accepted.push_back(AcceptedConnection {
            key,
            connection,
            is_proven: false,
        });
        self.advance(key);
        // The new peer may not be proven yet, but an earlier peer may be.
        self.next_proven()
            .ok_or_else(|| ErrorKind::Interrupted.into())
    }

    fn watch(&mut self, connection: &Self::Connection, key: u64) -> io::Result<()> {
        self.network.watch(&connection.connection, key)
    }

    fn next_changed(&mut self) -> Option<Changed> {
        loop {
            match self.network.next_changed()? {
                Changed::Connection(key) if key & UNPROVEN_KEY != 0 => {
                    self.advance(key);
                    if self.accepted.iter().any(|it| it.is_proven) {
                        return Some(Changed::Listener);
                    }
                }
                changed => return Some(changed),
            }
        }
    }
}

/// A connection of an [`Encrypted`] network.
#[derive(Debug)]
pub struct EncryptedConnection<C> {
    connection: C,
    stream: SecureStream,
    peer: SocketAddr,
    trust: Rc<RefCell<StreamTrust>>,
    /// Whether the node had no keys yet when the connection began.
    is_older_than_keys: bool,
    /// Number of data bytes in the last record. These bytes count as written only after the connection has taken the
    /// whole record.
    sealed: usize,
    has_sealed_end: bool,
}

impl<C: Connection> EncryptedConnection<C> {
    fn new(
        connection: C,
        stream: SecureStream,
        peer: SocketAddr,
        trust: &Rc<RefCell<StreamTrust>>,
    ) -> Self {
        Self {
            connection,
            stream,
            peer,
            trust: Rc::clone(trust),
            is_older_than_keys: trust.borrow().keys.is_empty(),
            sealed: 0,
            has_sealed_end: false,
        }
    }

    /// Returns the connection that carries the encrypted bytes.
    pub const fn carrier(&self) -> &C {
        &self.connection
    }

    /// Returns the id of the key that encrypts the connection; `None` if it is not encrypted.
    pub fn key_id(&self) -> Option<u32> {
        self.stream.key_id().map(KeyId::get)
    }

    /// Whether the node had no keys when the connection began. Such a connection does not show whether its peer has a
    /// key.
    pub const fn is_older_than_keys(&self) -> bool {
        self.is_older_than_keys
    }

    /// Continues the handshake. Fails with `WouldBlock` if the peer has not answered yet.
    fn advance(&mut self) -> io::Result<()> {
        loop {
            self.flush()?;
            match self.stream.state() {
                StreamState::Plain | StreamState::Encrypted => return Ok(()),
                StreamState::Handshake if self.receive(READ_MAX)? > 0 => {}
                _ => return Err(ErrorKind::ConnectionReset.into()),
            }
        }
    }

    /// Reads at most `len_max` bytes from the connection. Returns the number of bytes, or 0 at the end of the stream.
    fn receive(&mut self, len_max: usize) -> io::Result<usize> {
        let mut bytes = [0; READ_MAX];
        let count = self.connection.read(&mut bytes[..len_max.min(READ_MAX)])?;
        let mut trust = self.trust.borrow_mut();
        if let Err(reason) = self.stream.receive(&trust.keys, &bytes[..count]) {
            trust.count(reason, self.peer);
            return Err(ErrorKind::ConnectionReset.into());
        }
        Ok(count)
    }

    /// Writes all bytes of the handshake and all records.
    fn flush(&mut self) -> io::Result<()> {
        while !self.stream.output().is_empty() {
            let count = self.connection.write(self.stream.output())?;
            self.stream.advance(count);
        }
        Ok(())
    }

    /// Fails if the node no longer accepts the key of the connection.
    fn check_key(&self) -> io::Result<()> {
        if self.trust.borrow().keys.permits(self.stream.key_id()) {
            Ok(())
        } else {
            Err(ErrorKind::ConnectionReset.into())
        }
    }
}

impl<C: Connection> Connection for EncryptedConnection<C> {
    fn check_established(&mut self) -> io::Result<()> {
        self.connection.check_established()?;
        self.advance()
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.check_key()?;
        loop {
            let count = self.stream.read(room);
            if count > 0 {
                return Ok(count);
            }
            match self.stream.state() {
                StreamState::Plain => return self.connection.read(room),
                StreamState::Encrypted if self.stream.has_ended() => return Ok(0),
                // The peer closed the connection during the handshake. A peer without keys does this.
                StreamState::Handshake if self.receive(room.len())? == 0 => return Ok(0),
                StreamState::Handshake => self.flush()?,
                // Another host can forge the end of a connection. But it cannot forge the record with which a peer ends
                // the stream.
                StreamState::Encrypted if self.receive(READ_MAX)? == 0 => {
                    return Err(ErrorKind::ConnectionReset.into());
                }
                StreamState::Encrypted => {}
                StreamState::Failed(_) => return Err(ErrorKind::ConnectionReset.into()),
            }
        }
    }

    fn check_reset(&mut self) -> io::Result<()> {
        self.connection.check_reset()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check_key()?;
        match self.stream.state() {
            // A node without keys cannot know whether the stream has a handshake until the peer's first bytes arrive.
            // So it writes plain bytes.
            StreamState::Plain | StreamState::Handshake => return self.connection.write(bytes),
            StreamState::Encrypted if self.sealed > 0 => {}
            StreamState::Encrypted => self.sealed = self.stream.seal(bytes),
            StreamState::Failed(_) => return Err(ErrorKind::ConnectionReset.into()),
        }
        self.flush()?;
        Ok(std::mem::take(&mut self.sealed))
    }

    fn write_end(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_sealed_end, true) {
            self.stream.seal_end();
        }
        self.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.connection.finish()
    }

    fn close(mut self) {
        // First read the last record of the peer: if bytes stay unread, the kernel resets the connection when it is
        // closed. Then the peer might lose the last bytes of this node.
        if self.stream.state() == StreamState::Encrypted {
            let _ = self.receive(READ_MAX);
        }
        self.connection.close();
    }

    fn abort(self) {
        self.connection.abort();
    }
}
