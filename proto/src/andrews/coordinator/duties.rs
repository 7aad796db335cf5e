//! What a coordinator has to do (`docs/board.md`, sections 5, 6 and 9). It ends when the row names another.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::time::Instant;

/// What a node has asked of the coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberRequest {
    /// A place in the ring.
    Join,
    /// That its successor be taken out: the one that it had when it asked.
    Remove(u32),
    /// It cannot reach this coordinator, its successor: it is taken out itself, and joins elsewhere.
    Leave,
}

#[derive(Debug)]
pub(crate) struct Duties {
    /// When this node became coordinator.
    since: Instant,
    /// Whether a token was missed for so long already that one is made at once.
    is_overdue: bool,
    is_beat_due: bool,
    /// When somebody was last taken out for a node.
    removals: BTreeMap<u32, Instant>,
    /// One a node.
    requests: BTreeMap<u32, MemberRequest>,
    served: u32,
}

impl Duties {
    pub(crate) const fn new(since: Instant, is_overdue: bool) -> Self {
        Self {
            since,
            is_overdue,
            is_beat_due: false,
            removals: BTreeMap::new(),
            requests: BTreeMap::new(),
            served: 0,
        }
    }

    pub(crate) const fn on_poll(&mut self) {
        self.is_beat_due = true;
    }

    pub(crate) const fn take_beat_due(&mut self) -> bool {
        std::mem::replace(&mut self.is_beat_due, false)
    }

    pub(crate) fn ask(&mut self, node: u32, request: MemberRequest) {
        self.requests.insert(node, request);
    }

    /// The next that was asked, in turns.
    pub(crate) fn next_member_request(&mut self) -> Option<(u32, MemberRequest)> {
        let after = self.requests.range(self.served.saturating_add(1)..).next();
        let node = after
            .or(self.requests.first_key_value())
            .map(|(&id, _)| id)?;
        self.served = node;
        Some((node, self.requests.remove(&node)?))
    }

    /// Whether somebody was taken out for a node less than `period` ago.
    pub(crate) fn has_removed_for(&self, node: u32, now: Instant, period: Duration) -> bool {
        let at = self.removals.get(&node);
        at.is_some_and(|&at| now.since(at) < period)
    }

    pub(crate) fn removed_for(&mut self, node: u32, now: Instant, period: Duration) {
        self.removals.retain(|_, at| now.since(*at) < period);
        self.removals.insert(node, now);
    }

    /// When a token is made if none is seen; it was last at `seen`.
    pub(crate) fn token_due(&self, seen: Option<Instant>, silence: Duration) -> Instant {
        if self.is_overdue {
            return self.since;
        }
        let since = seen.map_or(self.since, |seen| seen.max(self.since));
        since + silence
    }

    /// A token is there, or on its way to be.
    pub(crate) const fn token_seen(&mut self) {
        self.is_overdue = false;
    }
}
