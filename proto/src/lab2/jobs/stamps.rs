//! The stamps: the last known run of each job (`docs/reference/lab2/once.md J11` to J16).
//!
//! If two stamps have the same job name, only the newer stamp counts. The tokens of the runs decide which stamp is
//! newer, never the clocks. So the tables of all members become equal, in any order of merging. Frames contain the age
//! of a run. Each member measures the age by its own clock.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{self, NO_AGE, RunOutcome};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use crate::StoreOutcome;
use crate::lab2::machine::Writer;
use crate::lab2::{JobName, RunView, STAMPS_MAX, Stamp, StoredStamp};
use crate::time::{Instant, Now, nanos};

/// Divisor of the period. A received age replaces a known age only if the received age is smaller by more than this
/// part of the period.
const YOUNGER_DIVISOR: u32 = 64;
/// Length of the part of a stamp that is equal at all members. This part contains all fields except the two ages.
const COMMON_LEN: usize = size_of::<lab2::Stamp>() - 2 * size_of::<u64>();

/// Returns a key for the order of the runs of one job. A newer run has a larger key.
const fn order_key(stamp: &Stamp) -> (u64, u32, MacAddr, RunOutcome, Duration) {
    let Stamp {
        name: _,
        progress,
        run,
        runner,
        outcome,
        period,
    } = *stamp;
    // `outcome` and `period` are part of the key, so that members also agree if two stamps of one run differ in them.
    (progress, run, runner, outcome, period)
}

fn is_same_run(a: &Stamp, b: &Stamp) -> bool {
    (a.progress, a.run, a.runner) == (b.progress, b.run, b.runner)
}

fn encode(stamp: &Stamp, age: u64, before: u64) -> lab2::Stamp {
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
    // Ages differ from member to member, so they must not be part of the hash.
    xxh3_64(&encode(stamp, 0, 0).as_bytes()[..COMMON_LEN])
}

/// The content of a stamp in a frame.
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

    fn entry(&self, now: Instant) -> StampEntry {
        StampEntry {
            stamp: self.stamp,
            age: Age::new(self.age, now),
            before: self.before.map(|before| Age::new(Some(before), now)),
        }
    }
}

/// The age of a run, measured by this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct Age {
    /// The age at the time [`at`](Self::at).
    then: Duration,
    at: Instant,
    /// Whether the age is a guess. It is a guess if the run began in the future according to the wall clock. Then the
    /// age counts from this node's start.
    is_guess: bool,
}

impl Age {
    fn new(then: Option<Duration>, at: Instant) -> Self {
        Self {
            then: then.unwrap_or_default(),
            at,
            is_guess: then.is_none(),
        }
    }

    pub(super) fn now(&self, now: Instant) -> Duration {
        self.then.saturating_add(now.since(self.at))
    }

    /// Returns the age in the encoding of frames.
    fn encode(&self, now: Instant) -> u64 {
        if self.is_guess {
            NO_AGE
        } else {
            nanos(self.now(now)).min(NO_AGE - 1)
        }
    }

    /// Returns `other` if it is smaller than this age by more than `margin`. Otherwise returns this age. A guess never
    /// replaces a measured age.
    fn younger_of(self, other: Self, now: Instant, margin: Duration) -> Self {
        let is_better = match (self.is_guess, other.is_guess) {
            // A guessed age is too small: it began with 0 at this node's start, although the run began earlier.
            (_, true) => false,
            (true, false) => true,
            // If two clocks disagree, the smaller age counts, so that the next run comes later. The margin covers the
            // delay of frames.
            (false, false) => other.now(now) + margin < self.now(now),
        };
        if is_better { other } else { self }
    }

