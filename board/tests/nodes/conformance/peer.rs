//! A peer of the program: a node whose messages the check sends. The program sees a peer as another node.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ring_segment::Node;

use super::super::test_ring::PORT;
use super::frames::{self, Message};

/// The longest wait for an expected event. A busy machine may be late by ten seconds.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// The time in which a peer must receive nothing.
pub(super) const SILENCE_DURATION: Duration = Duration::from_millis(400);
/// The interval between repeated requests of a peer, as long as --ack-timeout.
const REQUEST_INTERVAL: Duration = Duration::from_millis(600);
/// The pause between two looks for a connection.
const ACCEPT_INTERVAL: Duration = Duration::from_millis(2);

pub(super) struct TestPeer {
    pub id: u32,
    node: Node,
    udp: UdpSocket,
    listener: TcpListener,
    /// Id and address of the program.
    program: (u32, Ipv4Addr),
}

impl TestPeer {
    pub(super) fn new(id: u32, node: &Node, program: (u32, Ipv4Addr)) -> Result<Self> {
        let address = (node.ip().context("it has an address")?, PORT);
        let (udp, listener) = node.ns().run(|| -> Result<_> {
            Ok((UdpSocket::bind(address)?, TcpListener::bind(address)?))
        })??;
        listener.set_nonblocking(true)?;
        Ok(Self {
            id,
            node: node.clone(),
            udp,
            listener,
            program,
        })
    }

    pub(super) fn send(&self, message: &Message) -> Result<()> {
        self.send_bytes(&message.frame(self.id))
    }

    pub(super) fn send_bytes(&self, datagram: &[u8]) -> Result<()> {
        self.udp.send_to(datagram, (self.program.1, PORT))?;
        Ok(())
    }

    /// Returns the next datagram of the program, or `None` if no datagram arrives within `limit`.
    fn receive(&self, limit: Duration) -> Result<Option<Message>> {
        self.udp.set_read_timeout(Some(limit))?;
        let mut buffer = [0; 2_048];
        let (length, from) = match self.udp.recv_from(&mut buffer) {
            Err(error) if is_timeout(&error) => return Ok(None),
            other => other?,
        };
        let (source, message) = frames::decode(&buffer[..length])?;
        ensure!(
            source == self.program.0 && from.ip() == self.program.1,
            "rule M1 (members.md): {message:?} from {from} has the srcId {source}"
        );
        Ok(Some(message))
    }

    /// Sends a request once per `REQUEST_INTERVAL` until the program answers with a SUCCESSOR. Returns the id in the
    /// answer.
    pub(super) fn request(&self, rule: &str, request: &Message) -> Result<u32> {
        let give_up = Instant::now() + ANSWER_TIMEOUT;
        while Instant::now() < give_up {
            self.send(request)?;
            if let Some(Message::Successor(id)) = self.receive(REQUEST_INTERVAL)? {
                return Ok(id);
            }
        }
        let id = self.id;
        bail!("rule {rule}: the program does not answer the {request:?} of node {id}")
    }

    /// Waits for a datagram with this message. Ignores other datagrams.
    pub(super) fn expect(&self, rule: &str, expected: &Message) -> Result<()> {
        let give_up = Instant::now() + ANSWER_TIMEOUT;
        let mut others = Vec::new();
        while Instant::now() < give_up {
            match self.receive(ANSWER_TIMEOUT)? {
                Some(message) if message == *expected => return Ok(()),
                other => others.extend(other),
            }
        }
        let id = self.id;
        bail!("rule {rule}: the program sends node {id} no {expected:?}, only {others:?}")
    }

    /// Discards all datagrams that have arrived or are on their way.
    pub(super) fn discard_datagrams(&self) -> Result<()> {
        thread::sleep(SILENCE_DURATION);
        while self.receive(ACCEPT_INTERVAL)?.is_some() {}
        Ok(())
    }

