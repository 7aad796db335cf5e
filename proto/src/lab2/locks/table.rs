//! A table of records. Every member has a copy, and only the owner of the token changes it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::ops::RangeInclusive;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{LOCK_SUMS, LockState, Token};

use super::agreements::TableCopy;
use super::fence;
use super::record::{Key, NO_TOKEN, Record};
use crate::lab2::LockName;
use crate::lab2::machine::Writer;
use crate::time::Instant;

/// The maximum number of records in a table.
const RECORDS_MAX: usize = 16_384;
/// The maximum number of names in a table.
const NAMES_MAX: usize = 1_024;

/// The last change of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Version {
    /// The token under which the owner made the change.
    pub(super) token: Token,
    /// The number of the change under this token.
    pub(super) change: u64,
}

impl Version {
    /// Whether this change was made after `other`.
    pub(super) fn is_newer_than(&self, other: &Self) -> bool {
        self.token.is_stronger_than(&other.token)
            || self.token == other.token && self.change > other.change
    }

    /// Returns the fencing token of the locks that this change grants.
    pub(super) const fn fence(&self) -> Token {
        fence::of_change(self.token, self.change)
    }
}

/// A copy of a table, with indexes for the questions that each frame asks.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Table {
    records: BTreeMap<Key, Record>,
    names: BTreeMap<LockName, OfName>,
    members: BTreeMap<MacAddr, OfMember>,
    /// The names for which sessions wait.
    wanted: BTreeSet<LockName>,
    /// The keys of the records with a flag.
    flagged: BTreeSet<Key>,
    /// The sum of the hashes of all records.
    digest: u64,
    /// The last change. It is `None` if the table never changed.
    version: Option<Version>,
}

/// The records of a name.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
struct OfName {
    held: BTreeSet<Key>,
    /// The tickets and keys of the waiting records.
    waiting: BTreeSet<(u64, Key)>,
}

impl OfName {
    fn is_empty(&self) -> bool {
        self.held.is_empty() && self.waiting.is_empty()
    }
}

/// The records of a member.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
struct OfMember {
    keys: BTreeSet<Key>,
    /// The sum of the hashes of the records.
    digest: u64,
}

impl Table {
    pub(super) const fn digest(&self) -> u64 {
        self.digest
    }

    pub(super) const fn version(&self) -> Option<Version> {
        self.version
    }

    pub(super) const fn copy(&self) -> TableCopy {
        TableCopy {
            version: self.version,
            digest: self.digest,
        }
    }

    /// Takes over the version of another copy. A copy without a version has the token [`NO_TOKEN`].
    pub(super) fn set_version(&mut self, version: Version) {
        self.version = Some(version).filter(|it| it.token != NO_TOKEN);
    }

