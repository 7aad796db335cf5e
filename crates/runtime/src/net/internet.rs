//! What sockets of the internet protocols have in common.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// A socket for an address of that kind, at which nothing waits. Everything goes through `interface` alone,
/// if one is named.
pub(super) fn socket(
    address: SocketAddr,
    kind: Type,
    protocol: Protocol,
    interface: Option<&str>,
) -> io::Result<Socket> {
    let kind = kind.nonblocking();
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    if let Some(interface) = interface {
        socket.bind_device(Some(interface.as_bytes()))?;
    }
    Ok(socket)
}

/// An address of such a socket.
pub(super) fn address(of: &SockAddr) -> io::Result<SocketAddr> {
    of.as_socket().ok_or_else(|| ErrorKind::Unsupported.into())
}
