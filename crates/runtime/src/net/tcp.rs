//! A network of TCP connections. The network's functions never wait. The network announces each change once.

use std::io::{self, ErrorKind, Read, Write};
use std::mem::{self, MaybeUninit};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use nix::sys::socket::setsockopt;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};
use socket2::{Protocol, Socket, TcpKeepalive, Type};

use super::internet;
use crate::driver::{Changed, Connection, Network};

/// Maximum number of peers that wait to be accepted. No machine has more slots for connections.
const BACKLOG: i32 = 1024;
/// Maximum number of changes that one system call fetches.
const CHANGES_MAX: usize = 64;
/// The listener's key. A connection's key has only 48 bits.
const LISTENER_KEY: u64 = u64::MAX;
const NO_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Socket options that are missing in all libraries.
mod options {
    // `sockopt_impl` uses the other macro by its name without a path.
    use nix::{setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// Makes the kernel choose the port when the socket connects, not when it is bound.
        BindAddressNoPort, SetOnly, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, bool
    );
}

/// Options for all connections of a network.
#[derive(Debug, Clone, Default)]
pub struct TcpOptions {
    /// Name of the only interface to use; `None` for any interface.
    pub interface: Option<String>,
    /// Whether the kernel resets each connection that this node has not closed explicitly. The kernel does this even if
    /// the process is killed. So a peer reads an end of the stream only if this node has closed the connection.
    pub resets: bool,
    /// Whether connections to peers have the address of the listener as their source address. If `false`, the kernel
    /// chooses the source address. In both cases, the kernel chooses the source port.
    pub own_address: bool,
    /// Time after which the kernel closes a connection to a silent peer, even if there are no bytes to send. Within
    /// this time, the kernel probes the peer three times, at intervals of whole seconds. If `None`, the kernel closes
    /// such a connection after many minutes, or never.
    pub liveness: Option<Duration>,
}

/// A network of connections to and from one address.
#[derive(Debug)]
pub struct TcpNetwork {
    options: TcpOptions,
    /// Source address of connections to peers.
    source: Option<SocketAddr>,
    listener: Socket,
    epoll: OwnedFd,
    /// Keys of changed connections that the network has not reported yet.
    changes: Vec<u64>,
    /// Whether the last fetch returned all changes.
    are_all_fetched: bool,
}

impl TcpNetwork {
    /// Listens at an address. With port 0, the kernel chooses a free port.
    ///
    /// # Errors
    /// Fails if the address does not belong to this machine or is in use, the interface does not exist, or too many
    /// files are open.
    pub fn listen(address: SocketAddr, options: TcpOptions) -> io::Result<Self> {
        let listener = open_socket(address, &options)?;
        listener.set_reuse_address(true)?;
        listener.bind(&address.into())?;
        listener.listen(BACKLOG)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let key = epoll::EventData::new_u64(LISTENER_KEY);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &listener, key, flags)?;
        let own = internet::address(&listener.local_addr()?)?;
        Ok(Self {
            source: options.own_address.then(|| any_port(own)),
            options,
            listener,
            epoll,
            changes: Vec::with_capacity(CHANGES_MAX),
            are_all_fetched: false,
        })
    }

    /// Returns the address at which the network listens.
    ///
    /// # Errors
    /// Fails if the system call fails.
    pub fn address(&self) -> io::Result<SocketAddr> {
        internet::address(&self.listener.local_addr()?)
    }
}

