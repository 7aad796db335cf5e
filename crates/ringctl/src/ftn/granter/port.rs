//! The granter's end of the conversation with its keeper.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use ring_control::{FramingError, LineBuffer, Reply, to_line};
use ring_runtime::net::ancillary;
use serde::de::DeserializeOwned;

/// The longest request, with a list of servers in it, in bytes.
const LONGEST: usize = 64 << 10;

/// Requests with descriptors in, replies out.
pub(super) struct Port {
    stream: UnixStream,
    lines: LineBuffer<LONGEST>,
    descriptors: Vec<OwnedFd>,
    has_ended: bool,
}

impl Port {
    /// A conversation over standard input, a socket.
    pub(super) fn of_stdin() -> io::Result<Self> {
        Ok(Self {
            stream: UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?),
            lines: LineBuffer::new(),
            descriptors: Vec::new(),
            has_ended: false,
        })
    }

    /// Waits for the first request; `None`: the other end is closed.
    pub(super) fn wait<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            match self.next() {
                Some(Ok(request)) => return Ok(Some(request)),
                Some(Err(error)) => return Err(io::Error::other(error)),
                None if self.has_ended => return Ok(None),
                None => self.receive(),
            }
        }
    }

    /// Receives what there is, or waits for something. An error counts as the end.
    pub(super) fn receive(&mut self) {
        let space = self.lines.space();
        match ancillary::receive(&self.stream, space, &mut self.descriptors) {
            Ok(len @ 1..) => self.lines.fill(len),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => self.has_ended = true,
        }
    }

    /// The next request of those received, or that it is none that is known here.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Option<Result<T, FramingError>> {
        match self.lines.next_line()? {
            // Nothing sensible can follow.
            Err(FramingError::TooLong) => {
                self.has_ended = true;
                None
            }
            line => Some(line),
        }
    }

    /// The descriptors that have come, for who keeps some of them.
    pub(super) const fn descriptors(&mut self) -> &mut Vec<OwnedFd> {
        &mut self.descriptors
    }

    /// Whether nothing more will come.
    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Says something. That nobody hears it is found out by receiving.
    pub(super) fn say(&mut self, reply: &Reply) {
        if let Ok(line) = to_line(reply) {
            let _ = self.stream.write_all(&line);
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
