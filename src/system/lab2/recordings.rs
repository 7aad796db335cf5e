//! Writes recordings of the last frames and events to files next to the state file.
//!
//! The loop takes a recording from the memory, and a thread writes the file ([`files`]).

mod files;

use std::fmt;
use std::io;
use std::mem;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ring_control::Reply;
use ring_host::observe::RateLimit;
use ring_host::{Jobs, Reaction, Task};
use ring_process::ClientId;
use ring_proto::lab2::{Command, Event, Lab2, Reason, State};
use ring_proto::time::Instant;
use ring_recording::{Recorded, Recording};
use ring_runtime::clock;
use ring_runtime::worker::WakeUp;
use ring_text::format_duration;
use tracing::{info, warn};

pub(super) use self::files::RecordingWriter;
use super::events;

/// The minimum time between two recordings that no operator requested.
const AUTOMATIC_PERIOD: Duration = Duration::from_secs(60);
/// The maximum time that the end of the daemon waits for a recording. A disk may not answer at all.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);
/// The reason for a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    LockLost,
    LeaseExpired,
    TwoOwners,
    Panic,
    /// An operator requested the recording.
    Request(ClientId),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LockLost => "a program lost its lock",
            Self::LeaseExpired => "the lease of the token expired",
            Self::TwoOwners => "this node met a second owner",
            Self::Panic => "the daemon has a bug, and ends",
            Self::Request(_) => "an operator requested it",
        })
    }
}

impl Cause {
    /// Whether an operator requested the recording.
    const fn is_request(self) -> bool {
        matches!(self, Self::Request(_))
    }

    /// Returns the cause if this event shows a problem of which a recording helps to find the origin.
    pub(super) fn of_event(event: &Event) -> Option<Self> {
        let Event::StateChanged {
            from: State::Owner,
            reason,
            ..
        } = event
        else {
            return None;
        };
        match reason {
            Reason::StrongerToken | Reason::BetterBackedOwner => Some(Self::TwoOwners),
            Reason::LeaseExpired => Some(Self::LeaseExpired),
            _ => None,
        }
    }
}

/// The recordings of one node.
#[derive(Debug)]
pub(super) struct Recordings {
    jobs: Jobs<RecordingWriter>,
    rate: RateLimit,
    wanted: Option<Cause>,
    /// The cause of the recording that the thread writes.
    writing: Option<Cause>,
    /// The client whose request has no recording, and the time when this was found.
    refused: Option<(Instant, ClientId)>,
    /// Whether the thread has panicked. Then the node works without recordings.
    is_dead: bool,
    /// The number of lost locks at the last check.
    losses: u64,
}

impl Recordings {
    /// Starts the thread that writes recordings.
    ///
    /// # Errors
    /// Fails if the process has too many files open, or too many threads.
    pub(super) fn start(writer: RecordingWriter) -> io::Result<Self> {
        Ok(Self {
            jobs: Jobs::start(writer)?,
            rate: RateLimit::new(1, AUTOMATIC_PERIOD),
            wanted: None,
            writing: None,
            refused: None,
            is_dead: false,
            losses: 0,
        })
    }

    /// Returns the descriptor that is readable when a recording is written.
    pub(super) const fn bell(&self) -> &Jobs<RecordingWriter> {
        &self.jobs
    }

