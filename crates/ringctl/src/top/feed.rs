//! Asks the daemon again and again, and receives its events, in a separate thread.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use ring_client::daemon::connect;
use ring_client::lines::Lines;
use ring_control::lab2::{NamedLockStatus, RingRequest};
use ring_control::{EventMessage, NodeStatus, Reply, Request};
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_text::format_duration;

use super::super::Error;
use super::super::client::{CommonRequest, HUNG_UP_TEXT};

/// If the daemon does not answer within this time, it counts as lost. A daemon in good health answers within
/// milliseconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Time between two attempts to reach a lost daemon.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of updates that wait for the display. If the queue is full, this client reads no more messages, so
/// that the daemon notices a slow client.
const UPDATES_MAX: usize = 64;

/// News from the daemon.
pub(super) enum Update {
    /// The answers to one round of requests.
    Answers {
        status: NodeStatus,
        /// The named locks; empty if the system has none.
        locks: Vec<NamedLockStatus>,
    },
    Event(EventMessage),
    /// The daemon does not answer.
    Lost(Error),
}

/// A connection to the daemon.
pub(super) struct Feed {
    socket: PathBuf,
    interval: Duration,
    lines: Lines,
}

/// The requests of one connection.
struct Exchange<'a> {
    lines: Lines,
    interval: Duration,
    /// The time of the oldest request without an answer.
    asked: Option<Instant>,
    next: Instant,
    /// The status of this round, if the named locks of this round have not arrived yet.
    status: Option<NodeStatus>,
    is_lost: bool,
    send: &'a dyn Fn(Update) -> Result<(), Gone>,
}

/// The receiver of the updates has ended.
struct Gone;

impl Feed {
    /// Connects to the daemon at `socket`.
    ///
    /// # Errors
    /// Fails if the daemon cannot be reached.
    pub(super) fn connect(socket: &Path, interval: Duration) -> Result<Self, Error> {
        Ok(Self {
            socket: socket.to_owned(),
            interval,
            lines: connect(socket)?,
        })
    }

    /// Starts the thread. The thread converts each update with `convert`, and passes it to a channel. It ends with the
    /// process, or when the channel is closed.
    pub(super) fn start<T: Send + 'static>(
        self,
        sender: SyncSender<T>,
        convert: impl Fn(Update) -> T + Send + 'static,
    ) {
        thread::spawn(move || {
            let send = |update| sender.send(convert(update)).map_err(|_| Gone);
            // An error means that the display has ended and the channel is closed.
            let _ = self.run(&send);
        });
    }

    fn run(self, send: &dyn Fn(Update) -> Result<(), Gone>) -> Result<(), Gone> {
        let mut lines = Ok(self.lines);
        loop {
            let error = match lines {
                Ok(lines) => Exchange::new(lines, self.interval, send).run()?,
                Err(error) => Error::Connect(error),
            };
            send(Update::Lost(error))?;
            thread::sleep(RETRY_INTERVAL);
            lines = connect(&self.socket);
        }
    }
}

impl<'a> Exchange<'a> {
    fn new(lines: Lines, interval: Duration, send: &'a dyn Fn(Update) -> Result<(), Gone>) -> Self {
        Self {
            lines,
            interval,
            asked: None,
            next: clock::now().monotonic,
            status: None,
            is_lost: false,
            send,
        }
    }

    /// Asks the daemon until the connection ends. Returns the reason for the end.
    fn run(&mut self) -> Result<Error, Gone> {
        let watch = CommonRequest::Watch {
            from: None,
            turns: false,
        };
        // Ignore errors: a daemon that cannot serve another client closes the connection, but sends an answer before.
        let _ = self.lines.send(&watch);
        loop {
            while let Some(line) = self.lines.next_line() {
                // Skip unknown replies, because a later version of the daemon may send more kinds of replies.
                if let Ok(reply) = serde_json::from_slice(&line)
                    && let Some(refusal) = self.on_reply(reply)?
                {
                    return Ok(refusal);
                }
            }
            if self.lines.has_ended() {
                return Ok(Error::Gone(HUNG_UP_TEXT.to_owned()));
            }
            let now = clock::now().monotonic;
            if self.asked.is_none() && self.next <= now {
                let _ = self.lines.send(&CommonRequest::Status);
                self.asked = Some(now);
                self.next = now + self.interval;
            }
            if let Err(error) = self.receive(now)? {
                return Ok(Error::Gone(error.to_string()));
            }
        }
    }

    /// Waits for bytes, for the time of the next request, or for the time at which the daemon counts as lost.
    fn receive(&mut self, now: Instant) -> Result<io::Result<()>, Gone> {
        let lost_at = self.asked.map(|asked| asked + ANSWER_TIMEOUT);
        let until = match lost_at {
            None => Some(self.next),
            // Do not send the request again to a lost daemon: after a stall, it would have to answer all these
            // requests.
            Some(_) if self.is_lost => None,
            Some(at) => Some(at),
        };
        let has_bytes = match self.lines.fill_by(until) {
            Ok(has_bytes) => has_bytes,
            Err(error) => return Ok(Err(error)),
        };
        if !has_bytes && lost_at.is_some_and(|at| at <= now.max(clock::now().monotonic)) {
            self.is_lost = true;
            let waited = format_duration(ANSWER_TIMEOUT);
            let text = format!("ringd sent nothing for {waited}: it is stopped, or hangs");
            (self.send)(Update::Lost(Error::Gone(text)))?;
        }
        Ok(Ok(()))
    }

    /// Handles a reply. Returns the reason if the daemon refuses to answer.
    fn on_reply(&mut self, reply: Reply) -> Result<Option<Error>, Gone> {
        match (reply, self.status.take()) {
            (Reply::Status(status), _) if status.system().is_none() => {
                self.status = Some(status);
                let _ = self.lines.send(&Request::System(RingRequest::Locks));
            }
            (Reply::Locks(locks), Some(status)) => {
                let locks = locks.iter().filter_map(|lock| lock.decode().ok());
                self.on_answers(status, locks.collect())?;
            }
            // The answer to the request for named locks may be an error. Other systems have no named locks, and earlier
            // versions of the daemon do not know the request.
            (Reply::Status(status), _) | (Reply::Error(_), Some(status)) => {
                self.on_answers(status, Vec::new())?;
            }
            (Reply::Error(why), None) => return Ok(Some(Error::Refused(why))),
            (other, status) => {
                self.status = status;
                if let Reply::Event(event) = other {
                    (self.send)(Update::Event(event))?;
                }
            }
        }
        Ok(None)
    }

    fn on_answers(&mut self, status: NodeStatus, locks: Vec<NamedLockStatus>) -> Result<(), Gone> {
        self.asked = None;
        self.is_lost = false;
        (self.send)(Update::Answers { status, locks })
    }
}

/// Makes the channel for updates.
pub(super) fn channel<T>() -> (SyncSender<T>, std::sync::mpsc::Receiver<T>) {
    sync_channel(UPDATES_MAX)
}
