//! State that survives a restart, in a file that is never half written.
//!
//! After a power loss the clock makes up for what was not on the disk: a generated token's progress starts from
//! it (`docs/protocol.md`, order of tokens).

mod record;
mod stamps;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use ring_proto::Stored;
use ring_proto::lab2::{Durable, StoredStamp};

use crate::control::NodeName;
use crate::driver::Store;
use crate::sys::owned;
use crate::system::Error;
use crate::system::record_file::{Found, RecordFile, WriteFailures, unusable};
use record::{FORMAT, LEN};
use stamps::{FoundStamps, StampFile};

/// What a node without a state file starts with.
pub const FRESH: Durable = Durable {
    my_token_number: 0,
    known: None,
    stamp: None,
};

/// The state file of one ring, locked for as long as this lives.
#[derive(Debug)]
pub struct StateFile {
    record: RecordFile<Durable, LEN>,
    stamps: StampFile,
    /// What an earlier run has stored, until it is taken.
    found_stamps: Vec<StoredStamp>,
    damaged_stamps: usize,
    failed: Option<WriteFailures>,
}

impl StateFile {
    /// Opens and locks the ring's file in `directory`, and opens the file of its jobs beside it; makes
    /// all of them if they are missing.
    ///
    /// # Errors
    /// The directory or the file cannot be used, the file is another user's or a newer ringd's, or another
    /// process has it locked.
    pub fn open(directory: &Path, ring: &NodeName) -> Result<(Self, Found<Durable>), Error> {
        let (record, found) = RecordFile::open(ring.state(directory), &FORMAT, &FRESH)?;
        let jobs = record.path().with_extension("jobs");
        let found_jobs = owned::open(&jobs).and_then(StampFile::open);
        let (stamps, found_stamps, damaged_stamps) = match found_jobs.map_err(unusable(&jobs))? {
            FoundStamps::Known {
                file,
                stored,
                damaged,
            } => (file, stored, damaged),
            FoundStamps::Newer(format) => return Err(Error::StateNewer { path: jobs, format }),
        };
        let state = Self {
            record,
            stamps,
            found_stamps,
            damaged_stamps,
            failed: None,
        };
        Ok((state, found))
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.record.path()
    }

    /// The stamps of jobs that an earlier run has stored; once.
    pub fn take_stamps(&mut self) -> Vec<StoredStamp> {
        std::mem::take(&mut self.found_stamps)
    }

    /// The file of jobs, and how many of its records were damaged, if any were.
    #[must_use]
    pub fn damaged_jobs(&self) -> Option<(PathBuf, usize)> {
        (self.damaged_stamps > 0).then(|| (self.path().with_extension("jobs"), self.damaged_stamps))
    }

    /// The writes that have failed since the last call.
    pub fn take_failures(&mut self) -> Option<WriteFailures> {
        self.failed.take()
    }

    /// Makes sure that the disk has it all, for a clean exit.
    ///
    /// # Errors
    /// The disk does not have it.
    pub fn sync(&self) -> io::Result<()> {
        self.record.sync()?;
        self.stamps.sync()
    }
}

impl Store<Durable> for StateFile {
    fn store(&mut self, durable: &Durable) -> Stored {
        let stamp = durable.stamp.as_ref();
        let stamped = stamp.map_or(Ok(()), |stamp| self.stamps.store(stamp));
        let written = stamped.and_then(|()| self.record.write(durable));
        WriteFailures::note(&mut self.failed, written)
    }
}
