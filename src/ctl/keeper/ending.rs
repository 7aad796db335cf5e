//! Ending a tree of processes: telling first, killing then.

use std::time::Duration;

use super::lease::Lease;
use super::tree::Tree;
use crate::proto::time::Instant;

/// How often is looked whether it is over.
const LOOK: Duration = Duration::from_millis(10);
/// How long after SIGKILL a process may still be on its way out. One that hangs in the kernel
/// stays, but touches nothing any more.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// A tree of processes that is being ended.
#[derive(Debug)]
pub(super) struct Ending {
    told: Instant,
    kill_at: Option<Instant>,
    killed: Option<Instant>,
}

impl Ending {
    /// Tells the tree to end.
    pub(super) fn begin(tree: &Tree, now: Instant) -> Self {
        tree.terminate();
        Self {
            told: now,
            kill_at: None,
            killed: None,
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
            tree.kill();
            self.killed.get_or_insert(now);
        }
        let is_given_up = |killed| now.since(killed) >= LAST_BREATH;
        tree.is_empty() || self.killed.is_some_and(is_given_up)
    }

    /// Whether nothing of the tree runs any more, or will.
    pub(super) const fn is_dead(&self) -> bool {
        self.killed.is_some()
    }

    /// When to go on.
    pub(super) fn next(&self, now: Instant) -> Instant {
        let look = now + LOOK;
        match (self.killed, self.kill_at) {
            (None, Some(kill_at)) => look.min(kill_at),
            _ => look,
        }
    }
}
