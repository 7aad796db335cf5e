//! Probes a silent daemon, so that its user learns that it is stopped or hangs.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ring_proto::time::Instant;

use super::client;
use crate::control::{NodeStatus, Reply, Request, Status, harmless};
use crate::sys::clock;

/// Maximum silence before the daemon is probed.
const QUIET: Duration = Duration::from_secs(1);
/// Maximum time for the answer to a probe before the user is told.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time from such an answer to the next probe.
const AGAIN: Duration = Duration::from_secs(1);
/// How long the user waits for the token before being told why.
const PATIENT: Duration = Duration::from_secs(2);

/// Waits for one daemon, and probes it.
pub(super) struct Prober<'a> {
    socket: &'a Path,
    phase: Phase,
    /// When to tell the user why the token does not come; `None`: not at all.
    explains_at: Option<Instant>,
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
            explains_at: None,
        }
    }

    /// Makes a prober for the daemon at `socket`, which was asked for the token: it also tells the user what the
    /// token waits for.
    pub(super) fn explaining(socket: &'a Path) -> Self {
        Self {
            explains_at: Some(clock::now().monotonic + PATIENT),
            ..Self::new(socket)
        }
    }

    /// The token has come: from now on the prober looks only into the daemon's silence.
    pub(super) fn stop_explaining(&mut self) {
        *self = Self::new(self.socket);
    }

    /// Waits until `fd` is readable, until `by` at most. Returns whether it is.
    ///
    /// # Errors
    /// The system cannot wait.
    pub(super) fn wait(&mut self, fd: impl AsFd, by: Option<Instant>) -> io::Result<bool> {
        loop {
            let now = clock::now().monotonic;
            let until = [by, self.phase.ends(), self.explains_at];
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
            if self.explains_at.is_some_and(|at| at <= now) {
                self.explain(now);
            }
        }
    }

    fn explain(&mut self, now: Instant) {
        if !matches!(self.phase, Phase::Quiet(_)) {
            // A daemon that may be stopped explains nothing.
            self.explains_at = Some(now + PATIENT);
            return;
        }
        self.explains_at = None;
        if let Ok(Reply::Status(NodeStatus::Lab2(status))) =
            client::ask(self.socket, &Request::Status)
        {
            let why = obstacle(&status);
            // Where nobody can be told it waits all the same.
            let _ = writeln!(io::stderr(), "ringctl: waiting for the token: {why}");
        }
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

/// Returns why the token does not come at once.
fn obstacle(status: &Status) -> String {
    let holder = status.clients.iter().find(|client| client.holds);
    match (&status.owner, holder) {
        _ if status.link != "up" => format!("{} has no link", status.interface),
        _ if !status.stored => {
            "ringd cannot write its state file, and this node owns nothing until it \
             can"
            .to_owned()
        }
        (_, Some(holder)) => {
            let label = harmless(&holder.label);
            format!("held by {label} on this machine")
        }
        _ if status.paused => "this node is paused; ringctl resume ends that".to_owned(),
        _ if status.unfit => "no member takes the token from this node, which therefore owns \
             nothing; ringctl resume ends that"
            .to_owned(),
        (Some(owner), None) if *owner == status.mac => format!(
            "this node owns the token, and may not grant it yet; its grade is {}",
            status.grade
        ),
        (Some(owner), None) => format!("held by {owner}"),
        (None, None) if status.deaf => "no owner is known: this node hears nobody".to_owned(),
        (None, None) => "no owner is known".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::obstacle;
    use crate::control::Status;
    use crate::ctl::render::tests::example;

    /// Changes what a status shows.
    type Change = fn(&mut Status);

    #[test]
    fn what_keeps_the_token_from_its_user_is_said() {
        let of: [(Change, &str); 8] = [
            (|it| it.link = "is down".to_owned(), "eth0 has no link"),
            (|it| it.stored = false, "cannot write its state file"),
            (|it| it.paused = true, "paused; ringctl resume"),
            (|it| it.unfit = true, "no member takes the token"),
            (
                |it| it.owner = Some(it.mac.clone()),
                "this node owns the token, and may not grant it yet; its grade is alone",
            ),
            (|_| {}, "held by 02:00:00:00:00:02"),
            (|it| (it.owner, it.deaf) = (None, true), "hears nobody"),
            (|it| it.owner = None, "no owner is known"),
        ];
        for (is_so, part) in of {
            let mut status = example();
            status.clients.clear();
            is_so(&mut status);
            let said = obstacle(&status);
            assert!(said.contains(part), "{said}");
        }
    }
}
