//! A file with one record that survives a restart. A crash never leaves the file half written, and only one process
//! uses the file.
//!
//! While a node runs, the file is not synced to the disk, because written data survive the end of the process.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ring_host::{Contents, TwoSlots};
use ring_process::runtime_directory;
use ring_proto::StoreOutcome;
use rustix::fs::{FlockOperation, flock};
use tracing::warn;

use super::Error;
use super::placed_file::PlacedFile;
use crate::system::events;

/// The offsets of the slots. Each slot is in a different disk sector, so that a torn sector damages only one slot.
pub(super) const SLOTS: [u64; 2] = [0, 512];

/// The encoding of a `T` as a record of `LEN` bytes.
#[derive(Debug)]
pub(super) struct Format<T, const LEN: usize> {
    /// The first bytes of a record. The last two of these bytes are the digits of the format.
    pub magic: [u8; 8],
    /// Encodes the part of a record that [`TwoSlots`] does not add.
    pub encode: fn(&T) -> [u8; LEN],
    /// Decodes a record in this format or an older format; `None` if no version writes such a record.
    pub decode: fn(&[u8; LEN]) -> Option<T>,
}

/// The file with the record. The file stays locked until this value is dropped.
#[derive(Debug)]
pub(super) struct RecordFile<T: 'static, const LEN: usize> {
    file: PlacedFile,
    slots: TwoSlots<LEN>,
    format: &'static Format<T, LEN>,
    /// The encoding of the last written record.
    newest: [u8; LEN],
}

/// The contents of the file when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadedState<T> {
    Nothing,
    /// The record of an earlier run.
    Stored(T),
    /// No slot is valid, so the node starts without its state.
    Corrupt,
    /// The file existed, but was empty or contained only zeros. So the node starts with no earlier state.
    Emptied,
}

impl<T> LoadedState<T> {
    /// Returns the stored record, or `fresh` if there is no stored record.
    pub(super) fn or(self, fresh: T) -> T {
        match self {
            Self::Stored(record) => record,
            Self::Nothing | Self::Corrupt | Self::Emptied => fresh,
        }
    }

    /// Applies `part` to the record.
    pub(super) fn map<U>(self, part: impl FnOnce(T) -> U) -> LoadedState<U> {
        match self {
            Self::Nothing => LoadedState::Nothing,
            Self::Stored(record) => LoadedState::Stored(part(record)),
            Self::Corrupt => LoadedState::Corrupt,
            Self::Emptied => LoadedState::Emptied,
        }
    }

    /// If the state of an earlier run is lost, describes the loss in the file at `path`.
    pub(super) fn loss(&self, path: &Path) -> Option<String> {
        let path = path.display();
        match self {
            Self::Nothing | Self::Stored(_) => None,
            Self::Corrupt => Some(format!(
                "{path} is damaged: ringd starts without its contents"
            )),
            Self::Emptied => Some(format!(
                "{path} was empty: ringd starts without its contents"
            )),
        }
    }
}

