//! The link of a program that may have keys: a socket, and signatures of its messages (`docs/reference/trust.md`).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};

use ring_proto::ftn::{DATAGRAM_BYTES_MAX, Servers};
use ring_proto::time::Now;
use ring_runtime::clock;
use ring_runtime::driver::{Addressing, Authenticated, Link as _, Signer, datagrams};
use ring_runtime::net::UdpLink;
use ring_runtime::random_bytes;
use ring_trust::{
    Authenticator, ClientKeys, Destination, DropReason, Origin, PseudoHeader, TRAILER_LEN,
};

use super::Error;
use super::hosts::source_towards;

/// The maximum time for the greeting of the servers. On a LAN, the greeting takes less than a millisecond.
const GREETING_TIMEOUT: Duration = Duration::from_millis(10);

pub(super) type Link = Authenticated<UdpLink, ClientAddressing>;
/// The maximum length of a signature.
pub(super) const SIGNATURE_LEN_MAX: usize = TRAILER_LEN;

/// The keys of a program.
#[derive(Debug)]
pub(super) struct Keys(pub Option<ClientKeys>);

impl Keys {
    pub(super) const fn none() -> Self {
        Self(None)
    }

    /// Creates a link that sends over `socket`.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub(super) fn link(&self, socket: UdpLink, servers: &Servers) -> io::Result<Link> {
        let Some(keys) = &self.0 else {
            return Ok(Link::new(socket, None));
        };
        let mut authenticator = Authenticator::new(&keys.keyring(), false, random_bytes()?);
        authenticator.challenge_unknown();
        let addressing = ClientAddressing::new(socket.address()?.port(), servers);
        let transmit = datagrams::transmit_batch(DATAGRAM_BYTES_MAX + SIGNATURE_LEN_MAX);
        let signer = Signer::new(authenticator, addressing, transmit);
        let mut link = Link::new(socket, Some(signer));
        let known = (0..servers.len()).filter_map(|index| servers.address(index));
        greet(&mut link, &known.collect::<Vec<_>>())?;
        Ok(link)
    }

    /// Checks that the key of this program permits a token.
    ///
    /// # Errors
    /// Fails if the servers would drop the request.
    pub(super) fn check_name(&self, name: &[u8]) -> Result<(), Error> {
        self.0
            .as_ref()
            .map_or(Ok(()), |keys| check_name(keys, name))
    }

    /// Returns the id of the key that signs.
    pub(super) fn id(&self) -> Option<u32> {
        let keys = self.0.as_ref()?;
        Some(keys.signing_id().get())
    }
}

/// Finds the addresses of this machine again.
pub(super) fn update_addresses(link: Option<&mut Link>, servers: &Servers) {
    if let Some(signer) = link.and_then(Link::signer_mut) {
        let port = signer.addressing().port;
        signer.set_addressing(ClientAddressing::new(port, servers));
    }
}

/// Returns the address of a server that answered without a valid signature.
pub(super) fn unsigned_server(link: Option<&mut Link>) -> Option<SocketAddr> {
    link?.signer()?.last_refused(DropReason::Unsigned)
}

/// Checks that the key with which a client signs permits a token.
///
/// # Errors
/// Fails if the servers would drop a request for the token.
pub fn check_name(keys: &ClientKeys, name: &[u8]) -> Result<(), Error> {
    let key = keys.signing_id();
    match keys.patterns(key) {
        Some(patterns) if !patterns.permit(name) => Err(Error::NotPermitted {
            name: name.escape_ascii().to_string(),
            key: key.get(),
            permitted: patterns.to_string(),
        }),
        _ => Ok(()),
    }
}

pub(super) fn socket(link: &Link) -> &UdpLink {
    link.link()
}

/// Exchanges challenges and answers with the servers, because a server drops messages of a client that it does not know
/// yet. Waits at most [`GREETING_TIMEOUT`]. A server that has not answered by then challenges the client when it gets a
/// message of the client.
fn greet(link: &mut Link, servers: &[SocketAddr]) -> io::Result<()> {
    let mut now = clock::now();
    let end = now.monotonic + GREETING_TIMEOUT;
    let mut batch = datagrams::merged_receive_batch(DATAGRAM_BYTES_MAX + SIGNATURE_LEN_MAX);
    link.greet(now, servers.iter().copied());
    while !is_known_to_all(link, now, servers.len()) && now.monotonic < end {
        let left = end.since(now.monotonic);
        // A wait of zero milliseconds would return at once, and the loop would use the whole processor.
        let left = u16::try_from(left.as_millis()).unwrap_or_default().max(1);
        let mut sockets = [PollFd::new(socket(link).as_fd(), PollFlags::POLLIN)];
        match poll(&mut sockets, left) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        now = clock::now();
        // A server that does not run may cause an error here. The machine repeats its messages.
        let _ = link.receive(now, &mut batch);
    }
    Ok(())
}

/// Whether all servers have answered the client's challenges. Then each server also knows this client, because a server
/// sends its challenge before its answer.
fn is_known_to_all(link: &Link, now: Now, servers: usize) -> bool {
    let signer = link.signer();
    let peers = signer.into_iter().flat_map(|signer| {
        let now = Duration::from_nanos(now.monotonic.as_nanos());
        signer.authenticator().peers(now)
    });
    peers.filter(|peer| peer.is_proven).count() == servers
}

/// The addresses of a client's datagrams. The kernel chooses the client's address for each server.
#[derive(Debug)]
pub(super) struct ClientAddressing {
    port: u16,
    /// The address of each server, and the address from which the client sends to this server.
    paths: Vec<(SocketAddr, IpAddr)>,
}

impl ClientAddressing {
    fn new(port: u16, servers: &Servers) -> Self {
        let known = (0..servers.len()).filter_map(|index| servers.address(index));
        // Skip a server without a route, because the socket cannot send to it either.
        let path = |server| {
            let own = source_towards(server, server).ok()?;
            Some((server, own.ip()))
        };
        Self {
            port,
            paths: known.filter_map(path).collect(),
        }
    }

    fn own(&self, server: SocketAddr) -> Option<SocketAddr> {
        let (_, ip) = self.paths.iter().find(|(it, _)| *it == server)?;
        Some(SocketAddr::new(*ip, self.port))
    }

    /// Returns the addresses of a datagram to a server.
    fn header(&self, server: SocketAddr) -> PseudoHeader {
        // The server drops a datagram with a wrong address.
        let own = self.own(server).unwrap_or(server);
        PseudoHeader::new(own, server)
    }
}

impl Addressing for ClientAddressing {
    type Peer = SocketAddr;
    type Address = SocketAddr;

    const REMOVES_TRAILERS: bool = true;

    fn origin(&self, _datagram: &[u8], from: SocketAddr) -> Option<Origin<SocketAddr>> {
        Some(Origin {
            address: from,
            header: PseudoHeader::new(from, self.own(from)?),
            is_client: false,
        })
    }

    fn destination(&self, to: SocketAddr) -> Destination<SocketAddr> {
        Destination {
            header: self.header(to),
            client: None,
        }
    }

    fn peer(&self, address: SocketAddr) -> SocketAddr {
        address
    }

    fn write_header(&self, to: SocketAddr, _buffer: &mut [u8]) -> (usize, PseudoHeader) {
        (0, self.header(to))
    }
}
