//! The buffers that hold the last records, and the recording that a caller takes from them.

use std::fmt;
use std::mem;

use ring_proto::Machine;
use serde::{Deserialize, Serialize};

use super::record::{Record, RecordOf};

/// If a buffer has this number of records at the end of a loop iteration, the other buffer is used next. There are two
/// buffers.
const RECORDS: usize = 1 << 13;
/// The number of further records that one loop iteration may add.
const RESERVED_RECORDS: usize = 1 << 12;
/// If the frames in a buffer have this total length in bytes, the other buffer is used next.
const FRAMES_LEN: usize = 1 << 19;
/// The total length of further frames that one loop iteration may add, in bytes.
const RESERVED_LEN: usize = 1 << 18;

/// A copy of the state machine, and the records after this copy.
struct Generation<M: Machine> {
    /// The state machine before the first record.
    start: M,
    /// The number of records before the copy that were dropped, because there was no space.
    missing_before: u64,
    // The buffer stores values, because storing them is faster than encoding them as bytes. Storing them needs no
    // allocation either.
    records: Vec<RecordOf<M>>,
    /// The frames of the records, one after the other.
    frames: Vec<u8>,
}

impl<M: Machine> Generation<M> {
    fn new(start: M) -> Self {
        Self {
            start,
            missing_before: 0,
            records: Vec::with_capacity(RECORDS + RESERVED_RECORDS),
            frames: Vec::with_capacity(FRAMES_LEN + RESERVED_LEN),
        }
    }

    /// Removes all records, begins again with another copy, and reuses the allocated memory.
    fn restart(&mut self, start: M, missing_before: u64) {
        self.start = start;
        self.missing_before = missing_before;
        self.records.clear();
        self.frames.clear();
    }

    fn is_full(&self) -> bool {
        self.records.len() >= RECORDS || self.frames.len() >= FRAMES_LEN
    }

    fn has_room(&self, frame_len: usize) -> bool {
        self.records.len() < RECORDS + RESERVED_RECORDS
            && self.frames.len() + frame_len <= FRAMES_LEN + RESERVED_LEN
    }
}

/// The last records of a state machine. There are two buffers. When one buffer is full, the recorder empties the other
/// buffer and continues with it.
pub(super) struct Buffers<M: Machine> {
    older: Option<Generation<M>>,
    current: Generation<M>,
    /// The number of records of this loop iteration that were dropped, because there was no space.
    missing: u64,
}

impl<M: Machine> Buffers<M> {
    pub(super) fn new(start: M) -> Self {
        Self {
            older: None,
            current: Generation::new(start),
            missing: 0,
        }
    }

    /// Adds a record, and the bytes of its frame.
    pub(super) fn add(&mut self, record: RecordOf<M>, frame: &[u8]) {
        // A replay could not repeat a record after a gap.
        if self.missing > 0 || !self.current.has_room(frame.len()) {
            self.missing += 1;
            return;
        }
        self.current.records.push(record);
        self.current.frames.extend_from_slice(frame);
    }
}

impl<M: Machine + Clone> Buffers<M> {
    /// Takes all records, and begins again. Returns `None` if there is no record.
    pub(super) fn take(&mut self, machine: &M) -> Option<Recording<M>> {
        if self.older.is_none() && self.current.records.is_empty() {
            return None;
        }
        let taken = mem::replace(self, Self::new(machine.clone()));
        Some(Recording {
            parts: taken.older.into_iter().chain([taken.current]).collect(),
            missing_after: taken.missing,
        })
    }

    /// Marks the end of a loop iteration. At this time, the state machine must have no pending output.
    pub(super) fn end_iteration(&mut self, machine: &M) {
        let missing = mem::take(&mut self.missing);
        if missing > 0 {
            self.older = None;
            self.current.restart(machine.clone(), missing);
        } else if self.current.is_full() {
            let start = machine.clone();
            let next = match self.older.take() {
                Some(mut oldest) => {
                    oldest.restart(start, 0);
                    oldest
                }
                None => Generation::new(start),
            };
            self.older = Some(mem::replace(&mut self.current, next));
        }
    }
}

/// A copy of a state machine, and its inputs and outputs since the copy was made.
pub struct Recording<M: Machine> {
    /// The parts of the recording, the oldest first. There is at least one part.
    parts: Vec<Generation<M>>,
    missing_after: u64,
}

impl<M: Machine> fmt::Debug for Recording<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}

impl<M: Machine> Recording<M> {
    /// Returns the state machine before the first record.
    pub fn start(&self) -> &M {
        &self.parts[0].start
    }

    /// Returns the numbers of records that were dropped, because there was no space.
    pub fn missing(&self) -> Missing {
        Missing {
            before: self.parts[0].missing_before,
            after: self.missing_after,
        }
    }

    /// Returns the records in their order, each with the bytes of its frame.
    pub fn records(&self) -> impl Iterator<Item = (&RecordOf<M>, &[u8])> {
        let parts = self.parts.iter();
        parts.flat_map(|part| with_frames(&part.records, &part.frames))
    }
}

/// Adds to each record the bytes of its frame.
pub(super) fn with_frames<'a, C, N, E, D>(
    records: &'a [Record<C, N, E, D>],
    mut frames: &'a [u8],
) -> impl Iterator<Item = (&'a Record<C, N, E, D>, &'a [u8])> {
    records.iter().map(move |record| {
        let (frame, rest) = frames
            .split_at_checked(record.frame_len())
            .unwrap_or_default();
        frames = rest;
        (record, frame)
    })
}

/// The numbers of dropped records. The recorder drops records if one loop iteration has more records than the memory
/// holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The number of dropped records before the first record of the recording.
    pub before: u64,
    /// The number of dropped records after the last record of the recording.
    pub after: u64,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after } = self;
        write!(
            f,
            "missing, because one loop iteration had more than the memory holds: {before} records before, {after} after"
        )
    }
}

impl Missing {
    /// Whether any records were dropped.
    pub fn is_any(self) -> bool {
        self != Self::default()
    }
}