impl<T: 'static, const LEN: usize> RecordFile<T, LEN> {
    /// Opens and locks the file at `path`. Creates the file and its directory if they are missing. Writes `fresh` to a
    /// file without a valid record.
    ///
    /// # Errors
    /// Fails if the directory or the file cannot be used, or if a different process locked the file. Also fails if the
    /// file is no state file, or belongs to another user or a newer ringd.
    pub(super) fn open(
        path: PathBuf,
        format: &'static Format<T, LEN>,
        fresh: &T,
    ) -> Result<(Self, LoadedState<T>), Error> {
        if let Some(directory) = path.parent() {
            runtime_directory::make_directory(directory, 0o755).map_err(unusable(directory))?;
        }
        let (placed, is_new) = PlacedFile::open(path.clone()).map_err(unusable(&path))?;
        let file = placed.file();
        match lock(file) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::StateLocked { path }),
            Err(errno) => return Err(unusable(&path)(errno.into())),
        }
        let opened = TwoSlots::open(file, format.magic, SLOTS, format.decode);
        let (slots, contents) = opened.map_err(unusable(&path))?;
        let length = file.metadata().map_err(unusable(&path))?.len();
        let found = match contents {
            Contents::Newer(format) => return Err(Error::StateNewer { path, format }),
            Contents::Foreign => return Err(Error::StateForeign { path }),
            Contents::Known { newest, damaged } => match newest {
                Some(record) => LoadedState::Stored(record),
                None if is_new => LoadedState::Nothing,
                None if damaged > 0 => LoadedState::Corrupt,
                None if length > SLOTS[1] + LEN as u64 => {
                    return Err(Error::StateForeign { path });
                }
                None => LoadedState::Emptied,
            },
        };
        // Writes at once, so that a full or read-only disk is noticed at the start and not at the first change.
        let newest = match &found {
            LoadedState::Stored(record) => (format.encode)(record),
            _ => (format.encode)(fresh),
        };
        slots.rewrite(file, newest).map_err(unusable(&path))?;
        let opened = Self {
            file: placed,
            slots,
            format,
            newest,
        };
        Ok((opened, found))
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Writes a record over the older record of the two.
    ///
    /// # Errors
    /// Fails if the file cannot be written, or is not in its place. After a failure, the previous record is still the
    /// newest record.
    pub(super) fn write(&mut self, record: &T) -> io::Result<()> {
        let bytes = (self.format.encode)(record);
        self.slots.write(self.file.writable()?, bytes)?;
        self.newest = bytes;
        Ok(())
    }

    /// Writes the newest record again with updated contents, in the same slot.
    ///
    /// # Errors
    /// Fails if the file cannot be written, or is not in its place.
    pub(super) fn rewrite(&mut self, record: &T) -> io::Result<()> {
        let bytes = (self.format.encode)(record);
        self.slots.rewrite(self.file.writable()?, bytes)?;
        self.newest = bytes;
        Ok(())
    }

    /// Checks that the file is in its place. If the file is missing and its directory exists, creates the file again.
    pub(super) fn check_place(&mut self) {
        let Self {
            file,
            format,
            newest,
            ..
        } = self;
        let restored = file.check_place(|file| {
            lock(file)?;
            let opened = TwoSlots::open(file, format.magic, SLOTS, format.decode)?;
            let (mut slots, Contents::Known { .. }) = opened else {
                return Err(io::Error::other(
                    "the file there is not a state file of this node",
                ));
            };
            slots.write(file, *newest)?;
            Ok(slots)
        });
        if let Some(slots) = restored {
            self.slots = slots;
        }
    }

    /// Returns a description of the problem if the file is not in its place.
    pub(super) fn problem(&self) -> Option<&str> {
        self.file.problem()
    }

    /// Syncs the file to the disk before a clean exit.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.file().sync_all()
    }

    /// Makes all later writes fail.
    #[cfg(test)]
    pub(super) fn forbid_writes(&mut self) {
        self.file.forbid_writes();
    }
}

/// Locks a file until it is closed.
fn lock(file: &File) -> rustix::io::Result<()> {
    flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// Logs a warning if the state file was not synced at a clean exit.
pub(super) fn warn_unless_synced(synced: io::Result<()>) {
    if let Err(error) = synced {
        warn!(
            event = events::STATE_NOT_SYNCED,
            "cannot sync the state file: {error}"
        );
    }
}

/// The failed writes since the last query.
#[derive(Debug)]
pub(super) struct WriteFailures {
    pub count: u64,
    pub last: io::Error,
}

impl WriteFailures {
    /// Returns the outcome of a write. If the write failed, also counts the failure.
    pub(super) fn note(failed: &mut Option<Self>, written: io::Result<()>) -> StoreOutcome {
        let Err(last) = written else {
            return StoreOutcome::Done;
        };
        let count = failed.as_ref().map_or(0, |failed| failed.count) + 1;
        *failed = Some(Self { count, last });
        StoreOutcome::Failed
    }
}

/// Returns a function for `map_err`. The function converts a failure to use the directory or file at `path`.
pub(super) fn unusable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::State {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, RecordFile};

    static FORMAT: Format<[u8; 32], 32> = Format {
        magic: *b"RINGXX01",
        encode: |record| *record,
        decode: |bytes| Some(*bytes),
    };

    #[test]
    fn a_child_process_does_not_keep_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let open = || RecordFile::open(directory.path().join("state"), &FORMAT, &[0; 32]);
        let (first, _) = open().unwrap();
        let of_a_child = first.file.file().try_clone().unwrap();
        assert!(open().is_err(), "it is locked");
        drop(first);
        assert!(open().is_ok());
        drop(of_a_child);
    }
}
