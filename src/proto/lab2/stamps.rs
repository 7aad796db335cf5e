//! What is known of the last run of each job that runs once in a period (`docs/once.md`).
//!
//! Of two stamps of one name the newer counts, by the token under which the run began, never by a
//! clock: tables of all members become equal whatever order they are merged in. How long ago a run
//! began is told as an age, and kept by the clock of each member.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{self, NO_AGE, RunOutcome};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use super::{JobName, MAX_STAMPS, Stamp, StoredStamp};
use crate::proto::Stored;
use crate::proto::time::{Instant, Now, nanos};

/// An age that is told is the younger one only by more than this part of the period.
const GRAIN: u32 = 64;
/// So many bytes of a stamp all members have in common: all but its age.
const COMMON: usize = size_of::<lab2::Stamp>() - size_of::<u64>();

/// The order of runs of one job: the larger is the newer.
const fn order(stamp: &Stamp) -> (u64, u32, MacAddr, RunOutcome, Duration) {
    let Stamp {
        name: _,
        progress,
        run,
        runner,
        outcome,
        period,
    } = *stamp;
    (progress, run, runner, outcome, period)
}

fn is_same_run(a: &Stamp, b: &Stamp) -> bool {
    (a.progress, a.run, a.runner) == (b.progress, b.run, b.runner)
}

fn on_wire(stamp: &Stamp, age: u64) -> lab2::Stamp {
    lab2::Stamp {
        name: *stamp.name.bytes(),
        progress: stamp.progress.into(),
        run: stamp.run.into(),
        runner: stamp.runner,
        outcome: stamp.outcome as u8,
        period: nanos(stamp.period).into(),
        age: age.into(),
    }
}

fn hash(stamp: &Stamp) -> u64 {
    xxh3_64(&on_wire(stamp, 0).as_bytes()[..COMMON])
}

/// What a frame says, with the age that it tells.
fn from_wire(told: &lab2::Stamp) -> Option<(Stamp, Option<Duration>)> {
    let stamp = Stamp {
        name: JobName::from_bytes(told.name)?,
        progress: told.progress.get(),
        run: told.run.get(),
        runner: told.runner,
        outcome: told.outcome()?,
        period: Duration::from_nanos(told.period.get()),
    };
    let age = Some(told.age.get()).filter(|&age| age != NO_AGE);
    Some((stamp, age.map(Duration::from_nanos)))
}

/// How long ago a run began, by this node's clock.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct Age {
    /// So long ago at the time [`at`](Self::at).
    pub(super) then: Duration,
    pub(super) at: Instant,
    /// It counts from when this node was started: the wall clock has gone back since the run.
    pub(super) is_guess: bool,
}

impl Age {
    fn told(then: Option<Duration>, at: Instant) -> Self {
        Self {
            then: then.unwrap_or_default(),
            at,
            is_guess: then.is_none(),
        }
    }

    pub(super) fn now(&self, now: Instant) -> Duration {
        self.then.saturating_add(now.since(self.at))
    }
}

/// A stamp and its age.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct Entry {
    pub(super) stamp: Stamp,
    pub(super) age: Age,
}

impl Entry {
    /// For how much longer the run counts.
    fn left(&self, now: Instant) -> Duration {
        self.stamp.period.saturating_sub(self.age.now(now))
    }

    /// Whether an age is told that makes this one look too old.
    fn is_older_than(&self, age: Duration, now: Instant, grain: Duration) -> bool {
        self.age.is_guess || age + self.stamp.period / GRAIN + grain < self.age.now(now)
    }
}

/// What merging has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Merged {
    /// The table is another one now.
    pub(super) changed: bool,
    /// Something is known here that the other does not know.
    pub(super) knows_more: bool,
}

/// All stamps that this node knows.
#[derive(Debug, Clone, Default)]
pub(super) struct Stamps {
    /// An entry stays in its place until another takes that.
    pub(super) entries: Vec<Entry>,
    /// The places that are to be stored.
    pub(super) unstored: Vec<u8>,
    /// The one of them that is being stored.
    pub(super) storing: Option<u8>,
    /// What an earlier run has stored, until this one knows what time it is.
    pub(super) recalled: Vec<StoredStamp>,
    /// The sum of all hashes.
    pub(super) digest: u64,
    /// A part of the table as it lies on the wire, while a frame is made.
    pub(super) wire: Vec<lab2::Stamp>,
}

