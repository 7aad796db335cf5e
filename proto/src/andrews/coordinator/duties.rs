//! The duties of a coordinator (`docs/board/protocol/members.md`, rules S; `failures.md`, rules F; `token.md`, rules
//! T). The duties end when the coordinator's row names another node.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberRequest {
    /// The node asks for a place in the ring.
    Join,
    /// The node asks the coordinator to remove the node's successor. The id is the id of the successor at the time of
    /// the request.
    Remove(u32),
    /// The node that asks has the coordinator as its successor, and cannot reach it. The coordinator then removes the
    /// asking node, and the asking node joins at a different place.
    Leave,
}

#[derive(Debug)]
pub(crate) struct CoordinatorDuties {
    /// The time at which this node became coordinator.
    since: Instant,
    /// Whether the token has been missing for so long that the coordinator makes a new token at once.
    is_overdue: bool,
    is_beat_due: bool,
    /// For each node: the time at which the coordinator last removed the node's successor.
    removals: BTreeMap<u32, Instant>,
    /// The requests of the nodes: at most one request per node.
    requests: BTreeMap<u32, MemberRequest>,
    /// The node whose request the coordinator served last.
    last_served: u32,
}

impl CoordinatorDuties {
    pub(crate) const fn new(since: Instant, is_overdue: bool) -> Self {
        Self {
            since,
            is_overdue,
            // The first beat waits for a poll: the write that made this node coordinator has already changed the row.
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
        // A newer request replaces an older request, because the node's successor may have changed since.
        self.requests.insert(node, request);
    }

    /// Removes and returns the next request. The coordinator serves nodes in the order of their ids, so no node waits
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

    /// Whether the coordinator removed the successor of this node less than `period` ago.
    pub(crate) fn has_removed_for(&self, node: u32, now: Instant, period: Duration) -> bool {
        // The same request after `period` means that the new successor has failed too.
        let at = self.removals.get(&node);
        at.is_some_and(|&at| now.since(at) < period)
    }

    pub(crate) fn note_removal(&mut self, node: u32, now: Instant, period: Duration) {
        // Older entries have no effect. Without this line the map would grow.
        self.removals.retain(|_, at| now.since(*at) < period);
        self.removals.insert(node, now);
    }

    /// Returns the time at which the coordinator makes a new token if it sees no token before that time. `seen` is the
    /// time at which the coordinator last saw a token.
    pub(crate) fn token_due(&self, seen: Option<Instant>, silence: Duration) -> Instant {
        if self.is_overdue {
            // Before its claim, this node has already waited 2 × R for a token.
            return self.since;
        }
        // A new coordinator waits R from its start, even if it saw a token earlier, because the old coordinator may
        // have made a token.
        let since = seen.map_or(self.since, |seen| seen.max(self.since));
        since + silence
    }

    /// Notes that the coordinator has seen a token, and therefore no longer makes a new token at once.
    pub(crate) const fn on_token_seen(&mut self) {
        self.is_overdue = false;
    }
}
