//! Stores the highest configuration number that a server has seen, so that it survives a restart. The same file can
//! serve any list, because a number that is larger than necessary does no harm. After a change of the list,
//! configuration numbers and fencing numbers continue from the stored number.
//!
//! A record has 64 bytes, and is stored twice ([`TwoSlots`](ring_host::TwoSlots)):
//!
//! ```text
//! 16  configuration   u64
//! 24  ssig            i32   of the list that it was stored for
//! 28  zero            28 bytes
//! ```
//! A file of format 01 has a configuration of 32 bits, followed by ssig. This version of ringd also reads format 01.
//! All integers are big-endian.

use std::io;
use std::path::Path;

use ring_control::NodeName;
use ring_host::array_at;
use ring_proto::StoreOutcome;
use ring_proto::ftn::CONFIGURATION_NUMBER_MAX;
use ring_proto::ftn::server::Durable;
use ring_runtime::driver::Store;

use super::error::Error;
use crate::system::record_file::{Format, LoadedState, RecordFile, WriteFailures};

const LEN: usize = 64;

const FORMAT: Format<Record, LEN> = Format {
    magic: *b"RINGFT02",
    encode,
    decode,
};

/// The stored values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    /// The highest configuration number seen.
    pub configuration: u64,
    /// The signature of the list of servers for which the number was stored.
    pub ssig: i32,
}

fn encode(record: &Record) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[16..24].copy_from_slice(&record.configuration.to_be_bytes());
    bytes[24..28].copy_from_slice(&record.ssig.to_be_bytes());
    bytes
}

fn decode(bytes: &[u8; LEN]) -> Option<Record> {
    let (configuration, ssig) = match &bytes[6..8] {
        b"01" => {
            let configuration = u32::from_be_bytes(array_at(bytes, 16));
            (configuration.into(), array_at(bytes, 20))
        }
        b"02" => (u64::from_be_bytes(array_at(bytes, 16)), array_at(bytes, 24)),
        _ => return None,
    };
    let ssig = i32::from_be_bytes(ssig);
    (configuration <= CONFIGURATION_NUMBER_MAX).then_some(Record {
        configuration,
        ssig,
    })
}

/// The state file of one server. The file stays locked until this value is dropped.
#[derive(Debug)]
pub(super) struct StateFile {
    record: RecordFile<Record, LEN>,
    ssig: i32,
    failed: Option<WriteFailures>,
    is_failing: bool,
}

impl StateFile {
    /// Opens and locks the file of server `index` in `directory`. Creates the file and the directory if they are
    /// missing. `ssig`, the signature of the list, is part of each record that is written later.
    ///
    /// # Errors
    /// Fails if the directory or the file cannot be used, or if a different process locked the file. Also fails if the
    /// file belongs to another user or a newer ringd.
    pub(super) fn open(
        directory: &Path,
        (name, index): (&NodeName, usize),
        ssig: i32,
    ) -> Result<(Self, LoadedState<Record>), Error> {
        let fresh = Record {
            configuration: 0,
            ssig,
        };
        let opened = RecordFile::open(name.state_path(directory), &FORMAT, &fresh);
        let (record, found) = opened.map_err(Error::state_error(index))?;
        let file = Self {
            record,
            ssig,
            failed: None,
            is_failing: false,
        };
        Ok((file, found))
    }

    pub(super) fn path(&self) -> &Path {
        self.record.path()
    }

    pub(super) const fn is_failing(&self) -> bool {
        self.is_failing
    }

    /// Checks that the file is in its place. If the file is missing, creates it again.
    pub(super) fn check_place(&mut self) {
        self.record.check_place();
    }

    /// Returns a description of the problem if the file is not in its place.
    pub(super) fn missing(&self) -> Option<&str> {
        self.record.problem()
    }

    /// Returns the failed writes since the last call.
    pub(super) const fn take_failures(&mut self) -> Option<WriteFailures> {
        self.failed.take()
    }

    /// Syncs the file to the disk before a clean exit.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.record.sync()
    }
}

