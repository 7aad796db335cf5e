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
use ring_control::{FramingError, LineBuffer, Reply, Request, Right, SystemRequest, to_line};
use ring_process::passed_descriptors::{self, ClientKind, ClientStream};
use ring_proto::time::Instant;
use ring_runtime::net::ancillary;
use ring_runtime::wait::{Interest, Poller};

use ring_process::{Client, ClientId};

/// Maximum time in which a client must send its request. A client must also read the reply within this time.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of unread bytes of a client, in addition to one reply.
const UNREAD_MAX: usize = 64 << 10;

/// The server's next action for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextAction {
    Wait(Interest),
    Close,
}

/// A client's connection. The memory of a connection is limited to one request, one reply and some unsolicited
/// messages.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: ClientStream,
    credentials: Option<UnixCredentials>,
    /// The right that the client has, because it connected to this socket.
    right: Right,
    input: LineBuffer,
    /// Descriptors that arrived with a request that is still incomplete.
    descriptors: Vec<OwnedFd>,
    /// Whether the client may send descriptors.
    accepts_descriptors: bool,
    output: VecDeque<Rc<[u8]>>,
    /// Number of bytes of the first line in `output` that are already written.
    written: usize,
    /// Number of bytes in `output`.
    unread: usize,
    /// Whether the connection closes after all output is written.
    closes_when_written: bool,
    /// Whether the client may be silent without a time limit. This applies to a client that holds a lock, waits for a
    /// lock, or watches events.
    may_be_silent: bool,
    deadline: Instant,
    /// The event for which the poller waits.
    awaited: Interest,
}

