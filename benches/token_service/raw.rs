//! A session whose messages this benchmark composes itself, so that no client state machine costs time.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ring_codec::ftn::{Access, Datagram, Flags, Header, Message, Token};
use ring_proto::ftn::client::ClientState;
use ring_proto::ftn::{Configuration, Servers};
use ring_runtime::clock;
use ring_runtime::driver::{
    Authenticated, DatagramAddressing, Link, ReceiveBatch, Signer, TransmitBatch, datagrams,
};
use ring_runtime::net::{UdpLink, UdpOptions};
use ring_trust::Authenticator;

use super::median::median;
use super::pool::Pool;
use super::server::ServerProcesses;

/// Length of REQUEST and GRANT in the round trip, in bytes.
pub(crate) const REQUEST_LEN: usize = 28;
/// Maximum number of unanswered requests of a session. Each request is for a separate token.
pub(crate) const WINDOW_SIZE: usize = 32;
/// Length of a buffer. It exceeds the length of each datagram of this benchmark.
pub(crate) const BUFFER_LEN: usize = 256;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct Session {
    link: Authenticated<UdpLink, DatagramAddressing>,
    server: SocketAddr,
    header: Header,
    msgnum: i64,
    servers: Servers,
    configuration: Configuration,
    incoming: ReceiveBatch<SocketAddr>,
    outgoing: TransmitBatch<SocketAddr>,
}

impl Session {
    /// Logs in with the client's state machine. If the servers have keys, the session signs its messages.
    pub(crate) fn log_in(running: &ServerProcesses) -> Result<Self> {
        let mut pool = Pool::new(running, 1, Duration::from_secs(600))?;
        pool.drive_until("the client is live", |pool| pool.live == 1)?;
        let (socket, client) = pool.into_first().context("there is a session")?;
        let ClientState::Live { session: id } = client.state() else {
            bail!("the session was lost");
        };
        let address = socket.local_addr()?;
        drop(socket);
        let configuration = client
            .configuration()
            .context("the client is live")?
            .clone();
        let server = running.servers.address(0).context("there is a server")?;
        let signer = running.keys().map(|keys| {
            let authenticator = Authenticator::new(&keys, true, [7; 32]);
            let transmit = datagrams::transmit_batch(BUFFER_LEN);
            Signer::new(authenticator, DatagramAddressing::new(address), transmit)
        });
        let socket = UdpLink::bind(address, &merged())?;
        Ok(Self {
            link: Authenticated::new(socket, signer),
            server,
            header: Header {
                from: id,
                to: 0,
                ssig: running.servers.signature(),
            },
            servers: running.servers.clone(),
            configuration,
            // This number is larger than any number that the state machine has used.
            msgnum: i64::try_from(clock::now().wall / 1_000)? + 1_000_000,
            incoming: datagrams::merged_receive_batch(BUFFER_LEN),
            outgoing: datagrams::transmit_batch(BUFFER_LEN),
        })
    }

    /// Returns a token name that begins with `name` and belongs to the server.
    pub(crate) fn name_with_prefix(&self, name: &str) -> String {
        let names = (0..1_000).map(|number| format!("{name}/{number}"));
        let (servers, all) = (&self.servers, &self.configuration);
        let mut its = names.filter(|name| servers.responsible(name.as_bytes(), all) == Some(0));
        its.next()
            .expect("each server owns some of a thousand names")
    }

    fn queue(&mut self, message: Message<'_>) -> Result<()> {
        if self.outgoing.len() == self.outgoing.capacity() {
            self.send()?;
        }
        let datagram = Datagram::new(self.header, message);
        let buf = self.outgoing.next_buffer().context("the batch has space")?;
        let len = datagram.encode(buf)?;
        self.outgoing.push(len, self.server);
        Ok(())
    }

    pub(crate) fn send(&mut self) -> Result<()> {
        while !self.outgoing.is_empty() {
            let sent = self.link.send(&self.outgoing)?;
            self.outgoing.drop_first(sent);
        }
        self.outgoing.clear();
        Ok(())
    }

    pub(crate) fn request(&mut self, name: &[u8]) -> Result<()> {
        self.msgnum += 1;
        let (msgnum, access) = (self.msgnum, Access::Exclusive);
        let token = Token { name, data: b"" };
        self.queue(Message::Request {
            msgnum,
            token,
            access,
        })
    }

    pub(crate) fn give_back(&mut self, name: &[u8], data: &[u8], flags: Flags) -> Result<()> {
        self.msgnum += 1;
        let (msgnum, token) = (self.msgnum, Token { name, data });
        self.queue(Message::Return {
            msgnum,
            token,
            flags,
        })
    }

