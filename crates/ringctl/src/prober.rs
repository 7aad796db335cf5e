//! Probes a daemon that is silent, and prints the reason for a long wait.

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

use super::client::{self, CommonRequest};
use super::render::{self, Obstacle};

/// If no message arrives for this time, `ringctl` probes the daemon.
const PROBE_AFTER: Duration = Duration::from_secs(1);
/// If the daemon does not answer a probe within this time, `ringctl` prints a warning.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// Time between an answer and the next probe, and between two checks of the obstacle.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which the reason for a wait for the token is printed.
const EXPLAIN_AFTER: Duration = Duration::from_secs(2);

/// The kinds of reasons that are printed during a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reasons {
    /// All reasons, including the reason that another program holds the token.
    All,
    /// Only reasons that last until a person acts.
    Lasting { requires_quorum: bool },
}

/// The time at which the reason is checked again, and the last text that was printed.
struct ExplanationSchedule {
    at: Instant,
    /// The lock that is waited for, as in `the token`.
    lock: String,
    reasons: Reasons,
    last_text: Option<String>,
}

/// A prober: it probes one daemon while `ringctl` waits for the daemon.
pub(super) struct Prober<'a> {
    socket: &'a Path,
    phase: Phase,
    /// The schedule for explanations. `None` if the reasons for a wait are not printed.
    explanations: Option<ExplanationSchedule>,
}

enum Phase {
    /// No probe is under way. The next probe starts at this time.
    Idle(Instant),
    /// A probe waits for an answer until this time. The connection is `None` if the daemon does not accept connections.
    Probing(Option<UnixStream>, Instant),
    /// The probe was not answered, and the warning was printed.
    Reported(Option<UnixStream>),
}

impl<'a> Prober<'a> {
    /// Creates a prober for the daemon at `socket`. The daemon has just received a request.
    pub(super) fn new(socket: &'a Path) -> Self {
        Self {
            socket,
            phase: Phase::Idle(clock::now().monotonic + PROBE_AFTER),
            explanations: None,
        }
    }

    /// Creates a prober for a request for a lock, such as `the token`. The prober also prints the obstacle that delays
    /// the lock, and each change of the obstacle.
    pub(super) fn new_explaining(socket: &'a Path, lock: String, reasons: Reasons) -> Self {
        Self {
            explanations: Some(ExplanationSchedule {
                at: clock::now().monotonic + EXPLAIN_AFTER,
                lock,
                reasons,
                last_text: None,
            }),
            ..Self::new(socket)
        }
    }

    /// Stops the explanations, because the lock was granted. After this call, the prober only probes.
    pub(super) fn stop_explaining(&mut self) {
        *self = Self::new(self.socket);
    }

    /// Waits until `fd` is readable, but at most until `by`. Returns whether `fd` is readable.
    pub(super) fn wait(&mut self, fd: impl AsFd, by: Option<Instant>) -> io::Result<bool> {
        loop {
            let now = clock::now().monotonic;
            let until = [by, self.phase.ends_at(), self.explain_at()];
            let until = until.into_iter().flatten().min();
            let (is_readable, has_answered) = self.phase.poll(fd.as_fd(), until, now)?;
            if is_readable {
                self.phase.on_message();
                return Ok(true);
            }
            let now = clock::now().monotonic;
            if has_answered {
                self.phase = Phase::Idle(now + RETRY_INTERVAL);
            }
            if by.is_some_and(|by| by <= now) {
                return Ok(false);
            }
            if self.phase.ends_at().is_some_and(|at| at <= now) {
                self.advance(now);
            }
            if self.explain_at().is_some_and(|at| at <= now) {
                self.explain();
            }
        }
    }

    /// Returns the time of the next explanation. While a probe is unanswered, returns no time, because the daemon would
    /// not answer a question about the obstacle either. If the answer to the probe is late, the explanation follows it
    /// at once.
    fn explain_at(&self) -> Option<Instant> {
        let is_idle = matches!(self.phase, Phase::Idle(_));
        let explanations = self.explanations.as_ref().filter(|_| is_idle);
        explanations.map(|explanations| explanations.at)
    }

    fn explain(&mut self) {
        let Some(explanations) = &mut self.explanations else {
            return;
        };
        let obstacle = ask_obstacle(self.socket, explanations.reasons);
        let (reason, since) = obstacle.map(|it| (it.text, it.since)).unzip();
        if let Some(reason) = reason.as_ref().filter(|_| reason != explanations.last_text) {
            let since = since.unwrap_or_default();
            // If this cannot be printed, `ringctl` still waits.
            let _ = writeln!(
                io::stderr(),
                "ringctl: waiting for {}: {reason}{since}",
                explanations.lock
            );
        }
        explanations.last_text = reason;
        explanations.at = clock::now().monotonic + RETRY_INTERVAL;
    }

    fn advance(&mut self, now: Instant) {
        let next = match &mut self.phase {
            Phase::Idle(_) => match client::probe(self.socket) {
                Ok(probe) => Phase::Probing(Some(probe), now + ANSWER_TIMEOUT),
                // The daemon does not accept connections.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    Phase::Probing(None, now + ANSWER_TIMEOUT)
                }
                // The file of the socket was removed, but the open connection may still work.
                Err(_) => Phase::Idle(now + RETRY_INTERVAL),
            },
            Phase::Probing(probe, _) => {
                // If this cannot be printed, `ringctl` still waits.
                let _ = writeln!(
                    io::stderr(),
                    "ringctl: waiting for ringd at {}, which does not answer: it is stopped, or hangs",
                    self.socket.display()
                );
                Phase::Reported(probe.take())
            }
            Phase::Reported(_) => return,
        };
        self.phase = next;
    }
}

fn ask_obstacle(socket: &Path, reasons: Reasons) -> Option<Obstacle> {
    let Ok(Reply::Status(status)) = client::ask(socket, &CommonRequest::Status) else {
        return None;
    };
    let view = render::view(status).ok()?;
    match reasons {
        Reasons::All => view.obstacle(false),
        Reasons::Lasting { requires_quorum } => {
            view.obstacle(requires_quorum).filter(|it| it.is_lasting)
        }
    }
}

impl Phase {
    /// Delays the next probe, because a message arrived on the connection of the waiting request.
    fn on_message(&mut self) {
        if let Self::Idle(at) = self {
            *at = clock::now().monotonic + PROBE_AFTER;
        }
    }

    const fn ends_at(&self) -> Option<Instant> {
        match self {
            Self::Idle(at) | Self::Probing(_, at) => Some(*at),
            Self::Reported(_) => None,
        }
    }

    /// Waits until the time `until`. Returns whether `fd` is readable and whether the probe was answered.
    fn poll(
        &self,
        fd: BorrowedFd<'_>,
        until: Option<Instant>,
        now: Instant,
    ) -> io::Result<(bool, bool)> {
        let mut waiting = vec![PollFd::new(fd, PollFlags::POLLIN)];
        if let Self::Probing(Some(probe), _) | Self::Reported(Some(probe)) = self {
            waiting.push(PollFd::new(probe.as_fd(), PollFlags::POLLIN));
        }
        let timeout = until.map_or(PollTimeout::NONE, |until| {
            // Rounds up, because a shorter wait would end before the deadline.
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
