//! Probes a silent daemon, so that its user learns that it is stopped or hangs.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ring_control::Reply;
use ring_proto::time::Instant;
use ring_runtime::clock;

use super::client::{self, Plain};
use super::render::{self, Obstacle};

/// Maximum silence before the daemon is probed.
const QUIET: Duration = Duration::from_secs(1);
/// Maximum time for the answer to a probe before the user is told.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time from such an answer to the next probe, and from one look at what the token waits for to the next.
const AGAIN: Duration = Duration::from_secs(1);
/// How long the user waits for the token before being told why.
const PATIENT: Duration = Duration::from_secs(2);

/// What the user is told of a wait for the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reasons {
    /// Each reason, also that another program has the token.
    All,
    /// Only what does not pass by itself.
    Lasting {
        /// Whether the token is of use only with a quorum.
        requires_quorum: bool,
    },
}

/// When the user is told why the token does not come, and what was told last.
struct Explanations {
    at: Instant,
    of: Reasons,
    told: Option<String>,
}

/// Waits for one daemon, and probes it.
pub(super) struct Prober<'a> {
    socket: &'a Path,
    phase: Phase,
    /// `None`: the user is not told why the token does not come.
    explanations: Option<Explanations>,
}

enum Phase {
    /// The next probe is at this time.
    Quiet(Instant),
    /// It was probed, if it accepted, and has until then for an answer.
    Asked(Option<UnixStream>, Instant),
    /// It has not answered, and the user knows.
    Told(Option<UnixStream>),
}

impl<'a> Prober<'a> {
    /// Makes a prober for the daemon at `socket`, which was asked for something now.
    pub(super) fn new(socket: &'a Path) -> Self {
        Self {
            socket,
            phase: Phase::Quiet(clock::now().monotonic + QUIET),
            explanations: None,
        }
    }

    /// Makes a prober for the daemon at `socket`, which was asked for the token: it also tells the user what the
    /// token waits for, and again when that changes.
    pub(super) fn explaining(socket: &'a Path, of: Reasons) -> Self {
        Self {
            explanations: Some(Explanations {
                at: clock::now().monotonic + PATIENT,
                of,
                told: None,
            }),
            ..Self::new(socket)
        }
    }

    /// The token has come: from now on the prober looks only into the daemon's silence.
    pub(super) fn stop_explaining(&mut self) {
        *self = Self::new(self.socket);
    }

    /// Waits until `fd` is readable, until `by` at most. Returns whether it is.
    pub(super) fn wait(&mut self, fd: impl AsFd, by: Option<Instant>) -> io::Result<bool> {
        loop {
            let now = clock::now().monotonic;
            let until = [by, self.phase.ends(), self.explains()];
            let until = until.into_iter().flatten().min();
            let (is_readable, has_answered) = self.phase.poll(fd.as_fd(), until, now)?;
            if is_readable {
                self.phase.heard();
                return Ok(true);
            }
            let now = clock::now().monotonic;
            if has_answered {
                self.phase = Phase::Quiet(now + AGAIN);
            }
            if by.is_some_and(|by| by <= now) {
                return Ok(false);
            }
            if self.phase.ends().is_some_and(|at| at <= now) {
                self.go_on(now);
            }
            if self.explains().is_some_and(|at| at <= now) {
                self.explain();
            }
        }
    }

    /// When to tell the user why the token does not come: not while a probe is unanswered, since a daemon that may
    /// be stopped explains nothing, and at once when it is answered late.
    fn explains(&self) -> Option<Instant> {
        let is_quiet = matches!(self.phase, Phase::Quiet(_));
        let explanations = self.explanations.as_ref().filter(|_| is_quiet);
        explanations.map(|explanations| explanations.at)
    }

    fn explain(&mut self) {
        let Some(explanations) = &mut self.explanations else {
            return;
        };
        let obstacle = obstacle(self.socket, explanations.of);
        let (reason, since) = obstacle.map(|it| (it.text, it.since)).unzip();
        if let Some(reason) = reason.as_ref().filter(|_| reason != explanations.told) {
            let since = since.unwrap_or_default();
            // Where nobody can be told it waits all the same.
            let _ = writeln!(
                io::stderr(),
                "ringctl: waiting for the token: {reason}{since}"
            );
        }
        explanations.told = reason;
        explanations.at = clock::now().monotonic + AGAIN;
    }

    fn go_on(&mut self, now: Instant) {
        let next = match &mut self.phase {
            Phase::Quiet(_) => match client::probe(self.socket) {
                Ok(probe) => Phase::Asked(Some(probe), now + PATIENCE),
                // It does not accept connections.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    Phase::Asked(None, now + PATIENCE)
                }
                // Its socket's file is gone, which says nothing about an open connection.
                Err(_) => Phase::Quiet(now + AGAIN),
            },
            Phase::Asked(probe, _) => {
                // Where nobody can be told it waits all the same.
                let _ = writeln!(
                    io::stderr(),
                    "ringctl: waiting for ringd at {}, which does not answer: it is stopped, or hangs",
                    self.socket.display()
                );
                Phase::Told(probe.take())
            }
            Phase::Told(_) => return,
        };
        self.phase = next;
    }
}

/// Asks the daemon what the token waits for.
fn obstacle(socket: &Path, of: Reasons) -> Option<Obstacle> {
    let Ok(Reply::Status(status)) = client::ask(socket, &Plain::Status) else {
        return None;
    };
    let view = render::view(status).ok()?;
    match of {
        Reasons::All => view.obstacle(false),
        Reasons::Lasting { requires_quorum } => {
            view.obstacle(requires_quorum).filter(|it| it.is_lasting)
        }
    }
}

impl Phase {
    /// The daemon has said something on another connection.
    fn heard(&mut self) {
        if let Self::Quiet(at) = self {
            *at = clock::now().monotonic + QUIET;
        }
    }

    const fn ends(&self) -> Option<Instant> {
        match self {
            Self::Quiet(at) | Self::Asked(_, at) => Some(*at),
            Self::Told(_) => None,
        }
    }

    /// Waits until then, and returns whether `fd` is readable and whether the probe was answered.
    fn poll(
        &self,
        fd: BorrowedFd<'_>,
        until: Option<Instant>,
        now: Instant,
    ) -> io::Result<(bool, bool)> {
        let mut waiting = vec![PollFd::new(fd, PollFlags::POLLIN)];
        if let Self::Asked(Some(probe), _) | Self::Told(Some(probe)) = self {
            waiting.push(PollFd::new(probe.as_fd(), PollFlags::POLLIN));
        }
        let timeout = until.map_or(PollTimeout::NONE, |until| {
            // Rounded up to whole milliseconds.
            let left = until.since(now).as_nanos().div_ceil(1_000_000);
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
        });
        match poll(&mut waiting, timeout) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok((false, false)),
            Err(error) => return Err(error.into()),
        }
        let is_ready = |at: usize| waiting.get(at).and_then(PollFd::any).unwrap_or(false);
        Ok((is_ready(0), is_ready(1)))
    }
}
