//! A peer that sends only the bytes from a test.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{Node, WAIT_LIMIT, limit};
use socket2::{Domain, Socket, Type};

use super::stand::UDP_PORT;
use super::wire::{Datagram, Entry, hash, list_on_wire};

pub(super) struct Peer {
    node: Node,
    socket: UdpSocket,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The candidate took the token.
    Taken,
    /// The candidate reset the connection.
    Reset,
}

impl Peer {
    /// Makes a peer on a node that has no daemon.
    pub(super) fn on(node: &Node) -> Result<Self> {
        let socket = node.ns().run(|| UdpSocket::bind(("0.0.0.0", UDP_PORT)))??;
        socket.set_broadcast(true)?;
        socket.set_read_timeout(Some(WAIT_LIMIT))?;
        Ok(Self {
            node: node.clone(),
            socket,
        })
    }

    pub(super) fn send(&self, to: IpAddr, bytes: &[u8]) -> Result<()> {
        self.socket.send_to(bytes, (to, UDP_PORT))?;
        Ok(())
    }

    /// Waits for a datagram that `wanted` accepts.
    pub(super) fn expect(
        &self,
        wanted: impl Fn(IpAddr, Datagram) -> bool,
    ) -> Result<(IpAddr, Datagram)> {
        let mut room = [0; 64];
        loop {
            let (length, from) = self.socket.recv_from(&mut room)?;
            let datagram = Datagram::read(&room[..length])?;
            if wanted(from.ip(), datagram) {
                return Ok((from.ip(), datagram));
            }
        }
    }

    /// Returns the next datagram and its source, or `None` if there is no datagram before the time `by`.
    pub(super) fn receive(&self, by: Instant) -> Result<Option<(IpAddr, Vec<u8>)>> {
        if !limit::is_readable(&self.socket, by) {
            return Ok(None);
        }
        let mut room = [0; 64];
        let (length, from) = self.socket.recv_from(&mut room)?;
        Ok(Some((from.ip(), room[..length].to_vec())))
    }

    /// Offers a token with this list and these data to a node.
    pub(super) fn offer_token(
        &self,
        to: SocketAddr,
        id: i32,
        list: &[Entry],
        data: &[u8],
    ) -> Result<Outcome> {
        offer_with(self.connect(to)?, id, list, data, TcpStream::write_all)
    }

    /// Offers a token, but sends only one byte per millisecond.
    pub(super) fn offer_slowly(
        &self,
        to: SocketAddr,
        id: i32,
        list: &[Entry],
        data: &[u8],
    ) -> Result<Outcome> {
        offer_with(self.connect(to)?, id, list, data, |stream, bytes| {
            bytes.iter().try_for_each(|&byte| {
                thread::sleep(Duration::from_millis(1));
                stream.write_all(&[byte])
            })
        })
    }

    /// Connects to a node. The test then sends bytes on the connection.
    pub(super) fn connect(&self, to: SocketAddr) -> Result<TcpStream> {
        let connect = || TcpStream::connect_timeout(&to, Duration::from_secs(10));
        let stream = self.node.ns().run(connect)?.context("no process listens")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(WAIT_LIMIT))?;
        stream.set_write_timeout(Some(WAIT_LIMIT))?;
        Ok(stream)
    }

    /// Connects from a different address of this machine. Returns `None` if the node resets the connection at once.
    pub(super) fn connect_from(&self, from: Ipv4Addr, to: SocketAddr) -> Result<Option<TcpStream>> {
        let connect = || -> io::Result<TcpStream> {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.bind(&SocketAddr::from((from, 0)).into())?;
            socket.connect_timeout(&to.into(), WAIT_LIMIT)?;
            Ok(socket.into())
        };
        let stream = match self.node.ns().run(connect)? {
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
            made => made?,
        };
        stream.set_read_timeout(Some(WAIT_LIMIT))?;
        Ok(Some(stream))
    }

    pub(super) fn listen(&self, port: u16) -> Result<TcpListener> {
        Ok(self
            .node
            .ns()
            .run(|| TcpListener::bind((self.address(), port)))??)
    }

    pub(super) fn address(&self) -> IpAddr {
        self.node.ip().expect("the node has an address").into()
    }
}

/// Offers a token with this list and these data. `send` writes the bytes.
fn offer_with(
    mut stream: TcpStream,
    id: i32,
    list: &[Entry],
    data: &[u8],
    send: impl Fn(&mut TcpStream, &[u8]) -> io::Result<()>,
) -> Result<Outcome> {
    let list = list_on_wire(list);
    let offer = [&[0x21][..], &id.to_be_bytes(), &hash(&list).to_be_bytes()].concat();
    send(&mut stream, &offer)?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    ensure!(matches!(answer, [0x31 | 0x41]), "{answer:02x?}");
    if answer == [0x31] {
        send(&mut stream, &[&[0x51][..], &list].concat())?;
    }
    send(
        &mut stream,
        &[&[0x61][..], &id.to_be_bytes(), data].concat(),
    )?;
    stream.shutdown(Shutdown::Write)?;
    match stream.read(&mut answer) {
        Ok(0) => Ok(Outcome::Taken),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(Outcome::Reset),
        other => anyhow::bail!("neither the end of the stream nor a reset: {other:?}"),
    }
}
