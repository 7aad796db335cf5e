//! Code that UDP and TCP sockets share.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// Makes a non-blocking socket for this address's family. If `interface` is given, the socket uses only that interface.
pub(super) fn open_socket(
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

pub(super) fn address(of: &SockAddr) -> io::Result<SocketAddr> {
    of.as_socket().ok_or_else(|| ErrorKind::Unsupported.into())
}