    /// Whether a member that sent the age `told` would replace `told` by this age.
    fn is_better_than(&self, told: Option<Duration>, now: Instant, margin: Duration) -> bool {
        !self.is_guess && told.is_none_or(|told| self.now(now) + margin < told)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct StampEntry {
    pub(super) stamp: Stamp,
    age: Age,
    /// The age of the youngest replaced run.
    before: Option<Age>,
}

impl StampEntry {
    /// Returns the time until the period of the run ends.
    fn time_left(&self, now: Instant) -> Duration {
        self.stamp.period.saturating_sub(self.age.now(now))
    }

    /// Returns the age of the run. Returns `None` if the run never began.
    fn age_of_run(&self) -> Option<Age> {
        (self.stamp.outcome != RunOutcome::Void).then_some(self.age)
    }

    /// Merges two entries of the same job. The newer run stays. The result also contains the age of the youngest run
    /// that was replaced.
    fn merged_with(self, other: Self, now: Instant, margin: Duration) -> Self {
        let is_same = is_same_run(&self.stamp, &other.stamp);
        // Clocks may be wrong by years, so ages do not decide which run is newer.
        let is_newer = order_key(&other.stamp) > order_key(&self.stamp);
        let (mut next, displaced) = if is_newer {
            (other, self)
        } else {
            (self, other)
        };
        if is_same {
            next.age = self.age.younger_of(other.age, now, margin);
        }
        let displaced = displaced.age_of_run().filter(|_| !is_same);
        let others = [displaced, other.before].into_iter().flatten();
        next.before = others.fold(self.before, |before, other| match before {
            Some(before) => Some(before.younger_of(other, now, margin)),
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MergeResult {
    /// Whether the table changed.
    pub(super) changed: bool,
    /// Whether this node knows a newer run than the sender, or a better age of a run.
    pub(super) knows_more: bool,
}

#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Stamps {
    /// The entries of the table. An entry keeps its place until another entry replaces it.
    entries: Vec<StampEntry>,
    /// The places of the entries that the driver must still store.
    unstored: Vec<u8>,
    /// The place of the entry that is being stored.
    storing: Option<u8>,
    /// The stored stamps of an earlier process. The stamps stay here until the node knows the wall clock's time.
    unaged: Vec<StoredStamp>,
    /// The sum of the hashes of all stamps.
    digest: u64,
    /// The part of the table that was encoded for the next frame.
    #[serde(skip)]
    wire: Vec<lab2::Stamp>,
}

impl Stamps {
    /// Adds the stored stamps of an earlier process of this node.
    pub(super) fn load_stored(&mut self, stored: impl IntoIterator<Item = StoredStamp>) {
        self.unaged.extend(stored);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &StampEntry> {
        self.entries.iter()
    }

    pub(super) const fn digest(&self) -> u64 {
        self.digest
    }

    /// Returns the part of the table that was encoded last.
    pub(super) fn encoded_part(&self) -> &[lab2::Stamp] {
        &self.wire
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn get(&self, name: JobName) -> Option<&StampEntry> {
        self.entries.iter().find(|entry| entry.stamp.name == name)
    }

    /// Computes the ages of the stored stamps. If a run began in the future according to the wall clock, its age counts
    /// from now on, until another member sends an age.
    pub(super) fn compute_ages(&mut self, now: Now) {
        let age = |began| {
            let then = now.wall.checked_sub(began).map(Duration::from_nanos);
            Age::new(then, now.monotonic)
        };
        for stored in std::mem::take(&mut self.unaged) {
            let known = self.get(stored.stamp.name).is_some();
            if !known && self.len() < STAMPS_MAX {
                self.digest = self.digest.wrapping_add(hash(&stored.stamp));
                self.entries.push(StampEntry {
                    stamp: stored.stamp,
                    age: age(stored.began),
                    before: stored.before.map(age),
                });
                // If the file has gaps, the entry has moved, and must be stored in its new place.
                if usize::from(stored.place) != self.len() - 1 {
                    self.unstored.extend(u8::try_from(self.len() - 1));
                }
            }
        }
    }

    pub(super) fn take_unstored(&mut self, now: Now) -> Option<StoredStamp> {
        let place = self.unstored.pop()?;
        self.storing = Some(place);
        let entry = self.entries.get(usize::from(place))?;
        // The monotonic clock starts again with the machine, so the file contains times of the wall clock.
        let began = |age: Age| now.wall.saturating_sub(nanos(age.now(now.monotonic)));
        Some(StoredStamp {
            place,
            stamp: entry.stamp,
            began: began(entry.age),
            before: entry.before.map(began),
        })
    }

    /// Notes whether the last stamp could be stored. If the stamp could not be stored, schedules another attempt.
    pub(super) fn on_stored(&mut self, stored: StoreOutcome) {
        let place = self.storing.take();
        if let Some(place) = place.filter(|_| stored == StoreOutcome::Failed) {
            // The place returns to the list, so that the next attempt stores the stamp again.
            self.unstored.push(place);
        }
    }

    /// Merges received stamps into the table.
    pub(super) fn merge(
        &mut self,
        told: &[lab2::Stamp],
        now: Instant,
        grain: Duration,
    ) -> MergeResult {
        let mut merged = MergeResult::default();
        for told in told.iter().filter_map(ReceivedStamp::read) {
            // The age counts from now: the time that the frame was on its way is within the margin.
            let theirs = told.entry(now);
            let Some(at) = self.place_of(told.stamp.name) else {
                merged.changed |= self.insert(theirs, now);
                continue;
            };
            let own = self.entries[at];
            let margin = own.stamp.period / YOUNGER_DIVISOR + grain;
            let next = own.merged_with(theirs, now, margin);
            merged.changed |= next.stamp != own.stamp;
            merged.knows_more |= order_key(&told.stamp) < order_key(&next.stamp)
                || next.age.is_better_than(told.age, now, margin)
                || next
                    .before
                    .is_some_and(|before| before.is_better_than(told.before, now, margin));
            if next != own {
                self.set(at, next);
            }
        }
        merged
    }

    /// Adds a run that begins now. The run replaces an older run of the same name. Returns whether the run is in the
    /// table.
    pub(super) fn put(&mut self, stamp: Stamp, now: Instant) -> bool {
        let entry = StampEntry {
            stamp,
            age: Age::new(Some(Duration::ZERO), now),
            before: None,
        };
        let Some(at) = self.place_of(stamp.name) else {
            return self.insert(entry, now);
        };
        let next = self.entries[at].merged_with(entry, now, Duration::ZERO);
        self.set(at, next);
        true
    }

    /// Sets the outcome of a run. Returns whether the table contains this run.
    pub(super) fn end(&mut self, stamp: &Stamp, outcome: RunOutcome) -> bool {
        // Since the run began, a merge may have brought a newer stamp, which must keep its outcome.
        let found = self.entries.iter().position(|entry| entry.stamp == *stamp);
        let Some(at) = found else { return false };
        let mut entry = self.entries[at];
        entry.stamp.outcome = outcome;
        self.set(at, entry);
        true
    }

    /// Whether the table can take a new name: the table is not full, or one of its runs no longer counts.
    pub(super) fn has_room(&self, now: Instant) -> bool {
        let over = |entry: &StampEntry| entry.time_left(now).is_zero();
        self.len() < STAMPS_MAX || self.entries.iter().any(over)
    }

    /// Adds an entry. In a full table, the new entry replaces the entry whose run counts for the shortest time. If the
    /// new run would count for an even shorter time, its entry is not added. Returns whether the entry was added.
    fn insert(&mut self, entry: StampEntry, now: Instant) -> bool {
        if self.len() < STAMPS_MAX {
            self.digest = self.digest.wrapping_add(hash(&entry.stamp));
            self.unstored.extend(u8::try_from(self.len()));
            self.entries.push(entry);
            return true;
        }
        // All members must drop the same entry, or their tables would never become equal. So the name decides between
        // equal times.
        let key = |entry: &StampEntry| (entry.time_left(now), entry.stamp.name);
        let places = self.entries.iter().enumerate();
        let first = places.min_by_key(|(_, entry)| key(entry));
        let Some((at, _)) = first.filter(|(_, shortest)| key(shortest) < key(&entry)) else {
            return false;
        };
        self.set(at, entry);
        true
    }

    /// Replaces an entry. Also updates the digest and the list of unstored entries.
    fn set(&mut self, at: usize, entry: StampEntry) {
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

    /// Encodes a part of the table for a frame.
    pub(super) fn encode_part(&mut self, first: usize, count: usize, now: Instant) {
        self.wire.clear();
        let part = self.entries.iter().skip(first).take(count);
        self.wire.extend(part.map(|entry| {
            let before = entry.before.map_or(NO_AGE, |before| before.encode(now));
            encode(&entry.stamp, entry.age.encode(now), before)
        }));
    }

    pub(super) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            entries,
            unstored,
            storing,
            unaged,
            // The digest follows from the entries, and `wire` is filled again for each frame.
            digest: _,
            wire: _,
        } = self;
        (entries.len(), unstored, storing, unaged).hash(writer);
        for StampEntry { stamp, age, before } in entries {
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