/// The descriptor is readable while there are changes to fetch.
impl AsFd for TcpNetwork {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

fn open_socket(address: SocketAddr, options: &TcpOptions) -> io::Result<Socket> {
    let interface = options.interface.as_deref();
    let socket = internet::open_socket(address, Type::STREAM, Protocol::TCP, interface)?;
    prepare(&socket, options)?;
    Ok(socket)
}

fn any_port(mut address: SocketAddr) -> SocketAddr {
    address.set_port(0);
    address
}

fn prepare(socket: &Socket, options: &TcpOptions) -> io::Result<()> {
    // Otherwise, a small message would wait until the peer has acknowledged the previous message.
    socket.set_tcp_nodelay(true)?;
    if options.resets {
        socket.set_linger(Some(Duration::ZERO))?;
    }
    if let Some(liveness) = options.liveness {
        // The kernel accepts only whole seconds, and at least one.
        let period = Duration::from_secs((liveness / 3).as_secs().max(1));
        let asks = TcpKeepalive::new().with_time(period).with_interval(period);
        socket.set_tcp_keepalive(&asks)?;
        // This option limits the time for which sent bytes may stay unacknowledged. For a silent peer, the kernel uses
        // this time instead of a number of probes.
        socket.set_tcp_user_timeout(Some(liveness))?;
    }
    Ok(())
}

/// Maps errors about too little memory or too few descriptors to `OutOfMemory`.
fn map_out_of_resources(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
            ErrorKind::OutOfMemory.into()
        }
        _ => error,
    }
}

impl Network<SocketAddr> for TcpNetwork {
    type Connection = TcpConnection;

    fn connect(&mut self, to: SocketAddr) -> io::Result<TcpConnection> {
        let socket = open_socket(to, &self.options)?;
        if let Some(source) = self.source {
            // With this option, the kernel considers the peer when it chooses the port, so one port can serve
            // connections to several peers.
            setsockopt(&socket, options::BindAddressNoPort, &true)?;
            socket.bind(&source.into())?;
        }
        match socket.connect(&to.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(TcpConnection(socket)),
        }
    }

    fn accept(&mut self) -> io::Result<(TcpConnection, SocketAddr)> {
        // The kernel copies the options of the listener to the new socket. So even if this process is killed at this
        // moment, the kernel resets the connection.
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let accepted = acceptfrom_with(&self.listener, flags);
        let (socket, from) = accepted.map_err(|error| map_out_of_resources(error.into()))?;
        let from = from.ok_or(ErrorKind::Unsupported)?.try_into()?;
        Ok((TcpConnection(socket.into()), from))
    }

    fn watch(&mut self, connection: &TcpConnection, key: u64) -> io::Result<()> {
        let flags = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        let key = epoll::EventData::new_u64(key);
        match epoll::add(&self.epoll, &connection.0, key, flags) {
            Err(Errno::EXIST) => Ok(epoll::modify(&self.epoll, &connection.0, key, flags)?),
            added => Ok(added?),
        }
    }

    fn next_changed(&mut self) -> Option<Changed> {
        if self.changes.is_empty() {
            if mem::take(&mut self.are_all_fetched) {
                return None;
            }
            let mut events = [const { MaybeUninit::uninit() }; CHANGES_MAX];
            // If a signal interrupts the wait, the next call still finds the changes.
            let (changes, _) = epoll::wait(&self.epoll, &mut events, Some(&NO_WAIT)).ok()?;
            self.changes.extend(changes.iter().map(|it| it.data.u64()));
            self.are_all_fetched = (1..CHANGES_MAX).contains(&self.changes.len());
        }
        Some(match self.changes.pop()? {
            LISTENER_KEY => Changed::Listener,
            key => Changed::Connection(key),
        })
    }
}

/// A TCP connection.
#[derive(Debug)]
pub struct TcpConnection(Socket);

impl Connection for TcpConnection {
    fn check_established(&mut self) -> io::Result<()> {
        self.check_reset()?;
        match self.0.peer_addr() {
            Err(error) if error.kind() == ErrorKind::NotConnected => {
                Err(ErrorKind::WouldBlock.into())
            }
            other => other.map(drop),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }

    fn check_reset(&mut self) -> io::Result<()> {
        self.0.take_error()?.map_or(Ok(()), Err)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Write)
    }

    fn close(self) {
        // If this fails, the peer reads a reset instead of the end. So the peer does not take an incomplete stream for
        // a complete one.
        let _ = self.0.set_linger(None);
    }

    fn abort(self) {
        // If this fails, the connection is closed without a reset.
        let _ = self.0.set_linger(Some(Duration::ZERO));
    }
}

