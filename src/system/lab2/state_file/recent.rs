//! The newest known token, in a file in memory (tmpfs) next to the control socket.
//!
//! Each hop changes the known token. A write to the state file is a system call, and takes a tenth of a hop on one
//! processor. So most hops write only to this file, by a store to memory. A write to this file cannot fail. The file
//! survives the process, and is removed at a clean exit.
//!
//! The record is a record of the state file with one more field. The field binds the record to its node, because the
//! next process may use another network card or another state file:
//!
//! ```text
//! 48  address of the interface  6 bytes; zero in records of version 0.1.0
//! ```

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use ring_codec::MacAddr;
use ring_host::{Contents, TwoSlots, array_at};
use ring_process::private_files;
use ring_proto::lab2::StoredState;
use ring_runtime::MemoryFile;
use rustix::fs::{FlockOperation, flock};

use super::record::{LEN, Record, decode, encode};

const MAGIC: [u8; 8] = *b"RINGSM01";
/// Offsets of the slots.
const SLOTS: [u64; 2] = [0, LEN as u64];
const ADDRESS_OFFSET: usize = 48;
const ADDRESS_LEN: usize = size_of::<MacAddr>();
/// Maximum number of records that are only in this file. If the machine ends, they are lost.
const UNSAVED_RECORDS_MAX: u32 = 1000;

/// The file with the newest state.
#[derive(Debug)]
pub(super) struct RecentState {
    path: PathBuf,
    /// The node of the records.
    address: MacAddr,
    /// The file stays locked until it is closed.
    file: File,
    memory: MemoryFile,
    slots: TwoSlots<LEN>,
    /// Number of records that are not in the state file.
    count: u32,
}

/// The state that an earlier process left in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftState {
    /// The file has no record.
    Nothing,
    Stored(StoredState),
    Damaged,
    /// The state of the node with this address.
    OfOtherNode(MacAddr),
}

impl RecentState {
    /// Opens and locks the file of the node with this address at `path`, or creates it. Also returns the state that an
    /// earlier process left. Returns `None` if the file would not be in memory.
    ///
    /// # Errors
    /// Fails if the directory is missing, or if the file belongs to another user, to another program or to a running
    /// process.
    pub(super) fn open(path: PathBuf, address: MacAddr) -> io::Result<Option<(Self, LeftState)>> {
        let (file, is_new) = private_files::open_or_make(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let Some(memory) = MemoryFile::map(&file)? else {
            if is_new {
                fs::remove_file(&path)?;
            }
            return Ok(None);
        };
        let (slots, contents) = TwoSlots::open(&file, MAGIC, SLOTS, decode_of_node)?;
        let left = match contents {
            Contents::Known {
                newest: None,
                damaged: 0,
            } => LeftState::Nothing,
            Contents::Known { newest: None, .. } => LeftState::Damaged,
            Contents::Known {
                newest: Some((of, record)),
                ..
            } if of == address || of == MacAddr::default() => LeftState::Stored(record.durable),
            Contents::Known {
                newest: Some((of, _)),
                ..
            } => LeftState::OfOtherNode(of),
            Contents::Foreign => return Err(io::Error::other("another program wrote it")),
            Contents::Newer(_) => return Err(io::Error::other("a newer ringd wrote it")),
        };
        let recent = Self {
            path,
            address,
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
        let mut bytes = encode(&record);
        bytes[ADDRESS_OFFSET..][..ADDRESS_LEN].copy_from_slice(&self.address.0);
        let memory = &mut self.memory;
        let written = self.slots.write_by(bytes, |bytes, at| {
            memory.write_at(bytes, usize::try_from(at).map_err(io::Error::other)?);
            Ok(())
        });
        debug_assert!(written.is_ok(), "a write to memory cannot fail");
        self.count += 1;
    }

    /// Sets the address of the node in later records.
    pub(super) const fn set_address(&mut self, address: MacAddr) {
        self.address = address;
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

fn decode_of_node(bytes: &[u8; LEN]) -> Option<(MacAddr, Record)> {
    let address = MacAddr(array_at(bytes, ADDRESS_OFFSET));
    Some((address, decode(bytes)?))
}

/// Describes the part of the state that an earlier process left in the file at `path`, and that this process cannot
/// use.
pub(super) fn unused(path: &Path, left: &io::Result<Option<LeftState>>) -> Option<String> {
    let path = path.display();
    match left {
        // Without the directory, no process has left a file.
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(format!(
            "cannot use {path}: {error}; ringd starts without its contents"
        )),
        Ok(Some(LeftState::Damaged)) => Some(format!(
            "{path} is damaged: ringd starts without its contents"
        )),
        Ok(Some(LeftState::OfOtherNode(address))) => Some(format!(
            "{path} is of the node {address}: ringd starts without its contents"
        )),
        Ok(None | Some(LeftState::Nothing | LeftState::Stored(_))) => None,
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
