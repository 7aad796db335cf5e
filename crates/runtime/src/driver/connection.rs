//! One connection: its buffers and its progress.
//!
//! A network only announces that something may have changed; trying shows whether a connection can be read or
//! written. A connection whose bytes are not consumed is not read further, so its peer has to wait.

use std::io::{self, ErrorKind};
use std::mem;

use ring_proto::Closed;

use super::Happened;
use super::connections::{Connection, reason};

/// Maximum unconsumed bytes of a connection, and maximum bytes read from it in one turn.
pub const RECEIVE_ROOM: usize = 64 * 1024;
/// Maximum bytes read in the first call. Each further one reads as many as there are already: a buffer grows with what is
/// received.
const READ: usize = 4 * 1024;
/// Maximum bytes taken from a machine at a time.
const WRITE: usize = 16 * 1024;
/// Zeros to be copied where a buffer needs room. `Vec::resize` would fill it byte by byte in builds that are not optimised, and makes
/// the simulator's tests fifteen times as slow there.
static ROOM: [u8; RECEIVE_ROOM] = [0; RECEIVE_ROOM];

/// A connection in its slot.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that know nothing of each other"
)]
#[derive(Debug)]
pub(super) struct Stream<C, P> {
    pub(super) connection: C,
    phase: Phase<P>,
    /// It has failed, and the machine does not know yet.
    failed: Option<Closed>,
    /// The network has announced a change.
    changed: bool,
    /// A read may return something.
    readable: bool,
    /// The last write took less than it was given.
    blocked: bool,
    received: Vec<u8>,
    /// The peer has closed its side.
    end: bool,
    /// Something was received that the machine has not seen.
    news: bool,
    /// Bytes taken from the machine and not written.
    unsent: Vec<u8>,
    /// The machine has more bytes.
    has_more: bool,
    ending: Ending,
}

/// How far it has come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase<P> {
    Connecting,
    /// The machine has not heard of it.
    Accepted(P),
    Up,
}

/// What to do with the own side once all is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Open,
    Finish,
    Finished,
    Close,
}

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Open,
    /// All is written: close it.
    Closed,
}

impl<C: Connection, P: Copy> Stream<C, P> {
    pub(super) const fn new(connection: C, phase: Phase<P>) -> Self {
        Self {
            connection,
            phase,
            failed: None,
            changed: false,
            readable: true,
            blocked: false,
            received: Vec::new(),
            end: false,
            news: false,
            unsent: Vec::new(),
            has_more: false,
            ending: Ending::Open,
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.ending == Ending::Close
    }

    /// Something has changed.
    pub(super) fn changed(&mut self) {
        self.changed = true;
        self.readable = true;
        self.blocked = false;
    }

    pub(super) fn fail(&mut self, why: Closed) {
        self.failed = Some(why);
    }

    pub(super) fn received(&self) -> (&[u8], bool) {
        (&self.received, self.end)
    }

    pub(super) fn receive_again(&mut self) {
        self.news = self.end || !self.received.is_empty();
        // It may have been reset since that was received.
        self.changed = true;
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.received.drain(..count.min(self.received.len()));
    }

    /// Whether that can be done at once.
    pub(super) fn finish(&mut self) -> bool {
        if self.ending == Ending::Open {
            self.ending = Ending::Finish;
        }
        self.is_written()
    }

    /// Whether that can be done at once.
    pub(super) fn close(&mut self) -> bool {
        self.ending = Ending::Close;
        self.has_more = false;
        self.is_written()
    }

    fn is_connecting(&self) -> bool {
        matches!(self.phase, Phase::Connecting)
    }

    /// Whether nothing waits to be written.
    fn is_written(&self) -> bool {
        !self.is_connecting() && !self.has_more && self.unsent.is_empty()
    }

    /// Returns the next event.
    pub(super) fn next(&mut self) -> Option<Happened<P>> {
        if let Some(why) = self.failed {
            return Some(Happened::Closed(why));
        }
        match self.phase {
            Phase::Accepted(from) => {
                self.phase = Phase::Up;
                return Some(Happened::Accepted(from));
            }
            Phase::Connecting => {
                return match self.connection.established() {
                    Ok(()) => {
                        self.phase = Phase::Up;
                        Some(Happened::Connected)
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => None,
                    Err(error) => Some(Happened::Closed(reason(&error))),
                };
            }
            Phase::Up => {}
        }
        if let Err(error) = self.read() {
            return Some(Happened::Closed(reason(&error)));
        }
        if mem::take(&mut self.news) {
            return Some(Happened::Received);
        }
        let is_wanted = !self.is_written() || self.ending == Ending::Finish;
        (!self.blocked && is_wanted).then_some(Happened::Writable)
    }

    /// Reads as much as there is and fits. Bytes that a peer sent before it reset the connection do not count, so
    /// the check for a reset comes last.
    fn read(&mut self) -> io::Result<()> {
        let mut has_read = false;
        while self.readable && !self.end && self.received.len() < RECEIVE_ROOM {
            let len = self.received.len();
            let room = READ.max(len).min(RECEIVE_ROOM - len);
            self.received.extend_from_slice(&ROOM[..room]);
            let read = self.connection.read(&mut self.received[len..]);
            self.received.truncate(len + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => (self.end, has_read) = (true, true),
                Ok(_) => has_read = true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.news |= has_read;
        if mem::take(&mut self.changed) || has_read {
            self.connection.check()?;
        }
        Ok(())
    }

    /// Writes until the connection takes no more, or all is written.
    pub(super) fn write(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> usize) -> io::Result<After> {
        self.has_more = true;
        if self.is_connecting() || self.blocked {
            return Ok(After::Open);
        }
        loop {
            while !self.unsent.is_empty() {
                match self.connection.write(&self.unsent) {
                    Ok(count) => drop(self.unsent.drain(..count)),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        self.blocked = true;
                        return Ok(After::Open);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            self.unsent.extend_from_slice(&ROOM[..WRITE]);
            let count = fill(&mut self.unsent);
            self.unsent.truncate(count);
            if self.unsent.is_empty() {
                break;
            }
        }
        self.has_more = false;
        match self.ending {
            Ending::Open | Ending::Finished => Ok(After::Open),
            Ending::Finish => {
                self.connection.finish()?;
                self.ending = Ending::Finished;
                Ok(After::Open)
            }
            Ending::Close => Ok(After::Closed),
        }
    }
}