impl Connection {
    pub(crate) fn new(stream: UnixStream, right: Right, now: Instant) -> io::Result<Self> {
        let credentials = getsockopt(&stream, PeerCredentials).ok();
        let stream = ClientStream::new(stream, user_id(credentials), client_kind(right));
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            credentials,
            right,
            input: LineBuffer::new(),
            descriptors: Vec::new(),
            accepts_descriptors: false,
            output: VecDeque::new(),
            written: 0,
            unread: 0,
            closes_when_written: false,
            may_be_silent: false,
            deadline: now + REQUEST_TIMEOUT,
            awaited: Interest::Read,
        })
    }

    /// Adds the client to a poller. The poller waits for the first request of the client.
    pub(crate) fn add_to(&self, poller: &Poller, key: u64) -> io::Result<()> {
        poller.add(self.stream(), key, self.awaited)
    }

    /// Makes the poller wait for `event` of the client.
    pub(crate) fn await_event(
        &mut self,
        poller: &Poller,
        key: u64,
        event: Interest,
    ) -> io::Result<()> {
        // Call the poller only if the event changes, because each change is a system call.
        if self.awaited != event {
            poller.modify(self.stream(), key, event)?;
            self.awaited = event;
        }
        Ok(())
    }

    pub(crate) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    pub(crate) const fn right(&self) -> Right {
        self.right
    }

    /// Returns the client's process and user, if the kernel knows them.
    pub(crate) fn client(&self, id: ClientId) -> Client {
        Client {
            id,
            pid: self.credentials.map(|it| it.pid()),
            uid: self.credentials.map(|it| it.uid()),
        }
    }

    /// Returns the time by which the client must act; `None` if the client has no time limit.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        (!self.may_be_silent || !self.output.is_empty()).then_some(self.deadline)
    }

    pub(crate) fn set_lasting(&mut self, may_be_silent: bool, now: Instant) {
        self.accepts_descriptors &= may_be_silent;
        if self.may_be_silent && !may_be_silent {
            self.deadline = now + REQUEST_TIMEOUT;
        }
        self.may_be_silent = may_be_silent;
    }

    /// Accepts descriptors from the client, until the client no longer has the permission to be silent.
    pub(crate) const fn accept_descriptors(&mut self) {
        self.accepts_descriptors = true;
    }

    /// Works without waiting: makes at most one read, handles at most one request, and writes as much as the stream
    /// takes.
    ///
    /// `answer` gets a request and its descriptors. It takes the descriptors that it wants to keep, and returns the
    /// reply. It returns `None` if the reply follows later. After a client has hung up, this function drops those of
    /// its requests that may be executed only while the client waits.
    pub(crate) fn serve<O: SystemRequest>(
        &mut self,
        now: Instant,
        hung_up: bool,
        answer: impl FnOnce(Result<Request<O>, FramingError>, &mut Vec<OwnedFd>) -> Option<Rc<[u8]>>,
    ) -> NextAction {
        let try_serve = self.try_serve(now, hung_up, answer);
        self.next_of(try_serve)
    }

    /// Sends an unsolicited message. If the client does not read, closes the connection.
    pub(crate) fn send(&mut self, now: Instant, line: Rc<[u8]>) -> NextAction {
        if self.unread > UNREAD_MAX {
            return NextAction::Close;
        }
        self.enqueue(now, line);
        let written = self.write(now);
        self.next_of(written)
    }

    fn next_of(&self, try_serve: io::Result<NextAction>) -> NextAction {
        match try_serve {
            Ok(next) => next,
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.next_wait(),
            Err(error) if error.kind() == ErrorKind::Interrupted => self.next_wait(),
            Err(_) => NextAction::Close,
        }
    }

    fn try_serve<O: SystemRequest>(
        &mut self,
        now: Instant,
        hung_up: bool,
        answer: impl FnOnce(Result<Request<O>, FramingError>, &mut Vec<OwnedFd>) -> Option<Rc<[u8]>>,
    ) -> io::Result<NextAction> {
        if self.output.is_empty() {
            if !self.input.has_line() {
                let space = self.input.space();
                let (len, with_descriptors) = ancillary::peek(&self.stream, space)?;
                if len == 0 {
                    return Ok(NextAction::Close);
                }
                let len = if !with_descriptors {
                    // Read only the bytes before the first byte with descriptors.
                    (&*self.stream).read(&mut space[..len])?
                } else if !self.accepts_descriptors {
                    return self.refuse(now, "only the holder of the token may send descriptors");
                } else if !passed_descriptors::has_room(user_id(self.credentials)) {
                    return self.refuse(
                        now,
                        "too many descriptors of this user are still being closed",
                    );
                } else {
                    ancillary::receive(&self.stream, space, &mut self.descriptors)?
                };
                if self.descriptors.len() > ancillary::DESCRIPTORS_MAX {
                    return self.refuse(now, "too many descriptors in one request");
                }
                self.input.mark_filled(len);
            }
            if let Some(request) = self.input.next_line() {
                self.closes_when_written = matches!(request, Err(FramingError::TooLong));
                let is_wanted = !hung_up || !request.as_ref().is_ok_and(Request::needs_its_client);
                let line = is_wanted
                    .then(|| answer(request, &mut self.descriptors))
                    .flatten();
                passed_descriptors::close(
                    user_id(self.credentials),
                    mem::take(&mut self.descriptors),
                );
                if let Some(line) = line {
                    self.enqueue(now, line);
                }
                self.deadline = now + REQUEST_TIMEOUT;
            }
        }
        self.write(now)
    }

    /// Sends the reason and closes the connection. Does not read the client's bytes, because a read would wait until
    /// the kernel has closed the descriptors that came with the bytes.
    fn refuse(&mut self, now: Instant, why: &str) -> io::Result<NextAction> {
        let line = to_line(&Reply::Error(why.to_owned())).unwrap_or_default();
        self.enqueue(now, line.into());
        self.closes_when_written = true;
        self.write(now)
    }

    fn enqueue(&mut self, now: Instant, line: Rc<[u8]>) {
        if self.output.is_empty() {
            self.deadline = now + REQUEST_TIMEOUT;
        }
        self.unread += line.len();
        self.output.push_back(line);
    }

    fn write(&mut self, now: Instant) -> io::Result<NextAction> {
        while let Some(line) = self.output.front() {
            self.written += (&*self.stream).write(&line[self.written..])?;
            if self.written == line.len() {
                self.unread -= line.len();
                self.written = 0;
                self.output.pop_front();
                self.deadline = now + REQUEST_TIMEOUT;
            }
        }
        Ok(if self.closes_when_written {
            NextAction::Close
        } else {
            self.next_wait()
        })
    }

    /// Returns the event that the poller must wait for.
    fn next_wait(&self) -> NextAction {
        // If a request waits, the server answers it as soon as the client reads earlier replies.
        if !self.output.is_empty() || self.input.has_line() {
            NextAction::Wait(Interest::Write)
        } else {
            NextAction::Wait(Interest::Read)
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        passed_descriptors::close(user_id(self.credentials), mem::take(&mut self.descriptors));
    }
}

/// Returns the kind of a client that has this right.
pub(crate) const fn client_kind(right: Right) -> ClientKind {
    match right {
        Right::Read => ClientKind::Monitor,
        Right::Act => ClientKind::User,
    }
}

fn user_id(credentials: Option<UnixCredentials>) -> u32 {
    credentials.map_or(u32::MAX, |it| it.uid())
}