#[cfg(feature = "streams")]
impl crate::driver::LocalAddress for TcpConnection {
    fn local_address(&self) -> io::Result<SocketAddr> {
        internet::address(&self.0.local_addr()?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::time::Duration;

    use super::{TcpConnection, TcpNetwork, TcpOptions};
    use crate::driver::{Changed, Connection, Network};
    use crate::wait::{Interest, Poller};

    /// Maximum time that a test waits for an event that must happen.
    const EVENT_TIMEOUT: Option<Duration> = Some(Duration::from_secs(10));

    struct Rig {
        network: TcpNetwork,
        poller: Poller,
    }

    impl Rig {
        fn new() -> Self {
            let options = TcpOptions {
                resets: true,
                ..TcpOptions::default()
            };
            let any = (Ipv4Addr::LOCALHOST, 0).into();
            let network = TcpNetwork::listen(any, options).expect("it listens");
            let poller = Poller::new().expect("a poller");
            poller.add(&network, 0, Interest::Read).expect("added");
            Self { network, poller }
        }

        /// Connects a peer. Returns the connection and the peer's end.
        fn connect(&mut self) -> (TcpConnection, TcpStream) {
            let to = self.network.address().expect("an address");
            let peer = TcpStream::connect(to).expect("the connection is accepted");
            peer.set_read_timeout(EVENT_TIMEOUT).expect("a timeout");
            assert_eq!(self.take_changes(), [Changed::Listener]);
            let (connection, from) = self.network.accept().expect("a peer");
            assert_eq!(from, peer.local_addr().expect("an address"));
            (connection, peer)
        }

        fn take_changes(&mut self) -> Vec<Changed> {
            self.poller.wait(EVENT_TIMEOUT).expect("a wait");
            std::iter::from_fn(|| self.network.next_changed()).collect()
        }
    }

    #[test]
    fn an_accepted_connection_is_reset_unless_it_is_closed() {
        let mut rig = Rig::new();
        let (dropped, mut peer) = rig.connect();
        drop(dropped);
        let read = peer.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(read, Err(ErrorKind::ConnectionReset));
        let (closed, mut peer) = rig.connect();
        closed.close();
        assert_eq!(peer.read(&mut [0]).expect("the end"), 0);
    }

    /// A new connection has the option `resets` from the beginning. If a process is killed in the middle of a message,
    /// the peer must not believe that the process has sent the whole message.
    #[test]
    fn a_connection_to_a_peer_is_reset_unless_it_is_closed() {
        let mut rig = Rig::new();
        let peers = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("it listens");
        let to = peers.local_addr().expect("an address");
        let mut connect = || {
            let connection = rig
                .network
                .connect(to)
                .expect("the connection is being established");
            let (peer, _) = peers.accept().expect("the connection is established");
            peer.set_read_timeout(EVENT_TIMEOUT).expect("a timeout");
            (connection, peer)
        };
        let (dropped, mut peer) = connect();
        drop(dropped);
        let read = peer.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(read, Err(ErrorKind::ConnectionReset));
        let (closed, mut peer) = connect();
        closed.close();
        assert_eq!(peer.read(&mut [0]).expect("the end"), 0);
    }

    #[test]
    fn an_accepted_connection_never_blocks_and_each_change_is_announced_once() {
        let mut rig = Rig::new();
        let (mut connection, mut peer) = rig.connect();
        let read = connection.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(read, Err(ErrorKind::WouldBlock));
        rig.network
            .watch(&connection, 7)
            .expect("the connection is watched");
        assert_eq!(rig.take_changes(), [Changed::Connection(7)]);
        for byte in [1, 2] {
            peer.write_all(&[byte]).expect("the bytes are sent");
            assert_eq!(rig.take_changes(), [Changed::Connection(7)]);
            let mut buffer = [0; 2];
            assert_eq!(connection.read(&mut buffer).expect("a byte"), 1);
            assert_eq!(buffer[0], byte);
        }
    }
}