impl Stamps {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn get(&self, name: JobName) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.stamp.name == name)
    }

    /// Gives what was stored its ages. A run that began in what the wall clock calls the future counts from
    /// now on, unless others know better.
    pub(super) fn recall(&mut self, now: Now) {
        for stored in std::mem::take(&mut self.recalled) {
            let then = now.wall.checked_sub(stored.began).map(Duration::from_nanos);
            let age = Age::told(then, now.monotonic);
            let stamp = stored.stamp;
            let known = self.get(stamp.name).is_some();
            if !known && self.len() < MAX_STAMPS {
                self.digest = self.digest.wrapping_add(hash(&stamp));
                self.entries.push(Entry { stamp, age });
                if usize::from(stored.place) != self.len() - 1 {
                    self.unstored.extend(u8::try_from(self.len() - 1));
                }
            }
        }
    }

    /// The next stamp that is to be stored.
    pub(super) fn take_unstored(&mut self, now: Now) -> Option<StoredStamp> {
        let place = self.unstored.pop()?;
        self.storing = Some(place);
        let entry = self.entries.get(usize::from(place))?;
        let age = nanos(entry.age.now(now.monotonic));
        Some(StoredStamp {
            place,
            stamp: entry.stamp,
            began: now.wall.saturating_sub(age),
        })
    }

    /// Whether what was taken last could be stored: if not it still is to be.
    pub(super) fn stored(&mut self, stored: Stored) {
        let place = self.storing.take();
        if let Some(place) = place.filter(|_| stored == Stored::Failed) {
            self.unstored.push(place);
        }
    }

    /// Takes over what a frame tells, if it is newer.
    pub(super) fn merge(&mut self, told: &[lab2::Stamp], now: Instant, grain: Duration) -> Merged {
        let mut merged = Merged::default();
        for (stamp, age) in told.iter().filter_map(from_wire) {
            let Some(at) = self.place_of(stamp.name) else {
                let age = Age::told(age, now);
                merged.changed |= self.insert(Entry { stamp, age }, now);
                continue;
            };
            let own = self.entries[at];
            let is_same_run = is_same_run(&stamp, &own.stamp);
            let is_newer = order(&stamp) > order(&own.stamp);
            let younger = age.filter(|&age| own.is_older_than(age, now, grain));
            let age = match younger {
                None if is_same_run => own.age,
                _ => Age::told(age, now),
            };
            if is_newer {
                self.set(at, Entry { stamp, age });
                merged.changed = true;
            } else if is_same_run && younger.is_some() {
                self.set(at, Entry { age, ..own });
            }
            merged.knows_more |= order(&stamp) < order(&own.stamp)
                || is_same_run && self.tells_less(at, told, now, grain);
        }
        merged
    }

    /// Whether what is told of an entry makes its run look older than it is known to be here.
    fn tells_less(&self, at: usize, told: &[lab2::Stamp], now: Instant, grain: Duration) -> bool {
        let own = &self.entries[at];
        if own.age.is_guess {
            return false;
        }
        let about = told
            .iter()
            .find(|told| told.name == *own.stamp.name.bytes());
        about.is_some_and(|told| {
            let told = Duration::from_nanos(told.age.get());
            own.age.now(now) + own.stamp.period / GRAIN + grain < told
        })
    }

    /// Puts an entry in, in place of an older one of its name.
    pub(super) fn put(&mut self, stamp: Stamp, now: Instant) -> bool {
        let age = Age::told(Some(Duration::ZERO), now);
        match self.place_of(stamp.name) {
            Some(at) => {
                self.set(at, Entry { stamp, age });
                true
            }
            None => self.insert(Entry { stamp, age }, now),
        }
    }

    /// Says how a run has ended.
    pub(super) fn end(&mut self, stamp: &Stamp, outcome: RunOutcome) -> bool {
        let found = self.entries.iter().position(|entry| entry.stamp == *stamp);
        let Some(at) = found else { return false };
        let mut entry = self.entries[at];
        entry.stamp.outcome = outcome;
        self.set(at, entry);
        true
    }

    /// Whether a name that is not known would find room: what counts no longer gives way.
    pub(super) fn has_room(&self, now: Instant) -> bool {
        let over = |entry: &Entry| entry.left(now).is_zero();
        self.len() < MAX_STAMPS || self.entries.iter().any(over)
    }

    /// Adds an entry. In a full table the one that counts for the shortest time gives way, if that is
    /// not the new one.
    fn insert(&mut self, entry: Entry, now: Instant) -> bool {
        if self.len() < MAX_STAMPS {
            self.digest = self.digest.wrapping_add(hash(&entry.stamp));
            self.unstored.extend(u8::try_from(self.len()));
            self.entries.push(entry);
            return true;
        }
        let key = |entry: &Entry| (entry.left(now), entry.stamp.name);
        let places = self.entries.iter().enumerate();
        let first = places.min_by_key(|(_, entry)| key(entry));
        let Some((at, _)) = first.filter(|(_, shortest)| key(shortest) < key(&entry)) else {
            return false;
        };
        self.set(at, entry);
        true
    }

    fn set(&mut self, at: usize, entry: Entry) {
        let before = hash(&self.entries[at].stamp);
        let after = hash(&entry.stamp);
        self.digest = self.digest.wrapping_sub(before).wrapping_add(after);
        self.entries[at] = entry;
        if let Ok(place) = u8::try_from(at)
            && !self.unstored.contains(&place)
        {
            self.unstored.push(place);
        }
    }

    fn place_of(&self, name: JobName) -> Option<usize> {
        self.entries
            .iter()
            .position(|entry| entry.stamp.name == name)
    }

    /// Lays a part of the table out for a frame.
    pub(super) fn lay_out(&mut self, first: usize, count: usize, now: Instant) {
        self.wire.clear();
        let part = self.entries.iter().skip(first).take(count);
        self.wire.extend(part.map(|Entry { stamp, age }| {
            let told = if age.is_guess {
                NO_AGE
            } else {
                nanos(age.now(now)).min(NO_AGE - 1)
            };
            on_wire(stamp, told)
        }));
    }
}
