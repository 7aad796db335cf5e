//! Stores the state that survives a restart, in a file that is never half written.
//!
//! A changed known token is first written to a file in memory ([`RecentState`]), and about a second later to the state
//! file. Any other change is written to the state file at once.
//!
//! After a power loss, data may be missing on the disk. The clock replaces the missing data, because the progress of a
//! new token starts from the clock (`docs/reference/lab2/states.md T7`). Start with [`StateFile`].

mod recent;
mod record;
mod stamps;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use ring_codec::MacAddr;
use ring_control::{Finding, NodeName};
use ring_proto::StoreOutcome;
use ring_proto::lab2::{StoredStamp, StoredState};
use ring_runtime::driver::Store;

use crate::system::Error;
use crate::system::events as shared_events;
use crate::system::lab2::{events, troubles};
use crate::system::record_file::{LoadedState, RecordFile, WriteFailures, unusable};
use crate::system::troubles as shared_troubles;
use recent::{LeftState, RecentState, join, unused};
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
    /// The file in memory; `None` if its directory is not in memory.
    recent: Option<RecentState>,
    /// The state that was stored last.
    newest: StoredState,
    stamps: StampFile,
    /// The stamps that an earlier run stored; empty after they were taken.
    found_stamps: Vec<StoredStamp>,
    /// Lost parts of an earlier run's state: for each part the name of the event, and a text.
    losses: Vec<(&'static str, String)>,
    failed: Option<WriteFailures>,
}

impl StateFile {
    /// Opens and locks the ring's state file in `directory`, and opens the file of the ring's jobs in the same
    /// directory. Also opens the file `recent` of the node with this address, if it is in memory. Creates missing
    /// files.
    ///
    /// # Errors
    /// Fails if the directory or a file cannot be used, or if a different process locked the state file. Also fails if
    /// a file is no state file, or belongs to another user or a newer ringd.
    pub(super) fn open(
        directory: &Path,
        ring: &NodeName,
        recent: &Path,
        address: MacAddr,
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
        // Without the file in memory, each change is written to the state file.
        let opened = RecentState::open(recent.to_owned(), address).map(Option::unzip);
        let (mut opened_recent, left) = match opened {
            Ok((recent, left)) => (recent, Ok(left)),
            Err(error) => (None, Err(error)),
        };
        let recent_loss = unused(recent, &left);
        let left = match left {
            Ok(Some(LeftState::Stored(left))) => Some(left),
            _ => None,
        };
        let found = found.map(|record| record.durable);
        let found = match (found, left) {
            // A person removed the state file, so that the node forgets everything.
            (LoadedState::Nothing, _) | (_, None) => found,
            (LoadedState::Stored(stored), Some(left)) => LoadedState::Stored(join(stored, left)),
            (LoadedState::Corrupt | LoadedState::Emptied, Some(left)) => LoadedState::Stored(left),
        };
        // Stores the flag only after the mark is written. Otherwise, if a full disk ended this start, the next start
        // would give a false warning.
        let newest = found.or(INITIAL_DURABLE);
        let known = Record {
            durable: newest,
            has_marked_jobs: true,
        };
        let rewritten = record.rewrite(&known);
        rewritten.map_err(unusable(record.path()))?;
        if let Some(recent) = &mut opened_recent {
            recent.write(&newest);
            recent.on_written();
        }
        let loss = found.loss(record.path());
        let loss = loss.map(|loss| format!("{loss}; new tokens continue from the clock"));
        let losses = loss.into_iter().chain(recent_loss);
        let losses = losses.map(|loss| (shared_events::STATE_CORRUPT, loss));
        let job_loss = jobs_lost(&jobs, damage).map(|loss| (events::JOBS_CORRUPT, loss));
        let state = Self {
            record,
            recent: opened_recent,
            newest,
            stamps,
            found_stamps,
            losses: losses.chain(job_loss).collect(),
            failed: None,
        };
        Ok((state, found))
    }

    pub(super) fn path(&self) -> &Path {
        self.record.path()
    }

    /// Binds the file in memory to the address of another network card.
    pub(super) fn set_address(&mut self, address: MacAddr) {
        if let Some(recent) = &mut self.recent {
            recent.set_address(address);
            recent.write(&self.newest);
        }
    }

    /// Takes the stored stamps of an earlier run.
    pub(super) fn take_stamps(&mut self) -> Vec<StoredStamp> {
        std::mem::take(&mut self.found_stamps)
    }

    /// Returns the lost parts of an earlier run's state: for each part the name of the event, and a text.
    pub(super) fn losses(&self) -> &[(&'static str, String)] {
        &self.losses
    }

    /// Checks that the files are in their places, and creates missing files again. If only the file in memory has the
    /// newest state, writes this state to the state file.
    pub(super) fn check_place(&mut self) {
        self.record.check_place();
        self.stamps.check_place();
        let is_removed = self.recent.as_ref().is_some_and(|it| !it.is_in_place());
        let written = if is_removed {
            // From now on, each change is written to the state file.
            self.recent = None;
            self.write_newest()
        } else {
            self.write_recent()
        };
        WriteFailures::note(&mut self.failed, written);
    }

    /// Writes the newest state to the state file, if only the file in memory has it.
    fn write_recent(&mut self) -> io::Result<()> {
        if self.recent.as_ref().is_some_and(RecentState::is_ahead) {
            self.write_newest()
        } else {
            Ok(())
        }
    }

    fn write_newest(&mut self) -> io::Result<()> {
        let written = self.record.write(&Record {
            durable: self.newest,
            has_marked_jobs: true,
        });
        if let Some(recent) = &mut self.recent {
            match written {
                Ok(()) => {
                    // The file in memory replaces a state file that is damaged.
                    recent.write(&self.newest);
                    recent.on_written();
                }
                Err(_) => recent.on_failed(),
            }
        }
        written
    }

    /// Returns the file in memory, if it may take this state.
    fn recent_for(&mut self, durable: &StoredState) -> Option<&mut RecentState> {
        let only_token_changes =
            durable.stamp.is_none() && durable.my_token_number == self.newest.my_token_number;
        let may_take = only_token_changes && self.is_in_place();
        self.recent
            .as_mut()
            .filter(|recent| may_take && recent.has_room())
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

    /// Syncs both files to the disk before a clean exit. Removes the file in memory.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.write_recent()?;
        self.record.sync()?;
        self.stamps.sync()?;
        self.recent.take().map_or(Ok(()), RecentState::remove)
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
        if let Some(recent) = self.recent_for(durable) {
            recent.write(durable);
            self.newest = *durable;
            return StoreOutcome::Done;
        }
        let stamp = durable.stamp.as_ref();
        let stamped = stamp.map_or(Ok(()), |stamp| self.stamps.store(stamp));
        let written = stamped.and_then(|()| {
            let before = std::mem::replace(&mut self.newest, *durable);
            self.write_newest().inspect_err(|_| self.newest = before)
        });
        WriteFailures::note(&mut self.failed, written)
    }
}
