//! One connection: its buffers and its state.
//!
//! The network only reports that the state of a connection may have changed. The driver must try a read or a write to
//! find out whether the connection is ready. While the buffer is full of bytes that the machine has not consumed, the
//! driver reads no more bytes. So the peer must wait.

use std::io::{self, ErrorKind};
use std::mem;

use ring_proto::CloseReason;

use super::IoEvent;
use super::connections::{Connection, reason};

/// Maximum number of unconsumed bytes of a connection. One loop iteration also reads at most this many bytes from a
/// connection.
pub const RECEIVE_BUFFER_MAX: usize = 64 * 1024;
/// Maximum number of bytes that a read call requests if the buffer is almost empty. Otherwise, a call requests at most
/// as many bytes as the buffer contains. So the buffer grows with the received data.
const FIRST_READ_MAX: usize = 4 * 1024;
/// Maximum number of bytes that one call takes from the machine.
const WRITE_CHUNK: usize = 16 * 1024;
/// Zeros that extend a buffer. In builds that are not optimized, `Vec::resize` would write byte by byte, and the
/// simulator's tests would take fifteen times as long.
static ZEROS: [u8; RECEIVE_BUFFER_MAX] = [0; RECEIVE_BUFFER_MAX];

/// A connection in its slot.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Debug)]
pub(super) struct Stream<C, P> {
    pub(super) connection: C,
    phase: ConnectionPhase<P>,
    /// Failure that the driver has not yet reported to the state machine.
    failed: Option<CloseReason>,
    /// Whether the driver must check for a reset, because the network reported a change after the last check.
    must_check: bool,
    /// Whether a read may return bytes, an end or an error.
    readable: bool,
    /// Whether the connection accepts no more bytes at the moment, because it took only a part of the last write.
    is_blocked: bool,
    received: Vec<u8>,
    /// Whether the peer closed its sending side.
    end: bool,
    /// Whether the machine must be informed about received bytes, or about the end of the stream.
    has_news: bool,
    /// Bytes that the driver took from the machine and has not written yet.
    unwritten_bytes: Vec<u8>,
    /// Whether the machine may have more bytes to write.
    has_more: bool,
    close_state: CloseState,
}

/// The phase of a connection's setup.
#[derive(Debug, Clone, Copy)]
pub(super) enum ConnectionPhase<P> {
    Connecting,
    /// A peer has connected, but the machine does not know of the connection yet.
    Accepted(P),
    Up,
}

/// The step that follows when all bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CloseState {
    Open,
    Finish,
    Finished,
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteOutcome {
    Open,
    /// All bytes are written, so the caller closes the connection.
    Closed,
}

impl<C: Connection, P: Copy> Stream<C, P> {
    pub(super) const fn new(connection: C, phase: ConnectionPhase<P>) -> Self {
        Self {
            connection,
            phase,
            failed: None,
            must_check: false,
            readable: true,
            is_blocked: false,
            received: Vec::new(),
            end: false,
            has_news: false,
            unwritten_bytes: Vec::new(),
            has_more: false,
            close_state: CloseState::Open,
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.close_state == CloseState::Close
    }

    pub(super) fn on_change(&mut self) {
        self.must_check = true;
        self.readable = true;
        self.is_blocked = false;
    }

    pub(super) fn fail(&mut self, why: CloseReason) {
        self.failed = Some(why);
    }

    pub(super) fn input(&self) -> (&[u8], bool) {
        (&self.received, self.end)
    }

    pub(super) fn receive_again(&mut self) {
        self.has_news = self.end || !self.received.is_empty();
        // The peer may have reset the connection after it sent the bytes.
        self.must_check = true;
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.received.drain(..count.min(self.received.len()));
    }

    /// Requests to close this node's sending side after all bytes are written. Returns whether all bytes are already
    /// written.
    pub(super) fn finish(&mut self) -> bool {
        if self.close_state == CloseState::Open {
            self.close_state = CloseState::Finish;
        }
        self.is_written()
    }

    /// Requests to close the connection after all bytes are written. Returns whether all bytes are already written.
    pub(super) fn close(&mut self) -> bool {
        self.close_state = CloseState::Close;
        self.has_more = false;
        self.is_written()
    }

    fn is_connecting(&self) -> bool {
        matches!(self.phase, ConnectionPhase::Connecting)
    }

    fn is_written(&self) -> bool {
        !self.is_connecting() && !self.has_more && self.unwritten_bytes.is_empty()
    }

    pub(super) fn next_event(&mut self) -> Option<IoEvent<P>> {
        if let Some(why) = self.failed {
            return Some(IoEvent::Closed(why));
        }
        match self.phase {
            ConnectionPhase::Accepted(from) => {
                self.phase = ConnectionPhase::Up;
                return Some(IoEvent::Accepted(from));
            }
            ConnectionPhase::Connecting => {
                return match self.connection.check_established() {
                    Ok(()) => {
                        self.phase = ConnectionPhase::Up;
                        Some(IoEvent::Connected)
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => None,
                    Err(error) => Some(IoEvent::Closed(reason(&error))),
                };
            }
            ConnectionPhase::Up => {}
        }
        if let Err(error) = self.read() {
            return Some(IoEvent::Closed(reason(&error)));
        }
        if mem::take(&mut self.has_news) {
            return Some(IoEvent::Received);
        }
        let is_wanted = !self.is_written() || self.close_state == CloseState::Finish;
        (!self.is_blocked && is_wanted).then_some(IoEvent::Writable)
    }

    /// Reads available bytes until the receive buffer is full. The check for a reset comes after the read. If the peer
    /// reset the connection, the bytes that it sent before the reset must not count.
    fn read(&mut self) -> io::Result<()> {
        let mut has_read = false;
        while self.readable && !self.end && self.received.len() < RECEIVE_BUFFER_MAX {
            let len = self.received.len();
            let room = FIRST_READ_MAX.max(len).min(RECEIVE_BUFFER_MAX - len);
            self.received.extend_from_slice(&ZEROS[..room]);
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
        self.has_news |= has_read;
        if mem::take(&mut self.must_check) || has_read {
            self.connection.check_reset()?;
        }
        Ok(())
    }

    /// Writes until the connection takes no more bytes or all bytes are written.
    pub(super) fn write(
        &mut self,
        fill: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> io::Result<WriteOutcome> {
        self.has_more = true;
        if self.is_connecting() || self.is_blocked {
            return Ok(WriteOutcome::Open);
        }
        loop {
            while !self.unwritten_bytes.is_empty() {
                match self.connection.write(&self.unwritten_bytes) {
                    Ok(count) => drop(self.unwritten_bytes.drain(..count)),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        self.is_blocked = true;
                        return Ok(WriteOutcome::Open);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            self.unwritten_bytes
                .extend_from_slice(&ZEROS[..WRITE_CHUNK]);
            let count = fill(&mut self.unwritten_bytes);
            self.unwritten_bytes.truncate(count);
            if self.unwritten_bytes.is_empty() {
                break;
            }
        }
        self.has_more = false;
        if matches!(self.close_state, CloseState::Finish | CloseState::Close) {
            match self.connection.write_end() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.is_blocked = true;
                    return Ok(WriteOutcome::Open);
                }
                written => written?,
            }
        }
        match self.close_state {
            CloseState::Open | CloseState::Finished => Ok(WriteOutcome::Open),
            CloseState::Finish => {
                self.connection.finish()?;
                self.close_state = CloseState::Finished;
                Ok(WriteOutcome::Open)
            }
            CloseState::Close => Ok(WriteOutcome::Closed),
        }
    }
}
