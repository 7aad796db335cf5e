//! What is known of the last run of each job that runs once in a period (`docs/once.md`).
//!
//! Of two stamps of one name the newer counts, by the token under which the run began, never by a
//! clock: tables of all members become equal whatever order they are merged in. How long ago a run
//! began is told as an age, and kept by the clock of each member.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{self, NO_AGE, RunOutcome};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use crate::Stored;
use crate::lab2::machine::Writer;
use crate::lab2::{JobName, MAX_STAMPS, RunView, Stamp, StoredStamp};
use crate::time::{Instant, Now, nanos};

/// An age that is told is the younger one only by more than this part of the period.
const GRAIN: u32 = 64;
/// So many bytes of a stamp all members have in common: all but the ages.
const COMMON: usize = size_of::<lab2::Stamp>() - 2 * size_of::<u64>();

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

fn on_wire(stamp: &Stamp, age: u64, before: u64) -> lab2::Stamp {
    lab2::Stamp {
        name: *stamp.name.bytes(),
        progress: stamp.progress.into(),
        run: stamp.run.into(),
        runner: stamp.runner,
        outcome: stamp.outcome as u8,
        period: nanos(stamp.period).into(),
        age: age.into(),
        before: before.into(),
    }
}

fn hash(stamp: &Stamp) -> u64 {
    xxh3_64(&on_wire(stamp, 0, 0).as_bytes()[..COMMON])
}

/// What a frame says of a run.
struct ReceivedStamp {
    stamp: Stamp,
    age: Option<Duration>,
    before: Option<Duration>,
}

impl ReceivedStamp {
    fn read(told: &lab2::Stamp) -> Option<Self> {
        let age = |age: u64| (age != NO_AGE).then(|| Duration::from_nanos(age));
        Some(Self {
            stamp: Stamp {
                name: JobName::from_bytes(told.name)?,
                progress: told.progress.get(),
                run: told.run.get(),
                runner: told.runner,
                outcome: told.outcome()?,
                period: Duration::from_nanos(told.period.get()),
            },
            age: age(told.age.get()),
            before: age(told.before.get()),
        })
    }

    fn entry(&self, now: Instant) -> Entry {
        Entry {
            stamp: self.stamp,
            age: Age::told(self.age, now),
            before: self.before.map(|before| Age::told(Some(before), now)),
        }
    }
}

/// How long ago a run began, by this node's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Age {
    /// So long ago at the time [`at`](Self::at).
    then: Duration,
    at: Instant,
    /// It counts from when this node was started: the wall clock has gone back since the run.
    is_guess: bool,
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

    /// As it is told.
    fn on_wire(&self, now: Instant) -> u64 {
        if self.is_guess {
            NO_AGE
        } else {
            nanos(self.now(now)).min(NO_AGE - 1)
        }
    }

    /// This one, unless the other is younger by more than the margin, or this is a guess.
    fn or_younger(self, other: Self, now: Instant, margin: Duration) -> Self {
        let is_better = match (self.is_guess, other.is_guess) {
            (_, true) => false,
            (true, false) => true,
            (false, false) => other.now(now) + margin < self.now(now),
        };
        if is_better { other } else { self }
    }

    /// Whether it is known better here than it is told.
    fn is_news(&self, told: Option<Duration>, now: Instant, margin: Duration) -> bool {
        !self.is_guess && told.is_none_or(|told| self.now(now) + margin < told)
    }
}

/// A stamp and its ages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub(super) stamp: Stamp,
    age: Age,
    /// Of the youngest run that this one has taken the place of.
    before: Option<Age>,
}

impl Entry {
    /// For how much longer the run counts.
    fn left(&self, now: Instant) -> Duration {
        self.stamp.period.saturating_sub(self.age.now(now))
    }

    /// The age of the run, if it was one.
    fn age_of_run(&self) -> Option<Age> {
        (self.stamp.outcome != RunOutcome::Void).then_some(self.age)
    }

    /// What is known of a job from two who know something of it: the newer run, and of those that have
    /// to give way the youngest.
    fn merged_with(self, other: Self, now: Instant, margin: Duration) -> Self {
        let is_same = is_same_run(&self.stamp, &other.stamp);
        let is_newer = order(&other.stamp) > order(&self.stamp);
        let (mut next, displaced) = if is_newer {
            (other, self)
        } else {
            (self, other)
        };
        if is_same {
            next.age = self.age.or_younger(other.age, now, margin);
        }
        let displaced = displaced.age_of_run().filter(|_| !is_same);
        let others = [displaced, other.before].into_iter().flatten();
        next.before = others.fold(self.before, |before, other| match before {
            Some(before) => Some(before.or_younger(other, now, margin)),
            None => Some(other),
        });
        next
    }

