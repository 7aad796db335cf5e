//! The granter's connection with its keeper.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use ring_control::{FramingError, LineBuffer, Reply, to_line};
use ring_runtime::net::ancillary;
use serde::de::DeserializeOwned;

/// Maximum length of a request in bytes. A request contains a list of servers.
const REQUEST_MAX: usize = 64 << 10;

/// A connection that receives requests with descriptors, and sends replies.
pub(super) struct KeeperSocket {
    stream: UnixStream,
    lines: LineBuffer<REQUEST_MAX>,
    descriptors: Vec<OwnedFd>,
    has_ended: bool,
}

impl KeeperSocket {
    /// Uses standard input. It is a socket.
    pub(super) fn of_stdin() -> io::Result<Self> {
        Ok(Self {
            stream: UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?),
            lines: LineBuffer::new(),
            descriptors: Vec::new(),
            has_ended: false,
        })
    }

    /// Waits for the first request; `None` if the keeper closed the connection.
    pub(super) fn wait_for_first<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            match self.next() {
                Some(Ok(request)) => return Ok(Some(request)),
                Some(Err(error)) => return Err(io::Error::other(error)),
                None if self.has_ended => return Ok(None),
                None => self.receive(),
            }
        }
    }

    /// Receives the available bytes. If no bytes are available, waits for bytes. An error counts as the end of the
    /// connection.
    pub(super) fn receive(&mut self) {
        let space = self.lines.space();
        match ancillary::receive(&self.stream, space, &mut self.descriptors) {
            Ok(len @ 1..) => self.lines.mark_filled(len),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => self.has_ended = true,
        }
    }

    /// Returns the next received request. Returns an error for an unknown request.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Option<Result<T, FramingError>> {
        match self.lines.next_line()? {
            // The buffer contains only a part of this line. If the connection continued, the rest of the line would
            // count as other requests.
            Err(FramingError::TooLong) => {
                self.has_ended = true;
                None
            }
            line => Some(line),
        }
    }

    /// Returns the descriptors that arrived. The caller removes the descriptors that it wants to keep.
    pub(super) const fn descriptors(&mut self) -> &mut Vec<OwnedFd> {
        &mut self.descriptors
    }

    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Sends a reply. Ignores errors: if the keeper has ended, the next receive detects the end.
    pub(super) fn send(&mut self, reply: &Reply) {
        if let Ok(line) = to_line(reply) {
            let _ = self.stream.write_all(&line);
        }
    }
}

impl AsFd for KeeperSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
