//! State that survives a restart, in a file that is never half written.
//!
//! Nothing is synced to the disk while the ring runs: a written page survives the process. After a power loss
//! the clock makes up for what was lost: a generated token's progress starts from it (`docs/protocol.md`, order
//! of tokens).

mod record;
mod stamps;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use ring_proto::Stored;
use ring_proto::lab2::{Durable, StoredStamp};

use crate::control::NodeName;
use crate::driver::Store;
use crate::host::{self, TwoSlots};
use crate::sys::{owned, runtime};
use crate::system::Error;
use record::{LEN, MAGIC};
use stamps::{FoundStamps, StampFile};

/// Where the slots begin: each in a disk sector of its own, so that no torn sector hits both.
const SLOTS: [u64; 2] = [0, 512];

/// The state file of one ring, locked for as long as this lives.
#[derive(Debug)]
pub struct StateFile {
    file: Flock<File>,
    path: PathBuf,
    slots: TwoSlots<LEN>,
    stamps: StampFile,
    /// What an earlier run has stored, until it is taken.
    found_stamps: Vec<StoredStamp>,
    damaged_stamps: usize,
    failed: Option<WriteFailures>,
}

/// What was found in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The file is new.
    Nothing,
    /// What an earlier run has stored.
    Stored(Durable),
    /// No slot is valid: the node starts afresh.
    Corrupt,
}

impl Found {
    /// What the node starts with.
    pub const fn durable(self) -> Durable {
        match self {
            Self::Stored(durable) => durable,
            Self::Nothing | Self::Corrupt => Durable {
                my_token_number: 0,
                known: None,
                stamp: None,
            },
        }
    }
}

/// Writes that failed since they were last asked about.
#[derive(Debug)]
pub struct WriteFailures {
    /// How many.
    pub count: u64,
    /// Why the last one did.
    pub last: io::Error,
}

impl StateFile {
    /// Opens and locks the ring's file in `directory`, and opens the file of its jobs beside it; makes
    /// all of them if they are missing.
    ///
    /// # Errors
    /// The directory or the file cannot be used, the file is another user's or a newer ringd's, or another
    /// process has it locked.
    pub fn open(directory: &Path, ring: &NodeName) -> Result<(Self, Found), Error> {
        runtime::make_directory(directory, 0o755).map_err(unusable(directory))?;
        let path = ring.state(directory);
        let file = owned::open(&path).map_err(unusable(&path))?;
        let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => file,
            Err((_, Errno::EWOULDBLOCK)) => return Err(Error::StateLocked { path }),
            Err((_, errno)) => return Err(unusable(&path)(errno.into())),
        };
        let opened = TwoSlots::open(&file, MAGIC, SLOTS, record::decode);
        let (slots, contents) = opened.map_err(unusable(&path))?;
        let found = match contents {
            host::Contents::Newer(format) => return Err(Error::StateNewer { path, format }),
            host::Contents::Known { newest, .. } => match newest {
                Some(durable) => Found::Stored(durable),
                None if is_empty(&file).map_err(unusable(&path))? => Found::Nothing,
                None => Found::Corrupt,
            },
        };
        let jobs = path.with_extension("jobs");
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
            file,
            path,
            slots,
            stamps,
            found_stamps,
            damaged_stamps,
            failed: None,
        };
        // A disk that is full or read-only is to be found now, not at the first token.
        let record = record::encode(&found.durable());
        let written = state.slots.rewrite(&state.file, record);
        written.map_err(unusable(&state.path))?;
        Ok((state, found))
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The stamps of jobs that an earlier run has stored; once.
    pub fn take_stamps(&mut self) -> Vec<StoredStamp> {
        std::mem::take(&mut self.found_stamps)
    }

    /// The file of jobs, and how many of its records were damaged, if any were.
    #[must_use]
    pub fn damaged_jobs(&self) -> Option<(PathBuf, usize)> {
        (self.damaged_stamps > 0).then(|| (self.path.with_extension("jobs"), self.damaged_stamps))
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
        self.file.sync_all()?;
        self.stamps.sync()
    }
}

impl Store<Durable> for StateFile {
    fn store(&mut self, durable: &Durable) -> Stored {
        let stamp = durable.stamp.as_ref();
        let stamped = stamp.map_or(Ok(()), |stamp| self.stamps.store(stamp));
        let record = record::encode(durable);
        match stamped.and_then(|()| self.slots.write(&self.file, record)) {
            Ok(()) => Stored::Done,
            Err(last) => {
                let count = self.failed.as_ref().map_or(0, |failed| failed.count) + 1;
                self.failed = Some(WriteFailures { count, last });
                Stored::Failed
            }
        }
    }
}

fn unusable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::State {
        path: path.to_owned(),
        source,
    }
}

fn is_empty(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.len() == 0)
}
