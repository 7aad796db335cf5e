//! Nodes that the list lacks: rows of the database, and senders (`docs/board/operate.md`, "The list").

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use crate::time::Instant;

/// A sender is easy to forge, so the number of remembered senders is limited.
const SENDERS_MAX: usize = 16;

/// Unlisted rows and senders. The node remembers these nodes in order to report each row and each sender only once.
#[derive(Debug, Default)]
pub(crate) struct UnlistedNodes {
    rows: BTreeSet<u32>,
    senders: BTreeMap<u32, Sender>,
}

#[derive(Debug)]
struct Sender {
    from: IpAddr,
    heard: Instant,
}

impl UnlistedNodes {
    /// Replaces the remembered rows with the unlisted rows of a look. Returns the rows that are new.
    pub(crate) fn note_rows(&mut self, rows: BTreeSet<u32>) -> Vec<u32> {
        let before = std::mem::replace(&mut self.rows, rows);
        self.rows.difference(&before).copied().collect()
    }

    /// Notes a sender, and forgets senders that were silent for `period`. Returns whether the sender is new.
    pub(crate) fn note_sender(
        &mut self,
        id: u32,
        from: IpAddr,
        now: Instant,
        period: Duration,
    ) -> bool {
        self.senders.retain(|_, it| now.since(it.heard) < period);
        // A known id with a new address is reported again, because the operator must find both machines.
        let is_known = self.senders.get(&id).is_some_and(|it| it.from == from);
        // Known senders stay: a flood of forged senders must not displace the sender that an operator looks for.
        let has_room = self.senders.len() < SENDERS_MAX || self.senders.contains_key(&id);
        if has_room {
            self.senders.insert(id, Sender { from, heard: now });
        }
        has_room && !is_known
    }

    pub(crate) fn rows(&self) -> Vec<u32> {
        self.rows.iter().copied().collect()
    }

    /// Returns the senders of frames that arrived within the last `period`.
    pub(crate) fn senders(&self, now: Instant, period: Duration) -> Vec<(u32, IpAddr)> {
        // Old senders are removed only when another sender is noted, so the status leaves them out here.
        let recent = self.senders.iter();
        let recent = recent.filter(|(_, it)| now.since(it.heard) < period);
        recent.map(|(&id, it)| (id, it.from)).collect()
    }
}
