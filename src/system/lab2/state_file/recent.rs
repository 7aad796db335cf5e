//! The newest known token, in a file in memory (tmpfs) next to the control socket.
//!
//! Each hop changes the known token. A write to the state file is a system call, and takes a tenth of a hop on one
//! processor. So most hops write only to this file, by a store to memory. A write to this file cannot fail. The file
//! survives the process, and is removed at a clean exit.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use ring_host::{Contents, TwoSlots};
use ring_process::private_files;
use ring_proto::lab2::StoredState;
use ring_runtime::MemoryFile;
use rustix::fs::{FlockOperation, flock};

use super::record::{LEN, Record, decode, encode};

const MAGIC: [u8; 8] = *b"RINGSM01";
/// Offsets of the slots.
const SLOTS: [u64; 2] = [0, LEN as u64];
/// Maximum number of records that are only in this file. If the machine ends, they are lost.
const UNSAVED_RECORDS_MAX: u32 = 1000;

/// The file with the newest state.
#[derive(Debug)]
pub(super) struct RecentState {
    path: PathBuf,
    /// The file stays locked until it is closed.
    file: File,
    memory: MemoryFile,
    slots: TwoSlots<LEN>,
    /// Number of records that are not in the state file.
    count: u32,
}

impl RecentState {
    /// Opens and locks the file at `path`, or creates it. Also returns the state that an earlier process left. Returns
    /// `None` if the file would not be in memory.
    ///
    /// # Errors
    /// Fails if the directory is missing, or if the file belongs to another user or to a running process.
    pub(super) fn open(path: PathBuf) -> io::Result<Option<(Self, Option<StoredState>)>> {
        let (file, is_new) = private_files::open_or_make(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let Some(memory) = MemoryFile::map(&file)? else {
            if is_new {
                fs::remove_file(&path)?;
            }
            return Ok(None);
        };
        let (slots, contents) = TwoSlots::open(&file, MAGIC, SLOTS, decode)?;
        let left = match contents {
            Contents::Known { newest, .. } => newest.map(|record| record.durable),
            Contents::Foreign | Contents::Newer(_) => None,
        };
        let recent = Self {
            path,
            file,
            memory,
            slots,
            count: 0,
        };
        Ok(Some((recent, left)))
    }

    /// Whether the file may take one more record that is not in the state file.
    pub(super) const fn has_room(&self) -> bool {
        self.count < UNSAVED_RECORDS_MAX
    }

    /// Whether the file has a record that is not in the state file.
    pub(super) const fn is_ahead(&self) -> bool {
        self.count > 0
    }

    /// Writes a state.
    pub(super) fn write(&mut self, durable: &StoredState) {
        let record = Record {
            durable: *durable,
            has_marked_jobs: true,
        };
        let memory = &mut self.memory;
        let written = self.slots.write_by(encode(&record), |bytes, at| {
            memory.write_at(bytes, usize::try_from(at).map_err(io::Error::other)?);
            Ok(())
        });
        debug_assert!(written.is_ok(), "a write to memory cannot fail");
        self.count += 1;
    }

    /// Handles a write of the newest state to the state file.
    pub(super) const fn on_written(&mut self) {
        self.count = 0;
    }

    /// Handles a failed write to the state file. Until a write succeeds, the file takes no record.
    pub(super) const fn on_failed(&mut self) {
        self.count = UNSAVED_RECORDS_MAX;
    }

    /// Whether the file is in its place. A restart does not find a file that was removed.
    pub(super) fn is_in_place(&self) -> bool {
        private_files::is_at(&self.file, &self.path).unwrap_or(false)
    }

    /// Removes the file from its place, because the state file has everything.
    ///
    /// # Errors
    /// Fails if the file cannot be removed.
    pub(super) fn remove(self) -> io::Result<()> {
        if self.is_in_place() {
            fs::remove_file(&self.path)?;
        }
        Ok(())
    }
}

/// Joins two states of one node. The newest number of a token is the largest, and the newest known token is the
/// strongest.
pub(super) fn join(one: StoredState, other: StoredState) -> StoredState {
    let known = match (one.known, other.known) {
        (Some(one), Some(other)) if other.is_stronger_than(&one) => Some(other),
        (one, other) => one.or(other),
    };
    StoredState {
        my_token_number: one.my_token_number.max(other.my_token_number),
        known,
        stamp: None,
    }
}
