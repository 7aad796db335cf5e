//! Ends a tree of processes: SIGTERM first, then SIGKILL.

use std::time::Duration;

use ring_process::group::Hidden;
use ring_proto::time::Instant;

use super::tree::{Killed, Survivor, Tree};
use ring_client::lease::Lease;

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(10);
/// The same while a process cannot be ended.
const LONG_LOOK: Duration = Duration::from_millis(100);
/// How long after SIGKILL a process may still be on its way out. One that hangs in the kernel runs no
/// further instruction of its own, but a write that it had begun (on NFS) may still take effect, after
/// the lock was given back: only the resource can refuse it (`docs/fencing.md`).
const LAST_BREATH: Duration = Duration::from_secs(2);

/// A tree of processes that is being ended.
#[derive(Debug)]
pub(super) struct Ending {
    told: Instant,
    kill_at: Option<Instant>,
    /// When all processes were killed.
    killed: Option<Instant>,
    /// Since when it is unknown whether all were.
    unknown: Option<Instant>,
    /// Processes that may not be killed.
    outlived_by: Option<Survivor>,
}

impl Ending {
    /// Sends the tree SIGTERM.
    pub(super) fn begin(tree: &Tree, now: Instant) -> Self {
        tree.terminate();
        Self {
            told: now,
            kill_at: None,
            killed: None,
            unknown: None,
            outlived_by: None,
        }
    }

    /// Goes on with it, and returns whether it is over.
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
    fn note_kill(&mut self, outcome: Killed, now: Instant) {
        self.outlived_by = None;
        if self.killed.is_some() {
            return;
        }
        match outcome {
            Killed::All => self.killed = Some(now),
            Killed::AllBut(survivor) => self.outlived_by = Some(survivor),
            Killed::Unknown { hidden } => {
                let since = *self.unknown.get_or_insert(now);
                // By then those that died of it are gone, but for zombies that nobody waits for; none of
                // another user, hidden behind them, is among those that are not known.
                if now.since(since) >= LAST_BREATH {
                    match hidden {
                        Hidden::OutOfReach => self.outlived_by = Some(Survivor(None)),
                        Hidden::Unknown | Hidden::Nothing => self.killed = Some(since),
                    }
                }
            }
        }
    }

    /// Returns the processes that go on because they may not be killed.
    pub(super) const fn outlived_by(&self) -> Option<Survivor> {
        self.outlived_by
    }

    /// Whether nothing of the tree runs, or ever will again.
    pub(super) const fn is_dead(&self) -> bool {
        self.killed.is_some()
    }

    /// Returns when to go on.
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
    use ring_proto::time::Instant;

    use super::{Ending, LAST_BREATH};
    use crate::keeper::tree::{Killed, Survivor, Tree};
    use ring_process::group::Hidden;

    const START: Instant = Instant::from_nanos(0);
    const SUDO: Survivor = Survivor(Some(Pid::from_raw(42)));

    fn ending() -> Ending {
        Ending::begin(&Tree::default(), START)
    }

    #[test]
    fn what_may_not_be_killed_is_not_dead_and_is_looked_at_again() {
        let mut ending = ending();
        ending.note_kill(Killed::AllBut(SUDO), START);
        assert!(!ending.is_dead());
        assert_eq!(ending.outlived_by(), Some(SUDO));
        let later = START + LAST_BREATH * 2;
        assert!(ending.next(later) > later);
        ending.note_kill(Killed::All, later);
        assert!(ending.is_dead());
        assert_eq!(ending.outlived_by(), None);
    }

    #[test]
    fn what_dies_of_a_kill_counts_as_dead() {
        let mut ending = ending();
        ending.note_kill(Killed::All, START);
        ending.note_kill(Killed::AllBut(SUDO), START + LAST_BREATH / 2);
        assert!(ending.is_dead());
        assert_eq!(ending.outlived_by(), None);
    }

    #[test]
    fn what_is_hidden_is_not_dead_before_all_others_are_gone() {
        for (hidden, is_dead) in [(Hidden::Unknown, true), (Hidden::OutOfReach, false)] {
            let mut ending = ending();
            ending.note_kill(Killed::Unknown { hidden }, START);
            assert!(!ending.is_dead());
            assert_eq!(ending.outlived_by(), None);
            ending.note_kill(Killed::Unknown { hidden }, START + LAST_BREATH);
            assert_eq!(ending.is_dead(), is_dead);
            assert_eq!(ending.outlived_by().is_some(), !is_dead);
        }
    }
}