    /// Whether this table has ever contained a record.
    pub(super) fn has_changed(&self) -> bool {
        self.version.is_some() || !self.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Whether a record of this name fits into the table.
    pub(super) fn has_room_for(&self, name: &LockName) -> bool {
        self.records.len() < RECORDS_MAX
            && (self.names.contains_key(name) || self.names.len() < NAMES_MAX)
    }

    pub(super) fn get(&self, key: Key) -> Option<&Record> {
        self.records.get(&key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// Returns the records of this name that are held.
    pub(super) fn held(&self, name: LockName) -> impl Iterator<Item = &Record> {
        let keys = self.names.get(&name).into_iter().flat_map(|it| &it.held);
        keys.filter_map(|key| self.records.get(key))
    }

    /// Returns the records of this name that wait, in the order of their tickets.
    pub(super) fn waiting(&self, name: LockName) -> impl DoubleEndedIterator<Item = &Record> {
        let keys = self.names.get(&name).into_iter();
        let keys = keys.flat_map(|it| &it.waiting);
        keys.filter_map(|(_, key)| self.records.get(key))
    }

    /// Returns the names for which sessions wait.
    pub(super) fn wanted(&self) -> impl Iterator<Item = LockName> {
        self.wanted.iter().copied()
    }

    /// Returns the records with a flag.
    pub(super) fn flagged(&self) -> impl Iterator<Item = &Record> {
        let keys = self.flagged.iter();
        keys.filter_map(|key| self.records.get(key))
    }

    /// Returns the members that have records.
    pub(super) fn members(&self) -> impl Iterator<Item = MacAddr> {
        self.members.keys().copied()
    }

    pub(super) fn of_member(&self, member: MacAddr) -> impl Iterator<Item = &Record> {
        let keys = self.members.get(&member).into_iter();
        let keys = keys.flat_map(|it| &it.keys);
        keys.filter_map(|key| self.records.get(key))
    }

    /// Returns the sum of the hashes of a member's records.
    pub(super) fn digest_of(&self, member: MacAddr) -> u64 {
        self.members.get(&member).map_or(0, |it| it.digest)
    }

    /// Puts a record into the table. If the record has a flag that this node knows, keeps the time at which this node
    /// first saw the flag. A record with the state GONE is removed.
    pub(super) fn put(&mut self, mut record: Record) {
        let key = record.key();
        if let Some(known) = self.remove(key) {
            record.since = known.since;
            if known.flag == record.flag {
                record.flag_seen = known.flag_seen;
            }
        }
        if matches!(record.state, LockState::Waiting | LockState::Held) {
            self.add(key, record);
        }
    }

    /// Adds a record with a new key.
    fn add(&mut self, key: Key, record: Record) {
        let hash = record.hash();
        let name = record.request.name;
        self.digest = self.digest.wrapping_add(hash);
        let of_member = self.members.entry(record.member).or_default();
        of_member.keys.insert(key);
        of_member.digest = of_member.digest.wrapping_add(hash);
        let of_name = self.names.entry(name).or_default();
        if record.is_held() {
            of_name.held.insert(key);
        } else {
            of_name.waiting.insert((record.ticket, key));
            self.wanted.insert(name);
        }
        if record.flag != 0 {
            self.flagged.insert(key);
        }
        self.records.insert(key, record);
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Record> {
        let record = self.records.remove(&key)?;
        let hash = record.hash();
        let name = record.request.name;
        self.digest = self.digest.wrapping_sub(hash);
        self.flagged.remove(&key);
        if let Some(of_member) = self.members.get_mut(&record.member) {
            of_member.keys.remove(&key);
            of_member.digest = of_member.digest.wrapping_sub(hash);
            if of_member.keys.is_empty() {
                self.members.remove(&record.member);
            }
        }
        if let Some(of_name) = self.names.get_mut(&name) {
            of_name.held.remove(&key);
            of_name.waiting.remove(&(record.ticket, key));
            if of_name.waiting.is_empty() {
                self.wanted.remove(&name);
            }
            if of_name.is_empty() {
                self.names.remove(&name);
            }
        }
        Some(record)
    }

    /// Replaces all records with a key in this range.
    pub(super) fn replace_range(&mut self, range: RangeInclusive<Key>, by: &[Record]) {
        let keys = by.iter().map(Record::key).collect::<Vec<_>>();
        let old = self.records.range(range.clone()).map(|(&key, _)| key);
        let gone = old.filter(|key| !keys.contains(key)).collect::<Vec<_>>();
        for key in gone {
            self.remove(key);
        }
        for record in by {
            if range.contains(&record.key()) {
                self.put(*record);
            }
        }
    }

    /// Returns the sums of the hashes in [`LOCK_SUMS`] equal ranges of keys.
    pub(super) fn sums(&self) -> [u64; LOCK_SUMS] {
        let mut sums = [0u64; LOCK_SUMS];
        for (&key, record) in &self.records {
            let sum = &mut sums[range_of(key)];
            *sum = sum.wrapping_add(record.hash());
        }
        sums
    }

    /// Returns at most `count` of the first records that the asker lacks, and the range of keys that these records
    /// cover. The asker wants keys from `from` on. Returns `None` if the asker lacks nothing.
    pub(super) fn part(
        &self,
        from: Key,
        sums: &[u64],
        count: usize,
    ) -> Option<(RangeInclusive<Key>, Vec<Record>)> {
        let own = self.sums();
        let first = (range_of(from)..LOCK_SUMS).find(|&at| sums.get(at) != Some(&own[at]))?;
        let start = from.max(start_of(first));
        let end = start_of(first).wrapping_add(RANGE_LEN - 1);
        let mut within = self.records.range(start..=end).map(|(_, record)| *record);
        let part = within.by_ref().take(count).collect::<Vec<_>>();
        let end = match (within.next(), part.last()) {
            (Some(_), Some(last)) => last.key(),
            _ => end,
        };
        Some((start..=end, part))
    }

    /// Returns the records whose flag this node has seen for at least `lease`, at the time `now`.
    pub(super) fn expired(&self, now: Instant, lease: Duration) -> impl Iterator<Item = &Record> {
        self.flagged().filter(move |record| {
            record.is_flag_confirmed() && now.since(record.flag_seen) >= lease
        })
    }
}

const RANGE_LEN: Key = (Key::MAX / LOCK_SUMS as Key) + 1;

const fn range_of(key: Key) -> usize {
    (key / RANGE_LEN) as usize
}

const fn start_of(range: usize) -> Key {
    range as Key * RANGE_LEN
}

impl Table {
    pub(super) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            records,
            // The records determine the indexes and the sum.
            names: _,
            members: _,
            wanted: _,
            flagged: _,
            digest: _,
            version,
        } = self;
        version.hash(writer);
        records.len().hash(writer);
        for record in records.values() {
            record.snapshot(writer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_table_without_a_version_has_no_version() {
        let mut copy = Table::default();
        copy.set_version(Version {
            token: NO_TOKEN,
            change: 0,
        });
        assert!(copy.version().is_none() && !copy.has_changed());
    }
}