    /// Checks that no datagram arrives with a message of `forbidden`.
    pub(super) fn expect_no(&self, rule: &str, forbidden: impl Fn(&Message) -> bool) -> Result<()> {
        let end = Instant::now() + SILENCE_DURATION;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            let Some(message) = self.receive(left.max(ACCEPT_INTERVAL))? else {
                continue;
            };
            let id = self.id;
            ensure!(
                !forbidden(&message),
                "rule {rule}: the program sends node {id} {message:?}"
            );
        }
        Ok(())
    }

    /// Returns whether one of the waiting datagrams has the first message of an election.
    pub(super) fn has_election(&self) -> Result<bool> {
        while let Some(message) = self.receive(ACCEPT_INTERVAL)? {
            if message.is_election() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Connects to the program, and sends no hello.
    pub(super) fn open(&self) -> Result<Link> {
        let to = (self.program.1, PORT);
        let stream = self.node.ns().run(|| TcpStream::connect(to))?;
        let stream = stream.context("rule C1 (members.md): the program accepts no connection")?;
        Link::new(stream, self.id, self.program.0)
    }

    /// Connects to the program as its predecessor.
    pub(super) fn connect(&self) -> Result<Link> {
        let mut link = self.open()?;
        link.send(&Message::Successor(self.program.0))?;
        Ok(link)
    }

    /// Waits for a connection on which the program sends a hello. The program may also open connections without a
    /// hello: for proof ([A6](../../../../docs/board/protocol/failures.md#A6)).
    pub(super) fn accept(&self, rule: &str) -> Result<Link> {
        let give_up = Instant::now() + ANSWER_TIMEOUT;
        while Instant::now() < give_up {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    thread::sleep(ACCEPT_INTERVAL);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            stream.set_nonblocking(false)?;
            let mut link = Link::new(stream, self.id, self.program.0)?;
            match link.next(ANSWER_TIMEOUT)? {
                Event::Message(message) => {
                    let id = self.id;
                    ensure!(
                        message == Message::Successor(id),
                        "rule C5 (members.md): the first frame to node {id} is {message:?}, and no hello"
                    );
                    return Ok(link);
                }
                Event::End | Event::Silence => {}
            }
        }
        let id = self.id;
        bail!("rule {rule}: the program opens no connection with a hello to node {id}")
    }
}

#[derive(Debug)]
pub(super) enum Event {
    Message(Message),
    /// The program closed the connection.
    End,
    /// No complete frame arrived in time.
    Silence,
}

/// A connection between a peer and the program.
pub(super) struct Link {
    stream: TcpStream,
    /// Bytes that arrived, but are no complete frame.
    bytes: Vec<u8>,
    peer: u32,
    program: u32,
}

impl Link {
    fn new(stream: TcpStream, peer: u32, program: u32) -> Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            bytes: Vec::new(),
            peer,
            program,
        })
    }

    pub(super) fn send(&mut self, message: &Message) -> Result<()> {
        self.send_bytes(&message.frame(self.peer))
    }

    pub(super) fn send_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let sent = self.stream.write_all(bytes);
        sent.context("the program has closed the connection of its predecessor or successor")
    }

    /// Returns the next event on the connection.
    pub(super) fn next(&mut self, limit: Duration) -> Result<Event> {
        let give_up = Instant::now() + limit;
        loop {
            if let Some(length) = frames::frame_len(&self.bytes)?
                && self.bytes.len() >= length
            {
                let frame: Vec<u8> = self.bytes.drain(..length).collect();
                let (source, message) = frames::decode(&frame)?;
                ensure!(
                    source == self.program,
                    "rule M1 (members.md): {message:?} has the srcId {source}"
                );
                return Ok(Event::Message(message));
            }
            let Some(left) = give_up.checked_duration_since(Instant::now()) else {
                return Ok(Event::Silence);
            };
            self.stream
                .set_read_timeout(Some(left.max(ACCEPT_INTERVAL)))?;
            let mut buffer = [0; 4_096];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(Event::End),
                Ok(length) => self.bytes.extend(&buffer[..length]),
                Err(error) if is_timeout(&error) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(Event::End),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Checks that the next frame has this message.
    pub(super) fn expect(&mut self, rule: &str, expected: &Message) -> Result<()> {
        let event = self.next(ANSWER_TIMEOUT)?;
        let is_expected = matches!(&event, Event::Message(message) if message == expected);
        let peer = self.peer;
        ensure!(
            is_expected,
            "rule {rule}: node {peer} gets {event:?} instead of {expected:?}"
        );
        Ok(())
    }

    /// Waits for a token, and acknowledges it. Returns its sequence.
    pub(super) fn take_token(&mut self, rule: &str) -> Result<u64> {
        let sequence = self.see_token(rule)?;
        self.send(&Message::TokenAck(sequence))?;
        Ok(sequence)
    }

    /// Waits for a token, and does not acknowledge it. Returns its sequence.
    pub(super) fn see_token(&mut self, rule: &str) -> Result<u64> {
        match self.next(ANSWER_TIMEOUT)? {
            Event::Message(Message::Token(sequence)) => Ok(sequence),
            event => bail!(
                "rule {rule}: node {} gets {event:?} instead of a TOKEN",
                self.peer
            ),
        }
    }

    /// Checks that nothing arrives for a while, and that the connection stays open.
    pub(super) fn expect_silence(&mut self, rule: &str, reason: &str) -> Result<()> {
        let event = self.next(SILENCE_DURATION)?;
        let peer = self.peer;
        ensure!(
            matches!(event, Event::Silence),
            "rule {rule}: node {peer} gets {event:?} after {reason}"
        );
        Ok(())
    }

    /// Checks that the program closes the connection, and sends nothing before.
    pub(super) fn expect_end(&mut self, rule: &str, reason: &str) -> Result<()> {
        let event = self.next(ANSWER_TIMEOUT)?;
        let peer = self.peer;
        ensure!(
            matches!(event, Event::End),
            "rule {rule}: node {peer} gets {event:?} instead of the end of the connection after {reason}"
        );
        Ok(())
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
