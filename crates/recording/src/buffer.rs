//! The buffers that hold the last records, and a recording that was taken from them.

use std::fmt;
use std::mem;

use ring_proto::Machine;

use super::record::{Record, RecordOf};

/// The maximum number of records in one buffer. There are two buffers.
const RECORDS_MAX: usize = 1 << 13;
/// The number of records that must be free before an input. They are enough for the outputs of one input, because a
/// state machine limits the output that one input may cause.
const RESERVED_RECORDS: usize = 1 << 10;
/// The length of all frames in one buffer, in bytes.
const FRAMES_LEN: usize = 1 << 19;
/// The length of frames that must be free before an input.
const RESERVED_LEN: usize = 1 << 17;

/// The records from one copy of the state machine on.
struct Generation<M: Machine> {
    /// The state machine before the first record; `None` if the generation has not begun.
    start: Option<M>,
    // Values are stored faster than encoded bytes, and need no allocation either.
    records: Vec<RecordOf<M>>,
    /// The frames of the records, one after the other.
    frames: Vec<u8>,
}

impl<M: Machine> Generation<M> {
    fn new() -> Self {
        Self {
            start: None,
            records: Vec::with_capacity(RECORDS_MAX),
            frames: Vec::with_capacity(FRAMES_LEN),
        }
    }

    fn clear(&mut self) {
        self.start = None;
        self.records.clear();
        self.frames.clear();
    }

    fn has_room(&self, records: usize, frames_len: usize) -> bool {
        self.records.len() + records <= RECORDS_MAX && self.frames.len() + frames_len <= FRAMES_LEN
    }
}

/// The last records of a state machine. When a buffer is full, its records replace the records in the other buffer.
pub(super) struct Buffers<M: Machine> {
    older: Generation<M>,
    current: Generation<M>,
    /// Whether a record had no space, so that the next input must begin a new recording.
    is_torn: bool,
}

impl<M: Machine> Buffers<M> {
    pub(super) fn new() -> Self {
        Self {
            older: Generation::new(),
            current: Generation::new(),
            is_torn: false,
        }
    }

    /// Adds a record, and the bytes of its frame.
    pub(super) fn add(&mut self, record: RecordOf<M>, frame: &[u8]) {
        self.is_torn |= !self.current.has_room(1, frame.len());
        if !self.is_torn {
            self.current.records.push(record);
            self.current.frames.extend_from_slice(frame);
        }
    }

    /// Takes all records. Returns `None` if there is no record.
    pub(super) fn take(&mut self) -> Option<Recording<M>> {
        let Self {
            mut older,
            mut current,
            ..
        } = mem::replace(self, Self::new());
        Some(Recording {
            start: older.start.take().or_else(|| current.start.take())?,
            parts: [older, current],
        })
    }
}

impl<M: Machine + Clone> Buffers<M> {
    /// Prepares the buffers for the records of one input. The state machine has no pending output. Returns whether a
    /// new recording begins.
    pub(super) fn begin_input(&mut self, machine: &M) -> bool {
        if self.is_torn {
            self.older.clear();
            self.current.clear();
            self.is_torn = false;
        }
        if !self.current.has_room(RESERVED_RECORDS, RESERVED_LEN) {
            mem::swap(&mut self.older, &mut self.current);
            self.current.clear();
        }
        if self.current.start.is_some() {
            return false;
        }
        self.current.start = Some(machine.clone());
        self.older.start.is_none()
    }
}

/// A copy of a state machine, and its inputs and outputs since the copy was made.
pub struct Recording<M: Machine> {
    start: M,
    parts: [Generation<M>; 2],
}

impl<M: Machine> fmt::Debug for Recording<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}

impl<M: Machine> Recording<M> {
    /// Returns the state machine before the first record.
    pub const fn start(&self) -> &M {
        &self.start
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
