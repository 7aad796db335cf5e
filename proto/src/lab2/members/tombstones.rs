//! Tombstones of members that were removed from the table. A tombstone has an expiry time. Until this time, the tables
//! of other members do not bring the removed member back.

use std::cmp::Reverse;
use std::time::Duration;

use ring_codec::MacAddr;

use crate::throttle::Throttle;
use crate::time::Instant;

/// The maximum number of tombstones. If more members are removed, the list keeps the tombstones that expire last.
const TOMBSTONES_MAX: usize = 4096;

/// Record of a removed member.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) struct Tombstone {
    pub(super) mac: MacAddr,
    /// Time until which tables do not bring the member back.
    pub(super) until: Instant,
    /// Whether this node must announce the removal again, because some members missed the announcement.
    pub(super) is_unannounced: bool,
}

/// Recent tombstones, sorted by MAC.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Tombstones {
    pub(super) entries: Vec<Tombstone>,
    /// Limit on FORGET broadcasts.
    pub(super) announcements: Throttle,
}

impl Tombstones {
    pub(super) fn add(
        &mut self,
        macs: &[MacAddr],
        now: Instant,
        until: Instant,
        is_unannounced: bool,
    ) {
        self.entries
            .retain(|entry| entry.until > now && !macs.contains(&entry.mac));
        let new = macs.iter().map(|&mac| Tombstone {
            mac,
            until,
            is_unannounced,
        });
        self.entries.extend(new);
        if self.entries.len() > TOMBSTONES_MAX {
            self.entries.sort_by_key(|entry| Reverse(entry.until));
            self.entries.truncate(TOMBSTONES_MAX);
        }
        self.entries.sort_unstable_by_key(|entry| entry.mac);
    }

    /// Returns whether a tombstone forbids adding a member from another member's table. If a tombstone forbids this,
    /// this node will announce the removal again.
    pub(super) fn block_return(&mut self, mac: MacAddr, now: Instant) -> bool {
        // Usually there are no tombstones, but a table names many members.
        if self.entries.is_empty() {
            return false;
        }
        let found = self.entries.binary_search_by_key(&mac, |entry| entry.mac);
        let entry = found.ok().map(|at| &mut self.entries[at]);
        let entry = entry.filter(|entry| entry.until > now);
        entry.is_some_and(|entry| {
            // The sender of the table has missed the FORGET.
            entry.is_unannounced = true;
            true
        })
    }

    /// Deletes the tombstone of a member that this node hears again.
    pub(super) fn mark_returned(&mut self, mac: MacAddr) {
        if !self.entries.is_empty() {
            self.entries.retain(|entry| entry.mac != mac);
        }
    }

    /// Whether this node must now announce a removal. Announcements are allowed once per period.
    pub(super) fn has_unannounced(&self, now: Instant, period: Duration) -> bool {
        let mut open = self.entries.iter();
        self.announcements.is_allowed(now, period)
            && open.any(|entry| entry.is_unannounced && entry.until > now)
    }

    /// Returns removals that this node must announce, but at most `most`. These removals count as announced from now
    /// on.
    pub(super) fn take_unannounced(&mut self, most: usize, now: Instant) -> Vec<MacAddr> {
        self.announcements.record(now);
        let open = |entry: &&mut Tombstone| entry.is_unannounced && entry.until > now;
        let announcements = self.entries.iter_mut().filter(open).take(most);
        announcements
            .map(|entry| {
                entry.is_unannounced = false;
                entry.mac
            })
            .collect()
    }
}