    /// Receives all pending messages, and calls `call` with each.
    pub(crate) fn receive(&mut self, mut call: impl FnMut(&Message<'_>)) -> Result<usize> {
        self.link.receive(clock::now(), &mut self.incoming)?;
        let mut count = 0;
        for (bytes, ..) in self.incoming.iter() {
            call(&Datagram::decode(bytes)?.message());
            count += 1;
        }
        Ok(count)
    }

    /// Returns the median time from REQUEST to GRANT.
    pub(crate) fn round_trip(&mut self, time: Duration) -> Result<Duration> {
        let (mut times, began) = (Vec::new(), Instant::now());
        while began.elapsed() < time {
            let at = Instant::now();
            self.request(b"round trip")?;
            self.send()?;
            self.wait(|message| matches!(message, Message::Grant { .. }))?;
            times.push(at.elapsed());
            self.give_back(b"round trip", b"", Flags::Deassign)?;
            self.send()?;
            self.wait(|message| matches!(message, Message::Confirm { .. }))?;
        }
        Ok(median(times))
    }

    /// Waits in the kernel for a message, as the floor does.
    fn wait(&mut self, is_it: impl Fn(&Message<'_>) -> bool) -> Result<()> {
        let began = Instant::now();
        loop {
            let mut fds = [rustix::event::PollFd::new(
                self.link.link(),
                rustix::event::PollFlags::IN,
            )];
            rustix::event::poll(&mut fds, None)?;
            let mut has_come = false;
            self.receive(|message| has_come |= is_it(message))?;
            if has_come {
                return Ok(());
            }
            if began.elapsed() > ANSWER_TIMEOUT {
                bail!("no answer");
            }
        }
    }

    /// Makes `tokens` tokens with data. Returns the total size of the names and data of these tokens.
    pub(crate) fn fill(&mut self, tokens: u64) -> Result<u64> {
        let mut text = 0;
        for first in (0..tokens).step_by(WINDOW_SIZE) {
            let names: Vec<String> = (first..tokens.min(first + WINDOW_SIZE as u64))
                .map(|number| format!("token {number:010}"))
                .collect();
            for name in &names {
                self.request(name.as_bytes())?;
            }
            self.send()?;
            self.wait_for(names.len(), |message| {
                matches!(message, Message::Grant { .. })
            })?;
            for name in &names {
                self.give_back(name.as_bytes(), b"16 bytes of data", Flags::Both)?;
                text += name.len() as u64 + 16;
            }
            self.send()?;
            self.wait_for(names.len(), |message| {
                matches!(message, Message::Confirm { .. })
            })?;
        }
        Ok(text)
    }

    fn wait_for(&mut self, count: usize, is_it: impl Fn(&Message<'_>) -> bool) -> Result<()> {
        let (mut come, began) = (0, Instant::now());
        while come < count {
            self.receive(|message| come += usize::from(is_it(message)))?;
            if began.elapsed() > ANSWER_TIMEOUT {
                bail!("a datagram was lost");
            }
        }
        Ok(())
    }
}

/// Returns the options of a socket like the one of a server.
pub(crate) fn merged() -> UdpOptions {
    UdpOptions {
        merges: true,
        ..UdpOptions::default()
    }
}

/// Makes all sessions request and return tokens as fast as the server answers. Returns the number of grants and the
/// time.
pub(crate) fn flood(sessions: &mut [Session], time: Duration) -> Result<(u64, Duration)> {
    let names: Vec<Vec<String>> = (0..sessions.len())
        .map(|session| {
            (0..WINDOW_SIZE)
                .map(|at| format!("{session}/{at:02}"))
                .collect()
        })
        .collect();
    for (session, names) in sessions.iter_mut().zip(&names) {
        for name in names {
            session.request(name.as_bytes())?;
        }
        session.send()?;
    }
    let (mut grants, began) = (0, Instant::now());
    // The granted tokens of each session, and the number of confirmed returns.
    let mut granted: Vec<usize> = Vec::new();
    let mut confirmed: Vec<Vec<usize>> = vec![Vec::new(); sessions.len()];
    let mut returned: Vec<Vec<usize>> = vec![Vec::new(); sessions.len()];
    while began.elapsed() < time {
        for (at, session) in sessions.iter_mut().enumerate() {
            granted.clear();
            let (done, order) = (&mut confirmed[at], &mut returned[at]);
            let mut confirms = 0;
            session.receive(|message| match message {
                Message::Grant { token, .. } => {
                    let place = names[at]
                        .iter()
                        .position(|name| name.as_bytes() == token.name);
                    granted.extend(place);
                }
                Message::Confirm { .. } => confirms += 1,
                _ => {}
            })?;
            // A server answers in the order of the requests.
            done.extend(order.drain(..confirms.min(order.len())));
            for &place in &granted {
                session.give_back(names[at][place].as_bytes(), b"", Flags::Deassign)?;
                order.push(place);
                grants += 1;
            }
            for place in done.drain(..) {
                session.request(names[at][place].as_bytes())?;
            }
            session.send()?;
        }
    }
    Ok((grants, began.elapsed()))
}