    pub(super) fn view(&self, now: Instant) -> RunView {
        RunView {
            stamp: self.stamp,
            age: self.age.now(now),
            before: self.before.map(|before| before.now(now)),
        }
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
    entries: Vec<Entry>,
    /// The places that are to be stored.
    unstored: Vec<u8>,
    /// The one of them that is being stored.
    storing: Option<u8>,
    /// What an earlier run has stored, until this one knows what time it is.
    recalled: Vec<StoredStamp>,
    /// The sum of all hashes.
    digest: u64,
    /// A part of the table as it lies on the wire, while a frame is made.
    wire: Vec<lab2::Stamp>,
}

impl Stamps {
    /// What an earlier run has stored.
    pub(super) fn remember(&mut self, stored: impl IntoIterator<Item = StoredStamp>) {
        self.recalled.extend(stored);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The sum of all hashes.
    pub(super) const fn digest(&self) -> u64 {
        self.digest
    }

    /// The part of the table that was laid out last.
    pub(super) fn laid_out(&self) -> &[lab2::Stamp] {
        &self.wire
    }

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
        let age = |began| {
            let then = now.wall.checked_sub(began).map(Duration::from_nanos);
            Age::told(then, now.monotonic)
        };
        for stored in std::mem::take(&mut self.recalled) {
            let known = self.get(stored.stamp.name).is_some();
            if !known && self.len() < MAX_STAMPS {
                self.digest = self.digest.wrapping_add(hash(&stored.stamp));
                self.entries.push(Entry {
                    stamp: stored.stamp,
                    age: age(stored.began),
                    before: stored.before.map(age),
                });
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
        let began = |age: Age| now.wall.saturating_sub(nanos(age.now(now.monotonic)));
        Some(StoredStamp {
            place,
            stamp: entry.stamp,
            began: began(entry.age),
            before: entry.before.map(began),
        })
    }

    /// Whether what was taken last could be stored: if not it still is to be.
    pub(super) fn on_stored(&mut self, stored: Stored) {
        let place = self.storing.take();
        if let Some(place) = place.filter(|_| stored == Stored::Failed) {
            self.unstored.push(place);
        }
    }

    /// Takes over what a frame tells, if it is newer.
    pub(super) fn merge(&mut self, told: &[lab2::Stamp], now: Instant, grain: Duration) -> Merged {
        let mut merged = Merged::default();
        for told in told.iter().filter_map(ReceivedStamp::read) {
            let theirs = told.entry(now);
            let Some(at) = self.place_of(told.stamp.name) else {
                merged.changed |= self.insert(theirs, now);
                continue;
            };
            let own = self.entries[at];
            let margin = own.stamp.period / GRAIN + grain;
            let next = own.merged_with(theirs, now, margin);
            merged.changed |= next.stamp != own.stamp;
            merged.knows_more |= order(&told.stamp) < order(&next.stamp)
                || next.age.is_news(told.age, now, margin)
                || next
                    .before
                    .is_some_and(|before| before.is_news(told.before, now, margin));
            if next != own {
                self.set(at, next);
            }
        }
        merged
    }

    /// Puts a run in that begins now, in place of an older one of its name.
    pub(super) fn put(&mut self, stamp: Stamp, now: Instant) -> bool {
        let entry = Entry {
            stamp,
            age: Age::told(Some(Duration::ZERO), now),
            before: None,
        };
        let Some(at) = self.place_of(stamp.name) else {
            return self.insert(entry, now);
        };
        let next = self.entries[at].merged_with(entry, now, Duration::ZERO);
        self.set(at, next);
        true
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
        self.wire.extend(part.map(|entry| {
            let before = entry.before.map_or(NO_AGE, |before| before.on_wire(now));
            on_wire(&entry.stamp, entry.age.on_wire(now), before)
        }));
    }

    pub(super) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            entries,
            unstored,
            storing,
            recalled,
            // The sum of what is taken down.
            digest: _,
            wire: _,
        } = self;
        (entries.len(), unstored, storing, recalled).hash(writer);
        for Entry { stamp, age, before } in entries {
            let Age {
                then: _,
                at: _,
                is_guess,
            } = age;
            (stamp, age.now(writer.now), is_guess).hash(writer);
            let before = before.map(|before| (before.now(writer.now), before.is_guess));
            before.hash(writer);
        }
    }
}
