//! Many clients in one process. Each client has a socket and the real state machine.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use ring_codec::ftn::Access;
use ring_proto::ftn::client::{Client, Command, Event, Options, SocketState};
use ring_proto::ftn::{Configuration, Servers};
use ring_proto::{Machine, SendOutcome};
use ring_runtime::clock;

use super::server::ServerProcesses;

const POOL_TIMEOUT: Duration = Duration::from_secs(120);

struct Member {
    socket: UdpSocket,
    client: Client,
}

pub(crate) struct Pool {
    servers: Servers,
    members: Vec<Member>,
    buf: Vec<u8>,
    /// Number of clients with a session.
    pub live: usize,
    pub granted: usize,
    configuration: Option<Configuration>,
}

impl Pool {
    /// Makes `count` clients that will log in.
    pub(crate) fn new(
        running: &ServerProcesses,
        count: usize,
        client_timeout: Duration,
    ) -> Result<Self> {
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
        let mut members = Vec::with_capacity(count);
        for _ in 0..count {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            socket.set_nonblocking(true)?;
            let port = socket.local_addr()?.port();
            let mut client = Client::new(Options {
                servers: running.servers.clone(),
                client_timeout,
                introduction: String::new(),
            });
            client.handle_link(clock::now(), SocketState::Up { port });
            members.push(Member { socket, client });
        }
        Ok(Self {
            servers: running.servers.clone(),
            members,
            buf: vec![0; 65_507],
            live: 0,
            granted: 0,
            configuration: None,
        })
    }

    /// Drives all clients until `is_so` returns `true`. Returns the time until `is_so` returned `true`.
    pub(crate) fn drive_until(
        &mut self,
        what: &str,
        is_so: impl Fn(&Self) -> bool,
    ) -> Result<Duration> {
        let began = Instant::now();
        while !is_so(self) {
            ensure!(
                began.elapsed() < POOL_TIMEOUT,
                "{what}: did not happen in {POOL_TIMEOUT:?}"
            );
            self.drive_once()?;
        }
        Ok(began.elapsed())
    }

    fn drive_once(&mut self) -> Result<()> {
        let now = clock::now();
        for member in &mut self.members {
            let Member { socket, client } = member;
            loop {
                match socket.recv_from(&mut self.buf) {
                    Ok((len, from)) => {
                        client.handle_message(now, from, &self.buf[..len], Duration::ZERO);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // A dead server refuses datagrams.
                    Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                    Err(error) => return Err(error.into()),
                }
            }
            if client
                .poll_timeout()
                .is_some_and(|due| due <= now.monotonic)
            {
                client.handle_timeout(now);
            }
            while let Some(transmit) = client.poll_transmit(&mut self.buf) {
                let sent = match socket.send_to(&self.buf[..transmit.len], transmit.to) {
                    Ok(_) => SendOutcome::Accepted,
                    Err(_) => SendOutcome::Failed,
                };
                client.handle_sent(now, transmit.ticket, sent);
            }
            while let Some(event) = client.poll_event() {
                match event {
                    Event::Live { .. } => self.live += 1,
                    Event::Granted { .. } => self.granted += 1,
                    Event::Lost { .. } => self.live -= 1,
                    Event::Adopted { configuration } => self.configuration = Some(configuration),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Makes each client request its own token. The names of the tokens contain `number`.
    pub(crate) fn request(&mut self, number: usize) {
        for (at, member) in self.members.iter_mut().enumerate() {
            let name = format!("{at}/{number}");
            request(&mut member.client, &name);
        }
    }

    /// Makes the first client request this token.
    pub(crate) fn request_one(&mut self, name: &str) {
        request(&mut self.members[0].client, name);
    }

    pub(crate) fn into_first(self) -> Option<(UdpSocket, Client)> {
        let first = self.members.into_iter().next()?;
        Some((first.socket, first.client))
    }

    /// Returns a server that does not lead.
    pub(crate) fn follower(&self) -> Result<usize> {
        let configuration = self.configuration().context("there is a session")?;
        Ok((configuration.leader() + 1) % self.servers.len())
    }

    fn configuration(&self) -> Option<&Configuration> {
        let own = self.members.first()?.client.configuration();
        own.or(self.configuration.as_ref())
    }

    /// Returns the name of a token that belongs to this server.
    pub(crate) fn name_owned_by(&self, server: usize) -> String {
        let all = self.configuration().expect("there is a session");
        (0..1_000_000)
            .map(|number| format!("free {number}"))
            .find(|name| self.servers.responsible(name.as_bytes(), all) == Some(server))
            .expect("each server owns one of three names")
    }
}

fn request(client: &mut Client, name: &str) {
    let command = Command::Request {
        name: name.as_bytes().into(),
        access: Access::Exclusive,
        fence: false,
    };
    client.handle_command(clock::now(), command);
}