impl Store<Durable> for StateFile {
    fn store(&mut self, durable: &Durable) -> StoreOutcome {
        let written = self.record.write(&Record {
            configuration: durable.configuration,
            ssig: self.ssig,
        });
        self.is_failing = written.is_err();
        WriteFailures::note(&mut self.failed, written)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ring_proto::StoreOutcome;
    use ring_proto::ftn::server::Durable;

    use super::{CONFIGURATION_NUMBER_MAX, Error, FORMAT, Record, StateFile, decode, encode};
    use crate::system::record_file::LoadedState;
    use ring_control::NodeName;
    use ring_runtime::driver::Store;

    fn open(directory: &Path, ssig: i32) -> Result<(StateFile, LoadedState<Record>), Error> {
        StateFile::open(directory, (&NodeName::of_system("ftn", "2"), 2), ssig)
    }

    #[test]
    fn the_last_record_is_found_again_with_its_list() {
        let directory = tempfile::tempdir().unwrap();
        let (mut file, found) = open(directory.path(), -7).unwrap();
        assert_eq!(found, LoadedState::Nothing);
        assert_eq!(file.path(), directory.path().join("ftn-2.state"));
        for configuration in [3, 6, 9] {
            let stored = file.store(&Durable { configuration });
            assert_eq!(stored, StoreOutcome::Done);
        }
        drop(file);
        let (_file, found) = open(directory.path(), 8).unwrap();
        let record = Record {
            configuration: 9,
            ssig: -7,
        };
        assert_eq!(found, LoadedState::Stored(record));
    }

    #[test]
    fn a_second_server_of_the_same_index_does_not_get_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let _first = open(directory.path(), 1).unwrap();
        let second = open(directory.path(), 2).unwrap_err();
        assert!(
            matches!(second, Error::StateTaken { index: 2, .. }),
            "{second}"
        );
    }

    #[test]
    fn a_failed_write_is_reported_and_the_server_continues() {
        let directory = tempfile::tempdir().unwrap();
        let (mut file, _) = open(directory.path(), 1).unwrap();
        assert!(file.take_failures().is_none());
        file.record.forbid_writes();
        for configuration in [3, 6] {
            let stored = file.store(&Durable { configuration });
            assert_eq!(stored, StoreOutcome::Failed);
            assert!(file.is_failing());
        }
        assert_eq!(file.take_failures().unwrap().count, 2);
        assert!(file.take_failures().is_none());
    }

    #[test]
    fn nothing_is_stored_while_the_directory_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("place");
        let (mut file, _) = open(&place, 1).unwrap();
        std::fs::remove_dir_all(&place).unwrap();
        file.check_place();
        assert!(file.missing().is_some());
        let stored = file.store(&Durable { configuration: 3 });
        assert_eq!(stored, StoreOutcome::Failed);
        std::fs::create_dir(&place).unwrap();
        file.check_place();
        assert!(file.missing().is_none());
        let stored = file.store(&Durable { configuration: 4 });
        assert_eq!((stored, file.is_failing()), (StoreOutcome::Done, false));
    }

    #[test]
    fn a_number_that_is_too_large_is_refused() {
        let record = |configuration| Record {
            configuration,
            ssig: i32::MIN,
        };
        for (configuration, is_one) in [
            (0, true),
            (CONFIGURATION_NUMBER_MAX, true),
            (CONFIGURATION_NUMBER_MAX + 1, false),
        ] {
            let mut bytes = encode(&record(configuration));
            bytes[..8].copy_from_slice(&FORMAT.magic);
            assert_eq!(decode(&bytes), is_one.then(|| record(configuration)));
        }
    }

    /// Opens a file of the previous format, in which a configuration has 32 bits. Checks that the file is rewritten in
    /// the current format.
    #[test]
    fn a_file_of_format_01_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ftn-2.state");
        let mut old = [0; 64];
        old[..8].copy_from_slice(b"RINGFT01");
        old[15] = 2;
        old[16..20].copy_from_slice(&5_329_840_u32.to_be_bytes());
        old[20..24].copy_from_slice(&7_i32.to_be_bytes());
        let sum = xxhash_rust::xxh3::xxh3_64(&old[..56]);
        old[56..].copy_from_slice(&sum.to_be_bytes());
        std::fs::write(&path, old).unwrap();
        for _ in 0..2 {
            let (_file, found) = open(directory.path(), 7).unwrap();
            let record = Record {
                configuration: 5_329_840,
                ssig: 7,
            };
            assert_eq!(found, LoadedState::Stored(record));
        }
        assert_eq!(&std::fs::read(&path).unwrap()[..8], b"RINGFT02");
    }
}
