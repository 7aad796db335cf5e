//! A node of Jitterbug that the checks script, and the program under test as the only other node of the segment.

use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ring_segment::{Daemon, WAIT_LIMIT, limit};

use super::exchange::{Candidate, Giver};
use crate::jitterbug::peer::Peer;
use crate::jitterbug::stand::{Kind, NodeStand, UDP_PORT};
use crate::jitterbug::terms::{FOLLOWED, POLICY_OF_COUNTER, TERMS_LEN, Terms};
use crate::jitterbug::wire::{Datagram, Entry};
use crate::record::Sent;

/// TCP port of the scripted node.
const PORT: u16 = 4711;
/// Time in which a message that must not come would come.
const SILENCE: Duration = Duration::from_millis(300);
/// Number of TR1 in a try. All nodes use the default.
pub(super) const TR_COUNT: u32 = 3;
/// Id of the token of the scripted node. A program without a token has a smaller id.
pub(super) const LARGE_ID: i32 = i32::MAX - 1;

/// Options of the program in milliseconds. The scripted node announces the same options.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub tr_interval: u32,
    pub renew_timeout: u32,
    pub hold: u32,
}

/// Times with long tries, in which the scripted node can deny a try.
pub(super) const SLOW_TRIES: Times = Times {
    tr_interval: 500,
    renew_timeout: 60_000,
    hold: 20,
};
/// Times with which a program without others leads after 1.2 s, and tries its candidates at once.
pub(super) const SHORT_HOLD: Times = Times {
    tr_interval: 200,
    renew_timeout: 60_000,
    hold: 20,
};
/// Times with which a leader that knows one other node holds its token for longer than any wait of a check.
pub(super) const LONG_HOLD: Times = Times {
    tr_interval: 200,
    renew_timeout: 600_000,
    hold: 600_000,
};
const TOKEN_PASS_TIMEOUT_MS: u32 = 10_000;

impl Times {
    pub(super) const fn lease_us(&self) -> u32 {
        (2 * TR_COUNT - 1) * self.tr_interval * 1_000
    }

    /// Returns the terms of a node that has these times and a followed token.
    pub(super) const fn terms(&self) -> Terms {
        Terms {
            lease_us: self.lease_us(),
            shortest_us: self.lease_us(),
            longest_us: self.lease_us(),
            renew_ms: self.renew_timeout,
            pass_ms: TOKEN_PASS_TIMEOUT_MS,
            follows: 0,
            policy: POLICY_OF_COUNTER,
            flags: FOLLOWED,
        }
    }
}

/// A datagram of the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    pub id: i32,
    /// TCP port in a TR1; `None` in a TR2.
    pub port: Option<u16>,
    pub terms: Option<Terms>,
}

impl Heard {
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let head = match Datagram::read(bytes)? {
            Datagram::Tr1 { .. } | Datagram::Ask { .. } => 7,
            Datagram::Tr2 { .. } => 5,
        };
        let terms = bytes.get(head..).filter(|terms| terms.len() == TERMS_LEN);
        Ok(Self {
            id: i32::from_be_bytes(bytes[1..5].try_into()?),
            port: (head == 7).then(|| u16::from_be_bytes([bytes[5], bytes[6]])),
            terms: terms.map(Terms::read).transpose()?,
        })
    }

    pub(super) fn is_answer(&self) -> bool {
        self.port.is_none()
    }

    pub(super) fn is_question(&self) -> bool {
        self.port.is_some() && self.id < 0
    }

    pub(super) fn is_announcement(&self) -> bool {
        self.port.is_some() && self.id > 0
    }
}

/// A TR1 of the scripted node. A question has a negative id.
pub(super) fn tr1(id: i32, terms: Option<Terms>) -> Vec<u8> {
    let mut bytes = [&[0x01][..], &id.to_be_bytes(), &PORT.to_be_bytes()].concat();
    bytes.extend(terms.into_iter().flat_map(|terms| terms.bytes()));
    bytes
}

pub(super) struct Probe {
    stand: NodeStand,
    peer: Peer,
    listener: TcpListener,
    node: SocketAddr,
    pub times: Times,
}

impl Probe {
    /// Starts the program, and waits for its first TR1.
    pub(super) fn start(times: Times) -> Result<Self> {
        let mut stand = NodeStand::without_nodes(Kind::Bridge, 2)?;
        let peer = Peer::on(stand.segment().node(1))?;
        let listener = peer.listen(PORT)?;
        stand.judge_node(0);
        let milliseconds = |time: u32| format!("{time}ms");
        stand.add(
            0,
            &[
                ("--tr-interval", &milliseconds(times.tr_interval)),
                ("--renew-timeout", &milliseconds(times.renew_timeout)),
                ("--hold", &milliseconds(times.hold)),
                ("--token-pass-timeout", &milliseconds(TOKEN_PASS_TIMEOUT_MS)),
            ],
        )?;
        let node = SocketAddr::new(stand.address(0), 0);
        let mut probe = Self {
            stand,
            peer,
            listener,
            node,
            times,
        };
        probe.learn_port()?;
        Ok(probe)
    }

    fn learn_port(&mut self) -> Result<()> {
        let first = self.wait_for(|heard| heard.port.is_some());
        let first = first.context("rule R3 (restore.md): a started node sends TR1")?;
        self.node.set_port(first.port.context("no port")?);
        Ok(())
    }

    /// Starts the program, sends no answer, and waits until the program leads. Returns the id of its token.
    pub(super) fn start_leader(times: Times) -> Result<(Self, i32)> {
        let probe = Self::start(times)?;
        let id = probe.wait_for_leader()?;
        Ok((probe, id))
    }

