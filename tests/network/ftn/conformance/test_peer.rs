//! A socket of the test on a node: a stranger, a client, or a server that the test plays.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};

use super::super::stand::ServerStand;
use super::super::wire::{Body, Datagram, signature};
use super::{lock, wait_until};

const READ_TIMEOUT: Duration = Duration::from_millis(10);
const DATAGRAM_LEN_MAX: usize = 1 << 16;

/// A datagram from a server.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub server: usize,
    /// Time on the clock of [`ring_segment::now`].
    pub at: Duration,
    pub len: usize,
    pub datagram: Datagram,
}

/// A socket, and all datagrams of servers that have arrived there.
pub(super) struct TestPeer {
    socket: Arc<UdpSocket>,
    servers: Vec<SocketAddr>,
    ssig: i64,
    inbox: Arc<Mutex<Vec<Received>>>,
    over: Arc<AtomicBool>,
    reader: Option<JoinHandle<Result<()>>>,
}

impl TestPeer {
    /// Opens a socket on a node. With the port 0, the kernel selects a port.
    pub(super) fn open(stand: &ServerStand, node: usize, port: u16) -> Result<Self> {
        let node = stand.segment().node(node);
        node.wait_for_link()?;
        let ip = node.ip().context("the node has an address")?;
        let socket = node
            .ns()
            .run(|| UdpSocket::bind((ip.to_string(), port)))??;
        socket.set_read_timeout(Some(READ_TIMEOUT))?;
        let socket = Arc::new(socket);
        let servers = stand.addresses()?;
        let (inbox, over) = (Arc::default(), Arc::default());
        let reader = {
            let (socket, servers) = (Arc::clone(&socket), servers.clone());
            let (inbox, over) = (Arc::clone(&inbox), Arc::clone(&over));
            thread::spawn(move || read(&socket, &servers, &inbox, &over))
        };
        Ok(Self {
            socket,
            servers,
            ssig: signature(&stand.lines()?),
            inbox,
            over,
            reader: Some(reader),
        })
    }

    pub(super) fn server_count(&self) -> usize {
        self.servers.len()
    }

    /// Sends a message to a server. `from` is a session, the index of a server, or 0.
    pub(super) fn send(&self, server: usize, from: i64, body: Body) -> Result<()> {
        self.send_bytes(server, &self.datagram(server, from, body)?.bytes()?)
    }

    pub(super) fn datagram(&self, server: usize, from: i64, body: Body) -> Result<Datagram> {
        Ok(Datagram {
            from,
            to: i64::try_from(server)?,
            ssig: self.ssig,
            body,
            terms: Vec::new(),
        })
    }

    pub(super) fn send_bytes(&self, server: usize, bytes: &[u8]) -> Result<()> {
        match self.socket.send_to(bytes, self.servers[server]) {
            Err(error) if error.kind() != ErrorKind::ConnectionRefused => Err(error.into()),
            _ => Ok(()),
        }
    }

    pub(super) fn login(&self) -> Result<Body> {
        let port = self.socket.local_addr()?.port();
        let p = format!(":{port}").into_bytes();
        Ok(Body::Login { p })
    }

    pub(super) fn received(&self) -> Vec<Received> {
        lock(&self.inbox).clone()
    }

    /// Waits for a datagram that `find` accepts. The error names the rule.
    pub(super) fn wait_for<T>(
        &self,
        rule: &str,
        find: impl Fn(&Received) -> Option<T>,
    ) -> Result<T> {
        let mut found = None;
        wait_until(rule, || {
            found = lock(&self.inbox).iter().find_map(&find);
            found.is_some()
        })?;
        found.context("the datagram has arrived")
    }

    /// Sends LOGIN to a server, and waits for the answer. After the answer, the server has read all earlier datagrams
    /// of this socket.
    pub(super) fn wait_until_read_by(&self, server: usize) -> Result<()> {
        let count = || {
            let inbox = self.received();
            let is_config = |received: &&Received| {
                let is_config = matches!(received.datagram.body, Body::Config { .. });
                is_config && received.server == server
            };
            inbox.iter().filter(is_config).count()
        };
        let before = count();
        self.send(server, 0, self.login()?)?;
        wait_until("rule S1 (sessions.md): the answer to LOGIN", || {
            count() > before
        })
    }
}

impl Drop for TestPeer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(Ok(Err(error))) = self.reader.take().map(JoinHandle::join) {
            eprintln!("{error:#}");
        }
    }
}

fn read(
    socket: &UdpSocket,
    servers: &[SocketAddr],
    inbox: &Mutex<Vec<Received>>,
    over: &AtomicBool,
) -> Result<()> {
    let mut buf = vec![0; DATAGRAM_LEN_MAX];
    while !over.load(Ordering::Relaxed) {
        let (len, from) = match socket.recv_from(&mut buf) {
            Ok(received) => received,
            // The kernel reports with ECONNREFUSED that a killed server has no socket.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::ConnectionRefused
                ) =>
            {
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let at = ring_segment::now();
        let server = servers.iter().position(|server| *server == from);
        lock(inbox).push(Received {
            server: server.with_context(|| format!("{from} is no server"))?,
            at,
            len,
            datagram: Datagram::read(&buf[..len]).context("messages.md")?,
        });
    }
    Ok(())
}