    /// Silences the bell.
    pub(super) fn on_bell(&self) {
        self.jobs.drain();
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let refused_at = self.refused.map(|(at, _)| at);
        [refused_at, self.jobs.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Handles the request of an operator.
    pub(super) fn on_request(&mut self, client: ClientId) -> Reaction<Command> {
        if self.is_dead {
            return Reaction::error(
                "ringd has a bug, and writes no more recordings; restart ringd",
            );
        }
        if self.writing.is_some() || self.wanted.is_some() || self.refused.is_some() {
            return Reaction::error("ringd is writing a recording; try again when it is written");
        }
        self.wanted = Some(Cause::Request(client));
        Reaction::Later
    }

    /// Handles a problem that the node noticed.
    pub(super) fn on_problem(&mut self, now: Instant, cause: Cause) {
        // The first problem is nearer to the origin than the problems that follow from it.
        if !self.is_dead && self.wanted.is_none() && self.rate.allow(now) {
            self.wanted = Some(cause);
        }
    }

    /// Returns the problem that locks were lost since the last call.
    pub(super) fn check_losses(&mut self, losses: u64) -> Option<Cause> {
        let before = mem::replace(&mut self.losses, losses);
        (losses > before).then_some(Cause::LockLost)
    }

    /// If a recording is wanted, takes it and gives it to the thread.
    pub(super) fn write_wanted(&mut self, now: Instant, machine: &Recorded<Lab2>) {
        if self.writing.is_none()
            && let Some(cause) = self.wanted.take()
        {
            self.begin(now, cause, machine.take_recording());
        }
        self.jobs.post(now);
    }

    fn begin(&mut self, now: Instant, cause: Cause, recording: Option<Recording<Lab2>>) {
        if let Some(recording) = recording {
            self.jobs.add(Job { recording, cause });
            self.writing = Some(cause);
        } else if let Cause::Request(client) = cause {
            self.refused = Some((now, client));
        }
    }

    /// Takes the result of the thread, logs it, and returns the reply for the operator who requested the recording.
    pub(super) fn take_reply(&mut self) -> Option<(ClientId, Reply)> {
        if let Some((_, client)) = self.refused.take() {
            let text = "this node had no input since the last recording".to_owned();
            return Some((client, Reply::Error(text)));
        }
        let cause = self.writing?;
        let written = match self.jobs.next_answer() {
            Ok(answer) => answer?,
            Err(error) => {
                self.is_dead = true;
                self.wanted = None;
                Err(error)
            }
        };
        self.writing = None;
        let reply = log_outcome(cause, written);
        match cause {
            Cause::Request(client) => Some((client, reply)),
            Cause::LockLost | Cause::LeaseExpired | Cause::TwoOwners | Cause::Panic => None,
        }
    }

    /// Waits a bounded time for the end of a recording that is being written, and logs its outcome.
    pub(super) fn finish(&mut self, is_over: &mut dyn FnMut() -> bool) {
        self.jobs.cancel_all();
        let Some(cause) = self.writing.take() else {
            return;
        };
        let end = clock::now().monotonic + FINISH_TIMEOUT;
        self.jobs
            .join(|| is_over() || clock::now().monotonic >= end);
        let answer = self.jobs.next_answer();
        log_outcome(
            cause,
            answer.and_then(|it| it.unwrap_or_else(|| Err(too_slow()))),
        );
    }
}

/// Writes the recording of a daemon that panicked, and waits a bounded time. The loop has ended, so this thread may
/// wait.
pub(super) fn write_after_panic(writer: RecordingWriter, recording: Recording<Lab2>) {
    let cause = Cause::Panic;
    let answer = run_bounded(FINISH_TIMEOUT, move || writer.write(&recording, cause));
    log_outcome(cause, answer.unwrap_or_else(Err));
}

/// Runs a function in a new thread, and returns its result if it returns in this time.
fn run_bounded<T: Send + 'static>(
    timeout: Duration,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (sender, result) = mpsc::channel();
    let thread = thread::Builder::new().name("recording".to_owned());
    // The receiver may have given up.
    thread.spawn(move || drop(sender.send(run())))?;
    result.recv_timeout(timeout).map_err(|_| too_slow())
}

fn too_slow() -> io::Error {
    let text = format!(
        "the disk did not write it within {}",
        format_duration(FINISH_TIMEOUT)
    );
    io::Error::new(io::ErrorKind::TimedOut, text)
}

/// Logs the outcome of a recording. Returns the outcome as a reply.
fn log_outcome(cause: Cause, written: io::Result<PathBuf>) -> Reply {
    let reason = cause.to_string();
    match written {
        Ok(path) => {
            info!(
                event = events::RECORDING_WRITTEN,
                path = %path.display(),
                reason,
                "wrote the last frames and events to {}: {reason}",
                path.display()
            );
            Reply::Dumped { path }
        }
        Err(error) => {
            let text = format!("cannot write a recording of the last frames and events: {error}");
            warn!(event = events::RECORDING_NOT_WRITTEN, reason, "{text}");
            Reply::Error(text)
        }
    }
}

/// A recording that the thread writes.
#[derive(Debug)]
pub(super) struct Job {
    recording: Recording<Lab2>,
    cause: Cause,
}

impl Task for RecordingWriter {
    type Job = Job;
    type Answer = io::Result<PathBuf>;

    fn run_job(&mut self, Job { recording, cause }: Job, _: &WakeUp) -> Self::Answer {
        self.write(&recording, cause)
    }
}

#[cfg(test)]
mod tests;
