//! One client of the control socket.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use crate::control::{FramingError, LineBuffer, Request};
use crate::proto::time::Instant;
use crate::sys::Interest;

/// How long a client may take to send its request, and to take its reply.
const PATIENCE: Duration = Duration::from_secs(5);

/// What becomes of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It is waited for.
    Wait(Interest),
    /// It is gone, or has to go.
    Close,
}

/// A client with at most one request in flight. The memory that it takes is bounded: a request's
/// buffer, and a share in a reply.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    input: LineBuffer,
    output: Option<Output>,
    deadline: Instant,
}

/// A reply, and how much of it is written.
#[derive(Debug)]
struct Output {
    line: Rc<[u8]>,
    written: usize,
    /// The client is to go once it has this.
    last: bool,
}

impl Client {
    /// A client that has just come.
    ///
    /// # Errors
    /// The stream cannot be made non-blocking.
    pub fn new(stream: UnixStream, now: Instant) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            input: LineBuffer::new(),
            output: None,
            deadline: now + PATIENCE,
        })
    }

    /// The stream, to wait for.
    pub const fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// When its patience is at an end.
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Does what can be done without waiting: one read, one request and one write at most.
    pub fn serve(
        &mut self,
        now: Instant,
        answer: impl FnOnce(Result<Request, FramingError>) -> Rc<[u8]>,
    ) -> Next {
        match self.step(now, answer) {
            Ok(next) => next,
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.waiting(),
            Err(error) if error.kind() == ErrorKind::Interrupted => self.waiting(),
            Err(_) => Next::Close,
        }
    }

    fn step(
        &mut self,
        now: Instant,
        answer: impl FnOnce(Result<Request, FramingError>) -> Rc<[u8]>,
    ) -> io::Result<Next> {
        if self.output.is_none() {
            if !self.input.has_line() {
                let len = self.stream.read(self.input.space())?;
                if len == 0 {
                    return Ok(Next::Close);
                }
                self.input.fill(len);
            }
            if let Some(request) = self.input.next_line() {
                let last = matches!(request, Err(FramingError::TooLong));
                let line = answer(request);
                self.output = Some(Output {
                    line,
                    written: 0,
                    last,
                });
                self.deadline = now + PATIENCE;
            }
        }
        self.write(now)
    }

    fn write(&mut self, now: Instant) -> io::Result<Next> {
        if let Some(output) = &mut self.output {
            output.written += self.stream.write(&output.line[output.written..])?;
            if output.written == output.line.len() {
                let last = output.last;
                self.output = None;
                self.deadline = now + PATIENCE;
                if last {
                    return Ok(Next::Close);
                }
            }
        }
        Ok(self.waiting())
    }

    /// What it is to be waited for with.
    fn waiting(&self) -> Next {
        // A request that has come already is answered as soon as the client takes replies.
        if self.output.is_some() || self.input.has_line() {
            Next::Wait(Interest::Write)
        } else {
            Next::Wait(Interest::Read)
        }
    }
}
