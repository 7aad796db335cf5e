//! Ends a tree of processes: SIGTERM first, then SIGKILL.

use std::time::Duration;

use ring_process::group::Hidden;
use ring_proto::time::Instant;

use super::tree::{Killed, Survivor, Tree};
use ring_client::lease::Lease;

const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time between two checks whether a process that cannot be killed has ended.
const SLOW_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum time to wait for killed processes to disappear. A killed process that hangs in the kernel runs no more
/// instructions of its program. But a write that it had begun, for example on NFS, may take effect after the release of
/// the lock. Only the resource can refuse such a late write (`docs/explanation/why-fencing.md`).
const EXIT_GRACE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Termination {
    terminated_at: Instant,
    kill_at: Option<Instant>,
    /// The time at which all processes were killed.
    killed_at: Option<Instant>,
    /// The time at which the outcome of the kill became unknown.
    unknown_since: Option<Instant>,
    survivor: Option<Survivor>,
}

impl Termination {
    pub(super) fn begin(tree: &Tree, now: Instant) -> Self {
        tree.terminate();
        Self {
            terminated_at: now,
            kill_at: None,
            killed_at: None,
            unknown_since: None,
            survivor: None,
        }
    }

    /// Continues the termination, and returns whether it is complete.
    pub(super) fn kill_when_due(
        &mut self,
        tree: &Tree,
        lease: &Lease,
        grace: Duration,
        now: Instant,
    ) -> bool {
        let kill_at = lease.kill_at(self.terminated_at, grace);
        self.kill_at = Some(kill_at);
        if now >= kill_at {
            self.record_kill(tree.kill(), now);
        }
        let is_given_up = |killed| now.since(killed) >= EXIT_GRACE;
        tree.is_empty() || self.killed_at.is_some_and(is_given_up)
    }

    /// Records the outcome of a kill. If a process cannot be killed, the termination lasts until this process ends by
    /// itself. After all processes were killed, ignores later outcomes: a killed process that this process can no
    /// longer signal will soon disappear.
    fn record_kill(&mut self, outcome: Killed, now: Instant) {
        self.survivor = None;
        if self.killed_at.is_some() {
            return;
        }
        match outcome {
            Killed::All => self.killed_at = Some(now),
            Killed::AllBut(survivor) => self.survivor = Some(survivor),
            Killed::Unknown { hidden } => {
                let since = *self.unknown_since.get_or_insert(now);
                // After this time, the killed processes have disappeared, except zombies whose parents do not wait for
                // them. A hidden process of another user would count as out of reach, not as unknown.
                if now.since(since) >= EXIT_GRACE {
                    match hidden {
                        Hidden::OutOfReach => self.survivor = Some(Survivor(None)),
                        Hidden::Unknown | Hidden::Nothing => self.killed_at = Some(since),
                    }
                }
            }
        }
    }

    pub(super) const fn survivor(&self) -> Option<Survivor> {
        self.survivor
    }

    /// Whether all processes of the tree were killed.
    pub(super) const fn is_killed(&self) -> bool {
        self.killed_at.is_some()
    }

    pub(super) fn next_check(&self, now: Instant) -> Instant {
        if self.survivor.is_some() {
            return now + SLOW_POLL_INTERVAL;
        }
        let look = now + POLL_INTERVAL;
        match (self.killed_at, self.kill_at) {
            (None, Some(kill_at)) => look.min(kill_at),
            _ => look,
        }
    }
}

#[cfg(test)]
mod tests {
    use nix::unistd::Pid;
    use ring_proto::time::Instant;

    use super::{EXIT_GRACE, Termination};
    use crate::keeper::tree::{Killed, Survivor, Tree};
    use ring_process::group::Hidden;

    const START: Instant = Instant::from_nanos(0);
    const SUDO: Survivor = Survivor(Some(Pid::from_raw(42)));

    fn termination() -> Termination {
        Termination::begin(&Tree::default(), START)
    }

    #[test]
    fn an_unkillable_process_is_checked_again() {
        let mut termination = termination();
        termination.record_kill(Killed::AllBut(SUDO), START);
        assert!(!termination.is_killed());
        assert_eq!(termination.survivor(), Some(SUDO));
        let later = START + EXIT_GRACE * 2;
        assert!(termination.next_check(later) > later);
        termination.record_kill(Killed::All, later);
        assert!(termination.is_killed());
        assert_eq!(termination.survivor(), None);
    }

    #[test]
    fn a_killed_process_counts_as_dead() {
        let mut termination = termination();
        termination.record_kill(Killed::All, START);
        termination.record_kill(Killed::AllBut(SUDO), START + EXIT_GRACE / 2);
        assert!(termination.is_killed());
        assert_eq!(termination.survivor(), None);
    }

    #[test]
    fn a_hidden_process_is_not_dead_before_the_others_disappear() {
        for (hidden, is_killed) in [(Hidden::Unknown, true), (Hidden::OutOfReach, false)] {
            let mut termination = termination();
            termination.record_kill(Killed::Unknown { hidden }, START);
            assert!(!termination.is_killed());
            assert_eq!(termination.survivor(), None);
            termination.record_kill(Killed::Unknown { hidden }, START + EXIT_GRACE);
            assert_eq!(termination.is_killed(), is_killed);
            assert_eq!(termination.survivor().is_some(), !is_killed);
        }
    }
}
