//! Both sides of a pass, step by step.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use ring_segment::WAIT_LIMIT;
use socket2::SockRef;

use crate::jitterbug::peer::Outcome;
use crate::jitterbug::terms::{TERMS_LEN, Terms};
use crate::jitterbug::wire::{Entry, GiverMessages, hash, list_on_wire};

/// The answer to TP1 of a candidate with a different list.
pub(super) const TP2: u8 = 0x31;
/// The answer to TP1 of a candidate with the same list.
pub(super) const TP3: u8 = 0x41;
const TP6: u8 = 0x71;
const TP1_LEN: usize = 9;

/// The scripted node as giver.
pub(super) struct Giver {
    stream: TcpStream,
}

impl Giver {
    pub(super) const fn new(stream: TcpStream) -> Self {
        Self { stream }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes)?)
    }

    /// Sends TP6 and TP1.
    pub(super) fn offer(&mut self, terms: Terms, id: i32, list: &[Entry]) -> Result<()> {
        self.send(&offer_on_wire(terms, id, list))
    }

    /// Waits for TP2 or TP3.
    pub(super) fn read_answer(&mut self) -> Result<u8> {
        let mut answer = [0];
        self.stream.read_exact(&mut answer)?;
        ensure!(matches!(answer, [TP2 | TP3]), "{answer:02x?}");
        Ok(answer[0])
    }

    /// Returns whether the candidate answers, or ends the connection, within a short time.
    pub(super) fn has_answer(&self, within: Duration) -> Result<bool> {
        self.stream.set_read_timeout(Some(within))?;
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(Some(WAIT_LIMIT))?;
        let waits = peeked.as_ref().is_err_and(|error| {
            matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
        });
        Ok(!waits)
    }

    /// Sends TP4 if the candidate asked for the list. Then sends TP5.
    pub(super) fn give(&mut self, answer: u8, id: i32, list: &[Entry], data: &[u8]) -> Result<()> {
        if answer == TP2 {
            self.send(&[&[0x51][..], &list_on_wire(list)].concat())?;
        }
        self.send(&tp5(id, data))
    }

    /// Closes the giver's side, and waits for the end of the candidate's side.
    fn finish(mut self) -> Result<Outcome> {
        match self.stream.shutdown(Shutdown::Write) {
            Err(error) if error.kind() == ErrorKind::NotConnected => return Ok(Outcome::Reset),
            closed => closed?,
        }
        match self.stream.read(&mut [0]) {
            Ok(0) => Ok(Outcome::Taken),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(Outcome::Reset),
            other => bail!("neither the end of the stream nor a reset: {other:?}"),
        }
    }

    /// Waits until the candidate ends the connection. The candidate must reset the connection.
    pub(super) fn expect_reset(mut self) -> Result<()> {
        match self.stream.read_to_end(&mut Vec::new()) {
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(()),
            Err(error) => Err(error).context("the connection does not end"),
            Ok(_) => bail!("the candidate closes the connection without a reset"),
        }
    }

    /// Makes a whole pass. Returns the candidate's answer to TP1.
    pub(super) fn pass(mut self, terms: Terms, id: i32, list: &[Entry], data: &[u8]) -> Result<u8> {
        self.offer(terms, id, list)
            .context("the node ends the exchange before it answers")?;
        let answer = self.read_answer().context("no answer to TP1")?;
        self.give(answer, id, list, data)?;
        let outcome = self.finish()?;
        ensure!(outcome == Outcome::Taken, "the node resets the pass");
        Ok(answer)
    }

    pub(super) fn reset(self) -> Result<()> {
        reset_at_end(&self.stream)
    }
}

pub(super) fn offer_on_wire(terms: Terms, id: i32, list: &[Entry]) -> Vec<u8> {
    let hash = hash(&list_on_wire(list));
    [&[TP6][..], &terms.bytes(), &tp1(id, hash)].concat()
}

pub(super) fn tp1(id: i32, hash: i32) -> Vec<u8> {
    [&[0x21][..], &id.to_be_bytes(), &hash.to_be_bytes()].concat()
}

pub(super) fn tp5(id: i32, data: &[u8]) -> Vec<u8> {
    [&[0x61][..], &id.to_be_bytes(), data].concat()
}

/// Lets the kernel reset a connection at its end.
fn reset_at_end(stream: &TcpStream) -> Result<()> {
    Ok(SockRef::from(stream).set_linger(Some(Duration::ZERO))?)
}

/// The scripted node as candidate, after it has read the offer of the program.
pub(super) struct Candidate {
    stream: TcpStream,
    /// All bytes of the giver up to now.
    bytes: Vec<u8>,
    pub terms: Option<Terms>,
    pub id: i32,
}

/// A complete token. The giver waits for the acknowledgement.
pub(super) struct Delivery {
    stream: TcpStream,
    pub id: i32,
    /// List of the token. The list is empty after TP3.
    pub list: Vec<Entry>,
    pub data: Vec<u8>,
}

impl Candidate {
    /// Reads TP6 and TP1.
    pub(super) fn new(mut stream: TcpStream) -> Result<Self> {
        stream.set_read_timeout(Some(WAIT_LIMIT))?;
        let mut bytes = vec![0; TP1_LEN];
        stream.read_exact(&mut bytes).context("no offer")?;
        let mut terms = None;
        if bytes[0] == TP6 {
            bytes.resize(1 + TERMS_LEN + TP1_LEN, 0);
            stream.read_exact(&mut bytes[TP1_LEN..])?;
            terms = Some(Terms::read(&bytes[1..=TERMS_LEN])?);
        }
        let given = GiverMessages::read(&bytes, false)?;
        Ok(Self {
            stream,
            bytes,
            terms,
            id: given.id.context("no TP1")?,
        })
    }

    /// Answers TP1, and reads the token.
    pub(super) fn read_token(mut self, answer: u8) -> Result<Delivery> {
        self.stream.write_all(&[answer])?;
        self.stream.read_to_end(&mut self.bytes)?;
        let given = GiverMessages::read(&self.bytes, answer == TP2)?;
        Ok(Delivery {
            stream: self.stream,
            id: self.id,
            list: given.list.unwrap_or_default(),
            data: given.data.context("the pass has no TP5")?,
        })
    }

    /// Asks for the list, reads the token, and takes it.
    pub(super) fn take(self) -> Result<Delivery> {
        let delivery = self.read_token(TP2)?;
        delivery.acknowledge()
    }

    pub(super) fn reset(self) -> Result<()> {
        reset_at_end(&self.stream)
    }

    /// Waits for the end of a pass that got no answer. The giver must reset the connection.
    pub(super) fn expect_reset(mut self) -> Result<()> {
        match self.stream.read(&mut [0]) {
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(()),
            other => bail!("the giver does not reset the connection: {other:?}"),
        }
    }
}

impl Delivery {
    pub(super) fn acknowledge(self) -> Result<Self> {
        self.stream.shutdown(Shutdown::Write)?;
        Ok(self)
    }

    pub(super) fn reset(self) -> Result<()> {
        reset_at_end(&self.stream)
    }
}
