//! Stores the state that survives a restart, in a file that is never half written.
//!
//! After a power loss, data may be missing on the disk. The clock replaces the missing data, because the progress of a
//! new token starts from the clock (`docs/reference/lab2/states.md T7`). Start with [`StateFile`].

mod record;
mod stamps;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use ring_control::{Finding, NodeName};
use ring_proto::StoreOutcome;
use ring_proto::lab2::{StoredStamp, StoredState};
use ring_runtime::driver::Store;

use crate::system::Error;
use crate::system::events as shared_events;
use crate::system::lab2::{events, troubles};
use crate::system::record_file::{LoadedState, RecordFile, WriteFailures, unusable};
use crate::system::troubles as shared_troubles;
use record::{FORMAT, LEN, Record};
use stamps::{Damage, FoundStamps, StampFile};

/// The state of a node without a state file.
pub(super) const INITIAL_DURABLE: StoredState = StoredState {
    my_token_number: 0,
    known: None,
    stamp: None,
};

/// The state file of one ring. The file stays locked until this value is dropped.
#[derive(Debug)]
pub(super) struct StateFile {
    record: RecordFile<Record, LEN>,
    stamps: StampFile,
    /// The stamps that an earlier run stored; empty after they were taken.
    found_stamps: Vec<StoredStamp>,
    /// Lost parts of an earlier run's state: for each part the name of the event, and a text.
    losses: Vec<(&'static str, String)>,
    failed: Option<WriteFailures>,
}

impl StateFile {
    /// Opens and locks the ring's state file in `directory`, and opens the file of the ring's jobs in the same
    /// directory. Creates missing files.
    ///
    /// # Errors
    /// Fails if the directory or a file cannot be used, or if a different process locked the state file. Also fails if
    /// a file is no state file, or belongs to another user or a newer ringd.
    pub(super) fn open(
        directory: &Path,
        ring: &NodeName,
    ) -> Result<(Self, LoadedState<StoredState>), Error> {
        let fresh = Record {
            durable: INITIAL_DURABLE,
            has_marked_jobs: false,
        };
        let (mut record, found) = RecordFile::open(ring.state_path(directory), &FORMAT, &fresh)?;
        let jobs = record.path().with_extension("jobs");
        // If there is no state file, assumes that the file of jobs had its mark. So an empty file of jobs causes a
        // warning.
        let was_marked = !matches!(found, LoadedState::Stored(record) if !record.has_marked_jobs);
        let found_jobs = StampFile::open(jobs.clone(), was_marked);
        let (stamps, found_stamps, damage) = match found_jobs.map_err(unusable(&jobs))? {
            FoundStamps::Known {
                file,
                stored,
                damage,
            } => (file, stored, damage),
            FoundStamps::Foreign => return Err(Error::StateForeign { path: jobs }),
            FoundStamps::Newer(format) => return Err(Error::StateNewer { path: jobs, format }),
        };
        let found = found.map(|record| record.durable);
        // Stores the flag only after the mark is written. Otherwise, if a full disk ended this start, the next start
        // would give a false warning.
        let known = Record {
            durable: found.or(INITIAL_DURABLE),
            has_marked_jobs: true,
        };
        let rewritten = record.rewrite(&known);
        rewritten.map_err(unusable(record.path()))?;
        let loss = found.loss(record.path());
        let loss = loss.map(|loss| format!("{loss}; new tokens continue from the clock"));
        let losses = loss.map(|loss| (shared_events::STATE_CORRUPT, loss));
        let job_loss = jobs_lost(&jobs, damage).map(|loss| (events::JOBS_CORRUPT, loss));
        let state = Self {
            record,
            stamps,
            found_stamps,
            losses: losses.into_iter().chain(job_loss).collect(),
            failed: None,
        };
        Ok((state, found))
    }

    pub(super) fn path(&self) -> &Path {
        self.record.path()
    }

    /// Takes the stored stamps of an earlier run.
    pub(super) fn take_stamps(&mut self) -> Vec<StoredStamp> {
        std::mem::take(&mut self.found_stamps)
    }

    /// Returns the lost parts of an earlier run's state: for each part the name of the event, and a text.
    pub(super) fn losses(&self) -> &[(&'static str, String)] {
        &self.losses
    }

    /// Checks that the files are in their places, and creates missing files again.
    pub(super) fn check_place(&mut self) {
        self.record.check_place();
        self.stamps.check_place();
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.missing().is_none()
    }

    fn missing(&self) -> Option<&str> {
        self.record.problem().or(self.stamps.problem())
    }

    /// Returns the problems of the files.
    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        let lost = self.losses.iter().map(|(event, loss)| {
            let trouble = if *event == events::JOBS_CORRUPT {
                &troubles::JOBS_CORRUPT
            } else {
                &shared_troubles::STATE_CORRUPT
            };
            Finding::new(trouble, loss.clone())
        });
        let missing = self.missing();
        let missing = missing.map(|text| Finding::new(&shared_troubles::STATE_REMOVED, text));
        missing.into_iter().chain(lost)
    }

    /// Returns the failed writes since the last call.
    pub(super) fn take_failures(&mut self) -> Option<WriteFailures> {
        self.failed.take()
    }

    /// Syncs both files to the disk before a clean exit.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.record.sync()?;
        self.stamps.sync()
    }
}

/// Describes the loss of stamps in the file at `path`, if stamps are lost.
fn jobs_lost(path: &Path, damage: Damage) -> Option<String> {
    let path = path.display();
    let lost = match damage {
        Damage::None => return None,
        Damage::Records(count) => format!("{count} records of {path} are damaged"),
        Damage::Emptied => format!("{path} was empty"),
    };
    Some(format!(
        "{lost}: ringd starts without them; a job may run again in its period, unless another member knows of its run"
    ))
}

impl Store<StoredState> for StateFile {
    fn store(&mut self, durable: &StoredState) -> StoreOutcome {
        let stamp = durable.stamp.as_ref();
        let stamped = stamp.map_or(Ok(()), |stamp| self.stamps.store(stamp));
        let record = Record {
            durable: *durable,
            has_marked_jobs: true,
        };
        let written = stamped.and_then(|()| self.record.write(&record));
        WriteFailures::note(&mut self.failed, written)
    }
}
