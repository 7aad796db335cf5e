//! Members that were removed from the table: tables of others that still tell of them do not bring
//! them back for a while.

use std::cmp::Reverse;
use std::time::Duration;

use ring_codec::MacAddr;

use crate::throttle::Throttle;
use crate::time::Instant;

/// The most that are remembered, by their number: the latest.
const MOST: usize = 4096;

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) mac: MacAddr,
    /// Until when no table brings it back.
    pub(super) until: Instant,
    /// All are to be told that it was removed: nobody was yet, or somebody has missed it.
    pub(super) tell: bool,
}

/// Those of the recent past, by MAC.
#[derive(Debug, Clone, Default)]
pub(super) struct Removed {
    pub(super) entries: Vec<Entry>,
    /// Telling all of some.
    pub(super) told: Throttle,
}

impl Removed {
    /// Members were removed.
    pub(super) fn add(&mut self, macs: &[MacAddr], now: Instant, until: Instant, tell: bool) {
        self.entries
            .retain(|entry| entry.until > now && !macs.contains(&entry.mac));
        let new = macs.iter().map(|&mac| Entry { mac, until, tell });
        self.entries.extend(new);
        if self.entries.len() > MOST {
            self.entries.sort_by_key(|entry| Reverse(entry.until));
            self.entries.truncate(MOST);
        }
        self.entries.sort_unstable_by_key(|entry| entry.mac);
    }

    /// A table tells of a member: whether it is to stay away. Who tells of it has missed that.
    pub(super) fn keeps_out(&mut self, mac: MacAddr, now: Instant) -> bool {
        if self.entries.is_empty() {
            return false;
        }
        let found = self.entries.binary_search_by_key(&mac, |entry| entry.mac);
        let entry = found.ok().map(|at| &mut self.entries[at]);
        let entry = entry.filter(|entry| entry.until > now);
        entry.is_some_and(|entry| {
            entry.tell = true;
            true
        })
    }

    /// A frame of a member has come: it is back.
    pub(super) fn is_back(&mut self, mac: MacAddr) {
        if !self.entries.is_empty() {
            self.entries.retain(|entry| entry.mac != mac);
        }
    }

    /// Whether all are to be told of one, at most once in a period.
    pub(super) fn is_to_be_told(&self, now: Instant, period: Duration) -> bool {
        let mut open = self.entries.iter();
        self.told.is_open(now, period) && open.any(|entry| entry.tell && entry.until > now)
    }

    /// The next `most` that all are to be told of; they count as told.
    pub(super) fn take_untold(&mut self, most: usize, now: Instant) -> Vec<MacAddr> {
        self.told.note(now);
        let open = |entry: &&mut Entry| entry.tell && entry.until > now;
        let told = self.entries.iter_mut().filter(open).take(most);
        told.map(|entry| {
            entry.tell = false;
            entry.mac
        })
        .collect()
    }
}
