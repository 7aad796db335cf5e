//! One end of a conversation in lines of JSON.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ring_control::{Reply, to_line};
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_runtime::net::ancillary;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Maximum length of a line, in bytes. A keeper and its parent may name files in theirs, whose names may be
/// longer than any request to a daemon, and data of 32 KiB in hexadecimal digits.
const LONGEST: usize = 128 << 10;
/// Maximum length of a daemon's line: far more than the status of the largest ring, or a system's data.
const LONGEST_OF_DAEMON: usize = 64 << 20;
/// Bytes read at a time.
const PART: usize = 16 << 10;

/// A stream of lines, both ways. Skips lines that this version does not know: a later version may say more.
#[derive(Debug)]
pub struct Lines {
    stream: UnixStream,
    /// Received bytes that were not taken yet; grows with them.
    bytes: Vec<u8>,
    /// How many of them are known to contain no end of a line.
    searched: usize,
    longest: usize,
    ended: bool,
}

impl Lines {
    /// Makes a conversation over `stream`, which blocks.
    pub const fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            bytes: Vec::new(),
            searched: 0,
            longest: LONGEST,
            ended: false,
        }
    }

    /// Makes a conversation with a daemon.
    pub fn with_daemon(stream: UnixStream) -> Self {
        Self {
            longest: LONGEST_OF_DAEMON,
            ..Self::new(stream)
        }
    }

    /// Sends `message`.
    ///
    /// # Errors
    /// The other end is gone.
    pub fn send<T: Serialize>(&mut self, message: &T) -> io::Result<()> {
        let line = to_line(message).map_err(io::Error::other)?;
        self.stream.write_all(&line)
    }

    /// Sends `message` with descriptors.
    ///
    /// # Errors
    /// The other end is gone, or there are too many descriptors.
    pub fn send_with<T: Serialize>(
        &mut self,
        message: &T,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let line = to_line(message).map_err(io::Error::other)?;
        let sent = ancillary::send(&self.stream, &line, descriptors)?;
        self.stream.write_all(&line[sent..])
    }

    /// Reads what there is, or waits for something. An error counts as the end.
    pub fn fill(&mut self) {
        let mut part = [0; PART];
        match self.stream.read(&mut part) {
            Ok(0) => self.ended = true,
            Ok(len) => self.bytes.extend_from_slice(&part[..len]),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted) => {}
            Err(_) => self.ended = true,
        }
    }

    /// Does the same, but waits until `by` at most, if there is one. Returns `false` if nothing came by then.
    ///
    /// # Errors
    /// The system cannot wait.
    pub fn fill_by(&mut self, by: Option<Instant>) -> io::Result<bool> {
        if let Some(by) = by {
            let left = by.since(clock::now().monotonic);
            // Rounded up to whole milliseconds.
            let left = left.as_millis().saturating_add(1);
            let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut readable = [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN)];
            match poll(&mut readable, left) {
                Ok(0) => return Ok(clock::now().monotonic < by),
                Err(Errno::EINTR) => return Ok(true),
                other => other?,
            };
        }
        self.fill();
        Ok(true)
    }

    /// Takes the next line of those received, without its end.
    pub fn next_line(&mut self) -> Option<Vec<u8>> {
        let rest = &self.bytes[self.searched..];
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            self.searched = self.bytes.len();
            self.ended |= self.searched > self.longest;
            return None;
        };
        let mut line: Vec<u8> = self.bytes.drain(..=self.searched + end).collect();
        self.searched = 0;
        line.pop();
        Some(line)
    }

    /// Takes the next message of those received.
    pub fn next_message<T: DeserializeOwned>(&mut self) -> Option<T> {
        while let Some(line) = self.next_line() {
            if let Ok(message) = serde_json::from_slice(&line) {
                return Some(message);
            }
        }
        None
    }

    /// Waits for the next message; `None`: the other end has closed.
    pub fn wait<T: DeserializeOwned>(&mut self) -> Option<T> {
        loop {
            if let Some(message) = self.next_message() {
                return Some(message);
            }
            if self.ended {
                return None;
            }
            self.fill();
        }
    }

    /// Reads replies until one is the last, or nothing has come for `patience`.
    ///
    /// # Errors
    /// The system refuses what every process may do.
    pub fn wait_for(
        &mut self,
        patience: Duration,
        is_last: impl Fn(&Reply) -> bool,
    ) -> io::Result<()> {
        self.stream.set_read_timeout(Some(patience))?;
        while let Some(reply) = self.wait() {
            if is_last(&reply) {
                break;
            }
        }
        Ok(())
    }

    /// Whether nothing more will come.
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    /// The stream itself.
    pub const fn stream(&self) -> &UnixStream {
        &self.stream
    }
}

impl AsFd for Lines {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
