//! A file with one record that must survive a restart, which is never half written, and which one process has.
//!
//! Nothing is synced to the disk while a node runs: a written page survives the process.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ring_host::{Contents, TwoSlots};
use ring_process::runtime_directory;
use ring_proto::Stored;
use rustix::fs::{FlockOperation, flock};
use tracing::warn;

use super::Error;
use super::placed_file::PlacedFile;

/// Where the slots begin: each in a disk sector of its own, so that no torn sector hits both.
pub(super) const SLOTS: [u64; 2] = [0, 512];

/// How a record of `LEN` bytes says a `T`.
#[derive(Debug)]
pub(super) struct Format<T, const LEN: usize> {
    /// What a record begins with; its last two digits are its format.
    pub magic: [u8; 8],
    /// A record's bytes, but for what proves it.
    pub encode: fn(&T) -> [u8; LEN],
    /// What a record's bytes say, in this format or an older one; `None`: nothing that can be.
    pub decode: fn(&[u8; LEN]) -> Option<T>,
}

/// The file, locked for as long as this lives.
#[derive(Debug)]
pub(super) struct RecordFile<T: 'static, const LEN: usize> {
    file: PlacedFile,
    slots: TwoSlots<LEN>,
    format: &'static Format<T, LEN>,
    /// The record that was written last, encoded.
    newest: [u8; LEN],
}

/// What was found in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found<T> {
    /// The file is new.
    Nothing,
    /// What an earlier run has stored.
    Stored(T),
    /// No slot is valid: the node starts afresh.
    Corrupt,
    /// The file was there, and empty or all zeros: the node starts afresh.
    Emptied,
}

impl<T> Found<T> {
    /// What the node starts with: what was stored, or else this.
    pub(super) fn or(self, fresh: T) -> T {
        match self {
            Self::Stored(record) => record,
            Self::Nothing | Self::Corrupt | Self::Emptied => fresh,
        }
    }

    /// Returns the same of a part of the record.
    pub(super) fn map<U>(self, part: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Self::Nothing => Found::Nothing,
            Self::Stored(record) => Found::Stored(part(record)),
            Self::Corrupt => Found::Corrupt,
            Self::Emptied => Found::Emptied,
        }
    }

    /// Returns what has become of the state that an earlier run has stored in the file at `path`, if it is lost.
    pub(super) fn loss(&self, path: &Path) -> Option<String> {
        let path = path.display();
        match self {
            Self::Nothing | Self::Stored(_) => None,
            Self::Corrupt => Some(format!("{path} was unreadable: starting without it")),
            Self::Emptied => Some(format!("{path} was empty: starting without it")),
        }
    }
}

impl<T: 'static, const LEN: usize> RecordFile<T, LEN> {
    /// Opens and locks the file at `path`, and makes it and its directory if they are missing. A file without
    /// a valid record gets `fresh`.
    ///
    /// # Errors
    /// The directory or the file cannot be used, the file is no state file, another user's or a newer ringd's, or
    /// another process has it locked.
    pub(super) fn open(
        path: PathBuf,
        format: &'static Format<T, LEN>,
        fresh: &T,
    ) -> Result<(Self, Found<T>), Error> {
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
                Some(record) => Found::Stored(record),
                None if is_new => Found::Nothing,
                None if damaged > 0 => Found::Corrupt,
                None if length > SLOTS[1] + LEN as u64 => {
                    return Err(Error::StateForeign { path });
                }
                None => Found::Emptied,
            },
        };
        // A disk that is full or read-only is to be found now, not when there is something to store.
        let newest = match &found {
            Found::Stored(record) => (format.encode)(record),
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

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Writes a record in place of the older one of the two.
    ///
    /// # Errors
    /// The file cannot be written, or is not in its place; the newest record is still the one before.
    pub(super) fn write(&mut self, record: &T) -> io::Result<()> {
        let bytes = (self.format.encode)(record);
        self.slots.write(self.file.writable()?, bytes)?;
        self.newest = bytes;
        Ok(())
    }

    /// Writes the newest record once more, in place, with what is known of it by now.
    ///
    /// # Errors
    /// The file cannot be written, or is not in its place.
    pub(super) fn rewrite(&mut self, record: &T) -> io::Result<()> {
        let bytes = (self.format.encode)(record);
        self.slots.rewrite(self.file.writable()?, bytes)?;
        self.newest = bytes;
        Ok(())
    }

    /// Looks whether the file is in its place; makes it again if it was taken away and its directory is there.
    pub(super) fn look(&mut self) {
        let Self {
            file,
            format,
            newest,
            ..
        } = self;
        let restored = file.look(|file| {
            lock(file)?;
            let opened = TwoSlots::open(file, format.magic, SLOTS, format.decode)?;
            let (mut slots, Contents::Known { .. }) = opened else {
                return Err(io::Error::other("there is a file that is not its own"));
            };
            slots.write(file, *newest)?;
            Ok(slots)
        });
        if let Some(slots) = restored {
            self.slots = slots;
        }
    }

    /// Why nothing can be stored in it, as a sentence, if it is not in its place.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.file.trouble()
    }

    /// Makes sure that the disk has it all, for a clean exit.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.file().sync_all()
    }

    /// Lets all writes fail from now on.
    #[cfg(test)]
    pub(super) fn forbid_writes(&mut self) {
        self.file.forbid_writes();
    }
}

/// Locks a file for as long as it is open.
fn lock(file: &File) -> rustix::io::Result<()> {
    flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// Warns of a state file that was not synced at a clean exit.
pub(super) fn warn_unless_synced(synced: io::Result<()>) {
    if let Err(error) = synced {
        warn!(
            event = "state_not_synced",
            "cannot sync the state file: {error}"
        );
    }
}

/// Writes that failed since they were last asked about.
#[derive(Debug)]
pub(super) struct WriteFailures {
    /// How many.
    pub count: u64,
    /// Why the last one did.
    pub last: io::Error,
}

impl WriteFailures {
    /// Counts a write if it has failed, and says what became of it.
    pub(super) fn note(failed: &mut Option<Self>, written: io::Result<()>) -> Stored {
        let Err(last) = written else {
            return Stored::Done;
        };
        let count = failed.as_ref().map_or(0, |failed| failed.count) + 1;
        *failed = Some(Self { count, last });
        Stored::Failed
    }
}

/// For `map_err`: what the directory or file at `path` cannot be used for.
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
    fn a_process_that_was_started_just_now_does_not_keep_the_lock() {
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
