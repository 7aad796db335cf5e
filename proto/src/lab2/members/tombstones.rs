//! Tombstones: members that were removed from the table. For a while, tables of other members do not bring them back.

use std::cmp::Reverse;
use std::time::Duration;

use ring_codec::MacAddr;

use crate::throttle::Throttle;
use crate::time::Instant;

/// The most tombstones. If there are more, the latest are kept.
const TOMBSTONES_MAX: usize = 4096;

/// A removed member.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tombstone {
    pub(super) mac: MacAddr,
    /// Until when tables do not bring it back.
    pub(super) until: Instant,
    /// Whether its removal must be announced, because some members have missed it.
    pub(super) is_unannounced: bool,
}

/// Recent tombstones, sorted by MAC.
#[derive(Debug, Clone, Default)]
pub(super) struct Tombstones {
    pub(super) entries: Vec<Tombstone>,
    /// FORGET broadcasts.
    pub(super) announcements: Throttle,
}

impl Tombstones {
    /// Adds tombstones.
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

    /// Returns whether a member that a table names must stay away. Then its removal is announced again, because the
    /// table's owner has missed it.
    pub(super) fn block_return(&mut self, mac: MacAddr, now: Instant) -> bool {
        if self.entries.is_empty() {
            return false;
        }
        let found = self.entries.binary_search_by_key(&mac, |entry| entry.mac);
        let entry = found.ok().map(|at| &mut self.entries[at]);
        let entry = entry.filter(|entry| entry.until > now);
        entry.is_some_and(|entry| {
            // The sender of the table has missed FORGET.
            entry.is_unannounced = true;
            true
        })
    }

    /// Deletes the tombstone of a member that is heard.
    pub(super) fn mark_returned(&mut self, mac: MacAddr) {
        if !self.entries.is_empty() {
            self.entries.retain(|entry| entry.mac != mac);
        }
    }

    /// Whether a removal must be announced, at most once a period.
    pub(super) fn has_unannounced(&self, now: Instant, period: Duration) -> bool {
        let mut open = self.entries.iter();
        self.announcements.is_allowed(now, period)
            && open.any(|entry| entry.is_unannounced && entry.until > now)
    }

    /// Returns the next removals to announce, at most `most`. They count as announced.
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
