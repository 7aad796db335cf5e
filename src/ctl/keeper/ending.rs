//! Ending a tree of processes: telling first, killing then.

use std::time::Duration;

use nix::unistd::Pid;

use super::lease::Lease;
use super::tree::Tree;
use crate::proto::time::Instant;

/// How often is looked whether it is over.
const LOOK: Duration = Duration::from_millis(10);
/// The same for what may last.
const LONG_LOOK: Duration = Duration::from_millis(100);
/// How long after SIGKILL a process may still be on its way out. One that hangs in the kernel runs no
/// instruction of its own any more, but a write that it had begun (on NFS) may still take effect, after
/// the lock was given back: only the resource can refuse it (`docs/fencing.md`).
const LAST_BREATH: Duration = Duration::from_secs(2);

/// A tree of processes that is being ended.
#[derive(Debug)]
pub(super) struct Ending {
    told: Instant,
    kill_at: Option<Instant>,
    /// When all was killed.
    killed: Option<Instant>,
    /// A process that may not be.
    outlived_by: Option<Pid>,
}

impl Ending {
    /// Tells the tree to end.
    pub(super) fn begin(tree: &Tree, now: Instant) -> Self {
        tree.terminate();
        Self {
            told: now,
            kill_at: None,
            killed: None,
            outlived_by: None,
        }
    }

    /// Goes on with it. True: it is over.
    pub(super) fn go_on(
        &mut self,
        tree: &Tree,
        lease: &Lease,
        grace: Duration,
        now: Instant,
    ) -> bool {
        let kill_at = lease.kill_at(self.told, grace);
        self.kill_at = Some(kill_at);
        if now >= kill_at {
            self.note_kill(tree.kill(), now);
        }
        let is_given_up = |killed| now.since(killed) >= LAST_BREATH;
        tree.is_empty() || self.killed.is_some_and(is_given_up)
    }

    /// A process that may not be killed holds all up until it ends by itself. Once all were, those that
    /// seem to be out of reach are on their way out.
    fn note_kill(&mut self, outlived_by: Option<Pid>, now: Instant) {
        self.outlived_by = outlived_by.filter(|_| self.killed.is_none());
        if self.outlived_by.is_none() {
            self.killed.get_or_insert(now);
        }
    }

    /// The process that goes on because it may not be killed.
    pub(super) const fn outlived_by(&self) -> Option<Pid> {
        self.outlived_by
    }

    /// Whether nothing of the tree runs any more, or will.
    pub(super) const fn is_dead(&self) -> bool {
        self.killed.is_some()
    }

    /// When to go on.
    pub(super) fn next(&self, now: Instant) -> Instant {
        if self.outlived_by.is_some() {
            return now + LONG_LOOK;
        }
        let look = now + LOOK;
        match (self.killed, self.kill_at) {
            (None, Some(kill_at)) => look.min(kill_at),
            _ => look,
        }
    }
}

#[cfg(test)]
mod tests {
    use nix::unistd::Pid;

    use super::{Ending, LAST_BREATH};
    use crate::ctl::keeper::Tree;
    use crate::proto::time::Instant;

    const START: Instant = Instant::from_nanos(0);
    const SUDO: Pid = Pid::from_raw(42);

    fn ending() -> Ending {
        Ending::begin(&Tree::default(), START)
    }

    #[test]
    fn what_may_not_be_killed_is_not_dead_and_is_looked_at_again() {
        let mut ending = ending();
        ending.note_kill(Some(SUDO), START);
        assert!(!ending.is_dead());
        assert_eq!(ending.outlived_by(), Some(SUDO));
        let later = START + LAST_BREATH * 2;
        assert!(ending.next(later) > later);
        ending.note_kill(None, later);
        assert!(ending.is_dead());
        assert_eq!(ending.outlived_by(), None);
    }

    #[test]
    fn what_dies_of_a_kill_counts_as_dead() {
        let mut ending = ending();
        ending.note_kill(None, START);
        ending.note_kill(Some(SUDO), START + LAST_BREATH / 2);
        assert!(ending.is_dead());
        assert_eq!(ending.outlived_by(), None);
    }
}