    /// Starts the program again after its end.
    pub(super) fn start_again(&mut self) -> Result<()> {
        self.stand.node(0).start()?;
        self.learn_port()
    }

    pub(super) fn wait_for_leader(&self) -> Result<i32> {
        let announced = self.wait_for(Heard::is_announcement);
        let announced =
            announced.context("rules R6, N1 (restore.md): a node without answers elects itself")?;
        Ok(announced.id)
    }

    /// Starts the program. The scripted node, as the leader with [`LARGE_ID`], denies the program's restore.
    pub(super) fn start_waiter(times: Times) -> Result<Self> {
        let probe = Self::start(times)?;
        probe.send_tr2(LARGE_ID)?;
        Ok(probe)
    }

    pub(super) fn node(&mut self) -> &mut Daemon {
        self.stand.node(0)
    }

    /// Returns the recorded datagrams of the program, up to its first announcement.
    pub(super) fn first_restore(&self) -> Result<Vec<(Sent, Heard)>> {
        let by = Instant::now() + WAIT_LIMIT;
        // The recording may get a datagram later than the scripted node.
        while Instant::now() < by {
            let mut restore = Vec::new();
            let sent = self.stand.record().datagrams(UDP_PORT);
            for sent in sent.into_iter().filter(|sent| sent.from == self.address()) {
                let heard = Heard::read(&sent.bytes)?;
                restore.push((sent, heard));
                if heard.is_announcement() {
                    return Ok(restore);
                }
            }
            thread::sleep(SILENCE);
        }
        bail!("the announcement was not recorded")
    }

    /// Returns the entry of the program in a list.
    pub(super) fn node_entry(&self) -> Entry {
        (self.node.ip(), self.node.port())
    }

    /// Returns the entry of the scripted node in a list.
    pub(super) fn own_entry(&self) -> Entry {
        (self.peer.address(), PORT)
    }

    /// Sends a question with the smallest id, so that the program knows the scripted node. Only a leader answers.
    pub(super) fn ask(&self) -> Result<()> {
        self.send(&tr1(-1, Some(self.times.terms())))
    }

    pub(super) fn send(&self, datagram: &[u8]) -> Result<()> {
        self.peer.send(self.node.ip(), datagram)
    }

    /// Sends a datagram from a random port.
    pub(super) fn send_from_another_port(&self, datagram: &[u8]) -> Result<()> {
        let ns = self.stand.segment().node(1).ns();
        let socket = ns.run(|| UdpSocket::bind(("0.0.0.0", 0)))??;
        socket.send_to(datagram, (self.node.ip(), UDP_PORT))?;
        Ok(())
    }

    pub(super) fn send_tr2(&self, id: i32) -> Result<()> {
        let terms = self.times.terms().bytes();
        self.send(&[&[0x11][..], &id.to_be_bytes(), &terms].concat())
    }

    /// Returns the next datagram of the program, or `None` if there is no datagram before the time `by`.
    pub(super) fn receive(&self, by: Instant) -> Result<Option<Heard>> {
        while let Some((from, bytes)) = self.peer.receive(by)? {
            if from == self.node.ip() {
                let heard = Heard::read(&bytes);
                let heard =
                    heard.context("page datagrams.md: a node sends only valid datagrams")?;
                return Ok(Some(heard));
            }
        }
        Ok(None)
    }

    /// Waits for a datagram of the program that `is_wanted` accepts.
    pub(super) fn wait_for(&self, is_wanted: impl Fn(&Heard) -> bool) -> Result<Heard> {
        let by = Instant::now() + WAIT_LIMIT;
        let mut last = None;
        while let Some(heard) = self.receive(by)? {
            if is_wanted(&heard) {
                return Ok(heard);
            }
            last = Some(heard);
        }
        bail!("the program sent no such datagram in {WAIT_LIMIT:?}; its last datagram is {last:?}")
    }

    /// Returns all datagrams of the program that arrive within a short time.
    pub(super) fn receive_rest(&self) -> Result<Vec<Heard>> {
        let by = Instant::now() + SILENCE;
        let mut rest = Vec::new();
        while let Some(heard) = self.receive(by)? {
            rest.push(heard);
        }
        Ok(rest)
    }

    /// Returns whether the program connects within a short time.
    pub(super) fn has_connection(&self) -> bool {
        limit::is_readable(&self.listener, Instant::now() + SILENCE)
    }

    /// Waits until the program connects, and reads its offer.
    pub(super) fn accept(&self) -> Result<Candidate> {
        let is_there = limit::is_readable(&self.listener, Instant::now() + WAIT_LIMIT);
        ensure!(is_there, "the program does not connect in {WAIT_LIMIT:?}");
        let (stream, from) = self.listener.accept()?;
        let is_known = from.ip() == self.node.ip();
        ensure!(is_known, "the program connects from {from}");
        Candidate::new(stream)
    }

    pub(super) fn connect(&self) -> Result<Giver> {
        let stream = self.peer.connect(self.node);
        Ok(Giver::new(stream.context(
            "rule A2 (addresses.md): a node listens on the port in its TR1",
        )?))
    }

    /// Stops the program for this time. The program gets a question before it continues.
    pub(super) fn stall(&mut self, time: Duration) -> Result<()> {
        self.node().signal(nix::sys::signal::Signal::SIGSTOP)?;
        self.receive_rest()?;
        thread::sleep(time);
        self.ask()?;
        self.node().signal(nix::sys::signal::Signal::SIGCONT)
    }

    pub(super) fn address(&self) -> IpAddr {
        self.node.ip()
    }
}
