//! The duties of a coordinator (`docs/board.md`, sections 5, 6 and 9). They end when the row names another node.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberRequest {
    /// The node asks for a place in the ring.
    Join,
    /// The node asks the coordinator to remove its successor. The id is the successor that it had when it asked.
    Remove(u32),
    /// The node cannot reach this coordinator, which is its successor. The coordinator removes the node, which then
    /// joins at another place.
    Leave,
}

#[derive(Debug)]
pub(crate) struct CoordinatorDuties {
    /// When this node became coordinator.
    since: Instant,
    /// Whether a token has been missing for long enough that the coordinator makes one at once.
    is_overdue: bool,
    is_beat_due: bool,
    /// When the coordinator last removed the successor of each node.
    removals: BTreeMap<u32, Instant>,
    /// At most one request per node.
    requests: BTreeMap<u32, MemberRequest>,
    /// The node whose request was served last.
    last_served: u32,
}

impl CoordinatorDuties {
    pub(crate) const fn new(since: Instant, is_overdue: bool) -> Self {
        Self {
            since,
            is_overdue,
            is_beat_due: false,
            removals: BTreeMap::new(),
            requests: BTreeMap::new(),
            last_served: 0,
        }
    }

    pub(crate) const fn on_poll(&mut self) {
        self.is_beat_due = true;
    }

    pub(crate) const fn take_beat_due(&mut self) -> bool {
        std::mem::replace(&mut self.is_beat_due, false)
    }

    pub(crate) fn add_request(&mut self, node: u32, request: MemberRequest) {
        self.requests.insert(node, request);
    }

    /// Removes and returns the next request. Nodes are served in the order of their ids, so that none waits
    /// indefinitely.
    pub(crate) fn next_member_request(&mut self) -> Option<(u32, MemberRequest)> {
        let after = self
            .requests
            .range(self.last_served.saturating_add(1)..)
            .next();
        let node = after
            .or(self.requests.first_key_value())
            .map(|(&id, _)| id)?;
        self.last_served = node;
        Some((node, self.requests.remove(&node)?))
    }

    /// Whether the coordinator removed a successor of this node less than `period` ago.
    pub(crate) fn has_removed_for(&self, node: u32, now: Instant, period: Duration) -> bool {
        let at = self.removals.get(&node);
        at.is_some_and(|&at| now.since(at) < period)
    }

    pub(crate) fn note_removal(&mut self, node: u32, now: Instant, period: Duration) {
        self.removals.retain(|_, at| now.since(*at) < period);
        self.removals.insert(node, now);
    }

    /// Returns when the coordinator makes a token, if it sees none until then. `seen` is when it last saw one.
    pub(crate) fn token_due(&self, seen: Option<Instant>, silence: Duration) -> Instant {
        if self.is_overdue {
            return self.since;
        }
        // A new coordinator has seen no token of its own time yet: it waits R from its start, not from an older
        // sighting.
        let since = seen.map_or(self.since, |seen| seen.max(self.since));
        since + silence
    }

    /// Cancels the token that was to be made at once.
    pub(crate) const fn on_token_seen(&mut self) {
        self.is_overdue = false;
    }
}
