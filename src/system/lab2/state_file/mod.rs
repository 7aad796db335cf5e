//! State that survives a restart, in a file that is never half written.
//!
//! After a power loss the clock makes up for what was not on the disk: a generated token's progress starts from
//! it (`docs/protocol.md`, order of tokens).

mod record;
mod stamps;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use ring_control::NodeName;
use ring_proto::Stored;
use ring_proto::lab2::{Durable, StoredStamp};
use ring_runtime::driver::Store;

use crate::system::Error;
use crate::system::record_file::{Found, RecordFile, WriteFailures, unusable};
use record::{FORMAT, LEN, Record};
use stamps::{Damage, FoundStamps, StampFile};

/// What a node without a state file starts with.
pub(super) const FRESH: Durable = Durable {
    my_token_number: 0,
    known: None,
    stamp: None,
};

/// The state file of one ring, locked for as long as this lives.
#[derive(Debug)]
pub(super) struct StateFile {
    record: RecordFile<Record, LEN>,
    stamps: StampFile,
    /// What an earlier run has stored, until it is taken.
    found_stamps: Vec<StoredStamp>,
    /// What is lost of that an earlier run has stored: events' names, and sentences.
    losses: Vec<(&'static str, String)>,
    failed: Option<WriteFailures>,
}

impl StateFile {
    /// Opens and locks the ring's file in `directory`, and opens the file of its jobs beside it; makes
    /// all of them if they are missing.
    ///
    /// # Errors
    /// The directory or the file cannot be used, the file is no state file, another user's or a newer ringd's, or
    /// another process has it locked.
    pub(super) fn open(directory: &Path, ring: &NodeName) -> Result<(Self, Found<Durable>), Error> {
        let fresh = Record {
            durable: FRESH,
            has_marked_jobs: false,
        };
        let (mut record, found) = RecordFile::open(ring.state(directory), &FORMAT, &fresh)?;
        let jobs = record.path().with_extension("jobs");
        // Without a state file the safe answer: an empty file of jobs is a warning.
        let was_marked = !matches!(found, Found::Stored(record) if !record.has_marked_jobs);
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
        // Not before the mark is there: a start that a full disk ends must not make the next one warn.
        let known = Record {
            durable: found.or(FRESH),
            has_marked_jobs: true,
        };
        let rewritten = record.rewrite(&known);
        rewritten.map_err(unusable(record.path()))?;
        let loss = found.loss(record.path());
        let loss = loss.map(|loss| format!("{loss}; tokens keep growing by the clock"));
        let losses = loss.map(|loss| ("state_corrupt", loss));
        let job_loss = jobs_lost(&jobs, damage).map(|loss| ("jobs_corrupt", loss));
        let state = Self {
            record,
            stamps,
            found_stamps,
            losses: losses.into_iter().chain(job_loss).collect(),
            failed: None,
        };
        Ok((state, found))
    }

    /// The file's path.
    pub(super) fn path(&self) -> &Path {
        self.record.path()
    }

    /// The stamps of jobs that an earlier run has stored; once.
    pub(super) fn take_stamps(&mut self) -> Vec<StoredStamp> {
        std::mem::take(&mut self.found_stamps)
    }

    /// What was lost of the state that an earlier run has stored: the names of events, and sentences.
    pub(super) fn losses(&self) -> &[(&'static str, String)] {
        &self.losses
    }

    /// Looks whether the files are in their places.
    pub(super) fn look(&mut self) {
        self.record.look();
        self.stamps.look();
    }

    /// Whether the files are in their places.
    pub(super) fn is_in_place(&self) -> bool {
        self.missing().is_none()
    }

    fn missing(&self) -> Option<&str> {
        self.record.trouble().or(self.stamps.trouble())
    }

    /// What is wrong with the files, as sentences.
    pub(super) fn troubles(&self) -> impl Iterator<Item = String> {
        let lost = self.losses.iter().map(|(_, loss)| loss.clone());
        self.missing().map(str::to_owned).into_iter().chain(lost)
    }

    /// The writes that have failed since the last call.
    pub(super) fn take_failures(&mut self) -> Option<WriteFailures> {
        self.failed.take()
    }

    /// Makes sure that the disk has it all, for a clean exit.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.record.sync()?;
        self.stamps.sync()
    }
}

/// Returns what has become of the stamps in the file at `path`, if some are lost.
fn jobs_lost(path: &Path, damage: Damage) -> Option<String> {
    let path = path.display();
    let lost = match damage {
        Damage::None => return None,
        Damage::Records(count) => format!("{count} records of {path} were unreadable"),
        Damage::Emptied => format!("{path} was empty"),
    };
    Some(format!(
        "{lost}: starting without them; a job may run again in its period, unless another member knows of its run"
    ))
}

impl Store<Durable> for StateFile {
    fn store(&mut self, durable: &Durable) -> Stored {
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
