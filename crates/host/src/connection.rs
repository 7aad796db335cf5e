//! The connection of one client of the control socket.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{UnixCredentials, getsockopt};
use ring_control::{FramingError, LineBuffer, OwnRequest, Reply, Request, to_line};
use ring_process::handed::{self, Visitor};
use ring_proto::time::Instant;
use ring_runtime::net::ancillary;
use ring_runtime::wait::Interest;

use ring_process::{Client, ClientId};

/// Maximum time for a client to send its request, and again to read its reply.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum unread bytes of a client, beyond one reply.
const MAX_UNREAD: usize = 64 << 10;

/// What to do with a client next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Wait for it.
    Wait(Interest),
    /// Close its connection.
    Close,
}

/// A client's connection. Its memory is bounded: a buffer for one request, one reply, and a limited amount of
/// unsolicited messages.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Visitor,
    credentials: Option<UnixCredentials>,
    input: LineBuffer,
    /// Descriptors that have come with the incomplete request.
    descriptors: Vec<OwnedFd>,
    /// Takes the descriptors that come.
    accepts: bool,
    /// Lines to be written.
    output: VecDeque<Rc<[u8]>>,
    /// Bytes of the first line that are written already.
    written: usize,
    /// Bytes in `output`.
    unread: usize,
    /// Close the connection once all this is written.
    last: bool,
    /// The client may be silent for any time: it holds or awaits a lock, or watches.
    lasting: bool,
    deadline: Instant,
}

impl Connection {
    /// The connection of a new client.
    pub(crate) fn new(stream: UnixStream, now: Instant) -> io::Result<Self> {
        let credentials = getsockopt(&stream, PeerCredentials).ok();
        let stream = Visitor::new(stream, user(credentials));
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            credentials,
            input: LineBuffer::new(),
            descriptors: Vec::new(),
            accepts: false,
            output: VecDeque::new(),
            written: 0,
            unread: 0,
            last: false,
            lasting: false,
            deadline: now + PATIENCE,
        })
    }

    /// The stream, for a poller.
    pub(crate) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// The client's process and user, as far as the kernel knows them.
    pub(crate) fn client(&self, id: ClientId) -> Client {
        Client {
            id,
            pid: self.credentials.map(|it| it.pid()),
            uid: self.credentials.map(|it| it.uid()),
        }
    }

    /// When the client must have done something; `None`: it has any time.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        (!self.lasting || !self.output.is_empty()).then_some(self.deadline)
    }

    /// Sets whether the client may be silent.
    pub(crate) fn set_lasting(&mut self, lasting: bool, now: Instant) {
        self.accepts &= lasting;
        if self.lasting && !lasting {
            self.deadline = now + PATIENCE;
        }
        self.lasting = lasting;
    }

    /// Takes descriptors that come from now on, until the client may no longer be silent.
    pub(crate) const fn accept_descriptors(&mut self) {
        self.accepts = true;
    }

    /// Does what can be done without waiting: at most one read and one request, and all writes that the stream
    /// takes. `answer` gets a request and the descriptors that came with it, takes those that it keeps, and
    /// returns the reply, or `None` if that follows later. If the client has `hung_up`, only requests that have
    /// an effect without it are answered.
    pub(crate) fn serve<O: OwnRequest>(
        &mut self,
        now: Instant,
        hung_up: bool,
        answer: impl FnOnce(Result<Request<O>, FramingError>, &mut Vec<OwnedFd>) -> Option<Rc<[u8]>>,
    ) -> Next {
        let step = self.step(now, hung_up, answer);
        self.after(step)
    }

    /// Sends an unsolicited message. Closes the connection of a client that reads nothing.
    pub(crate) fn tell(&mut self, now: Instant, line: Rc<[u8]>) -> Next {
        if self.unread > MAX_UNREAD {
            return Next::Close;
        }
        self.queue(now, line);
        let written = self.write(now);
        self.after(written)
    }

    fn after(&self, step: io::Result<Next>) -> Next {
        match step {
            Ok(next) => next,
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.waiting(),
            Err(error) if error.kind() == ErrorKind::Interrupted => self.waiting(),
            Err(_) => Next::Close,
        }
    }

    fn step<O: OwnRequest>(
        &mut self,
        now: Instant,
        hung_up: bool,
        answer: impl FnOnce(Result<Request<O>, FramingError>, &mut Vec<OwnedFd>) -> Option<Rc<[u8]>>,
    ) -> io::Result<Next> {
        if self.output.is_empty() {
            if !self.input.has_line() {
                let space = self.input.space();
                let (len, with_descriptors) = ancillary::peek(&self.stream, space)?;
                if len == 0 {
                    return Ok(Next::Close);
                }
                let len = if !with_descriptors {
                    // As much as is known to come without any.
                    (&*self.stream).read(&mut space[..len])?
                } else if !self.accepts {
                    return self.refuse(now, "only who holds the token may hand descriptors over");
                } else if !handed::has_room(user(self.credentials)) {
                    return self.refuse(now, "too many descriptors of this user are slow to close");
                } else {
                    ancillary::receive(&self.stream, space, &mut self.descriptors)?
                };
                if self.descriptors.len() > ancillary::MOST {
                    return self.refuse(now, "too many descriptors came");
                }
                self.input.fill(len);
            }
            if let Some(request) = self.input.next_line() {
                self.last = matches!(request, Err(FramingError::TooLong));
                let is_wanted = !hung_up || !request.as_ref().is_ok_and(Request::needs_its_client);
                let line = is_wanted
                    .then(|| answer(request, &mut self.descriptors))
                    .flatten();
                handed::close(user(self.credentials), mem::take(&mut self.descriptors));
                if let Some(line) = line {
                    self.queue(now, line);
                }
                self.deadline = now + PATIENCE;
            }
        }
        self.write(now)
    }

    /// Says why the client is let go. What it has sent is left unread: to read it would mean to wait until the
    /// kernel has closed the descriptors that come with it.
    fn refuse(&mut self, now: Instant, why: &str) -> io::Result<Next> {
        let line = to_line(&Reply::Error(why.to_owned())).unwrap_or_default();
        self.queue(now, line.into());
        self.last = true;
        self.write(now)
    }

    fn queue(&mut self, now: Instant, line: Rc<[u8]>) {
        if self.output.is_empty() {
            self.deadline = now + PATIENCE;
        }
        self.unread += line.len();
        self.output.push_back(line);
    }

    fn write(&mut self, now: Instant) -> io::Result<Next> {
        while let Some(line) = self.output.front() {
            self.written += (&*self.stream).write(&line[self.written..])?;
            if self.written == line.len() {
                self.unread -= line.len();
                self.written = 0;
                self.output.pop_front();
                self.deadline = now + PATIENCE;
            }
        }
        Ok(if self.last {
            Next::Close
        } else {
            self.waiting()
        })
    }

    /// What a poller should wait for.
    fn waiting(&self) -> Next {
        // A request that has already come is answered as soon as the client reads replies.
        if !self.output.is_empty() || self.input.has_line() {
            Next::Wait(Interest::Write)
        } else {
            Next::Wait(Interest::Read)
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        handed::close(user(self.credentials), mem::take(&mut self.descriptors));
    }
}

fn user(credentials: Option<UnixCredentials>) -> u32 {
    credentials.map_or(u32::MAX, |it| it.uid())
}
