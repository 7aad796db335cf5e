//! One end of a connection that transports lines of JSON.

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

/// Maximum length of a line in bytes. Lines between a keeper and its parent may contain long file names, and 32 KiB
/// of data in hexadecimal digits.
const LINE_MAX: usize = 128 << 10;
/// Maximum length of a daemon's line in bytes. The status of the largest ring is far shorter.
const DAEMON_LINE_MAX: usize = 64 << 20;
const READ_SIZE: usize = 16 << 10;

/// A stream of lines in both directions. The reader skips messages of unknown kinds, because a later version may send
/// new kinds of messages.
#[derive(Debug)]
pub struct Lines {
    stream: UnixStream,
    /// The received bytes that the program has not taken.
    bytes: Vec<u8>,
    /// The number of bytes at the beginning of `bytes` that are known to contain no newline.
    searched: usize,
    line_max: usize,
    ended: bool,
}

impl Lines {
    /// Creates a connection over a blocking stream.
    pub const fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            bytes: Vec::new(),
            searched: 0,
            line_max: LINE_MAX,
            ended: false,
        }
    }

    /// Creates a connection with a daemon. The lines of a daemon may be longer than other lines.
    pub fn with_daemon(stream: UnixStream) -> Self {
        Self {
            line_max: DAEMON_LINE_MAX,
            ..Self::new(stream)
        }
    }

    /// # Errors
    /// Fails if the other end is closed.
    pub fn send<T: Serialize>(&mut self, message: &T) -> io::Result<()> {
        let line = to_line(message).map_err(io::Error::other)?;
        self.stream.write_all(&line)
    }

    /// Sends `message` with descriptors.
    ///
    /// # Errors
    /// Fails if the other end is closed, or there are too many descriptors.
    pub fn send_with<T: Serialize>(
        &mut self,
        message: &T,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let line = to_line(message).map_err(io::Error::other)?;
        let sent = ancillary::send(&self.stream, &line, descriptors)?;
        self.stream.write_all(&line[sent..])
    }

    /// Reads available bytes. If no bytes are available, waits for bytes. If the read fails, the connection counts as
    /// ended.
    pub fn fill(&mut self) {
        let mut part = [0; READ_SIZE];
        match self.stream.read(&mut part) {
            Ok(0) => self.ended = true,
            Ok(len) => self.bytes.extend_from_slice(&part[..len]),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted) => {}
            Err(_) => self.ended = true,
        }
    }

    /// Reads available bytes. If no bytes are available, waits for bytes. If `by` is given, waits at most until `by`.
    /// Returns `false` if no bytes arrived in this time.
    ///
    /// # Errors
    /// Fails if the system cannot wait.
    pub fn fill_by(&mut self, by: Option<Instant>) -> io::Result<bool> {
        if let Some(by) = by {
            let left = by.since(clock::now().monotonic);
            // The wait is rounded up, because a shorter wait would end before `by`.
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

    /// Takes the next received line, without its newline.
    pub fn next_line(&mut self) -> Option<Vec<u8>> {
        let rest = &self.bytes[self.searched..];
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            self.searched = self.bytes.len();
            self.ended |= self.searched > self.line_max;
            return None;
        };
        let mut line: Vec<u8> = self.bytes.drain(..=self.searched + end).collect();
        self.searched = 0;
        line.pop();
        Some(line)
    }

    /// Takes the next received message.
    pub fn next_message<T: DeserializeOwned>(&mut self) -> Option<T> {
        while let Some(line) = self.next_line() {
            if let Ok(message) = serde_json::from_slice(&line) {
                return Some(message);
            }
        }
        None
    }

    /// Waits for the next message. Returns `None` if the other end closed the connection.
    pub fn wait_for_message<T: DeserializeOwned>(&mut self) -> Option<T> {
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

    /// Reads replies until `is_last` accepts a reply, or until no reply arrives for the time `timeout`.
    ///
    /// # Errors
    /// Fails only if a basic system call fails.
    pub fn wait_for(
        &mut self,
        timeout: Duration,
        is_last: impl Fn(&Reply) -> bool,
    ) -> io::Result<()> {
        self.stream.set_read_timeout(Some(timeout))?;
        while let Some(reply) = self.wait_for_message() {
            if is_last(&reply) {
                break;
            }
        }
        Ok(())
    }

    /// Whether the connection ended. Then no more lines will arrive.
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns the stream.
    pub const fn stream(&self) -> &UnixStream {
        &self.stream
    }
}

impl AsFd for Lines {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
