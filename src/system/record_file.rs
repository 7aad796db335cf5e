//! A file with one record that must survive a restart, which is never half written, and which one process has.
//!
//! Nothing is synced to the disk while a node runs: a written page survives the process.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use ring_proto::Stored;
use tracing::warn;

use super::Error;
use crate::host::{Contents, TwoSlots};
use crate::sys::{owned, runtime};

/// Where the slots begin: each in a disk sector of its own, so that no torn sector hits both.
pub const SLOTS: [u64; 2] = [0, 512];

/// How a record of `LEN` bytes says a `T`.
#[derive(Debug)]
pub struct Format<T, const LEN: usize> {
    /// What a record begins with; its last two digits are its format.
    pub magic: [u8; 8],
    /// A record's bytes, but for what proves it.
    pub encode: fn(&T) -> [u8; LEN],
    /// What a record's bytes say, in this format or an older one; `None`: nothing that can be.
    pub decode: fn(&[u8; LEN]) -> Option<T>,
}

/// The file, locked for as long as this lives.
#[derive(Debug)]
pub struct RecordFile<T: 'static, const LEN: usize> {
    file: Flock<File>,
    path: PathBuf,
    slots: TwoSlots<LEN>,
    format: &'static Format<T, LEN>,
}

/// What was found in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<T> {
    /// The file is new.
    Nothing,
    /// What an earlier run has stored.
    Stored(T),
    /// No slot is valid: the node starts afresh.
    Corrupt,
}

impl<T> Found<T> {
    /// What the node starts with: what was stored, or else this.
    pub fn or(self, fresh: T) -> T {
        match self {
            Self::Stored(record) => record,
            Self::Nothing | Self::Corrupt => fresh,
        }
    }
}

impl<T: 'static, const LEN: usize> RecordFile<T, LEN> {
    /// Opens and locks the file at `path`, and makes it and its directory if they are missing. A file without
    /// a valid record gets `fresh`.
    ///
    /// # Errors
    /// The directory or the file cannot be used, the file is another user's or a newer ringd's, or another
    /// process has it locked.
    pub fn open(
        path: PathBuf,
        format: &'static Format<T, LEN>,
        fresh: &T,
    ) -> Result<(Self, Found<T>), Error> {
        if let Some(directory) = path.parent() {
            runtime::make_directory(directory, 0o755).map_err(unusable(directory))?;
        }
        let file = owned::open(&path).map_err(unusable(&path))?;
        let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => file,
            Err((_, Errno::EWOULDBLOCK)) => return Err(Error::StateLocked { path }),
            Err((_, errno)) => return Err(unusable(&path)(errno.into())),
        };
        let opened = TwoSlots::open(&file, format.magic, SLOTS, format.decode);
        let (slots, contents) = opened.map_err(unusable(&path))?;
        let found = match contents {
            Contents::Newer(format) => return Err(Error::StateNewer { path, format }),
            Contents::Known { newest, .. } => match newest {
                Some(record) => Found::Stored(record),
                None if is_empty(&file).map_err(unusable(&path))? => Found::Nothing,
                None => Found::Corrupt,
            },
        };
        // A disk that is full or read-only is to be found now, not when there is something to store.
        let record = match &found {
            Found::Stored(record) => record,
            Found::Nothing | Found::Corrupt => fresh,
        };
        let written = slots.rewrite(&file, (format.encode)(record));
        written.map_err(unusable(&path))?;
        let opened = Self {
            file,
            path,
            slots,
            format,
        };
        Ok((opened, found))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a record in place of the older one of the two.
    ///
    /// # Errors
    /// The file cannot be written; the newest record is still the one before.
    pub fn write(&mut self, record: &T) -> io::Result<()> {
        self.slots.write(&self.file, (self.format.encode)(record))
    }

    /// Makes sure that the disk has it all, for a clean exit.
    ///
    /// # Errors
    /// The disk does not have it.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Lets all writes fail from now on.
    #[cfg(test)]
    pub fn forbid_writes(&mut self) {
        *self.file = File::open(&self.path).expect("it can be read");
    }
}

/// Warns of a state file that was not synced at a clean exit.
pub fn warn_unless_synced(synced: io::Result<()>) {
    if let Err(error) = synced {
        warn!(
            event = "state_not_synced",
            "cannot sync the state file: {error}"
        );
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

impl WriteFailures {
    /// Counts a write if it has failed, and says what became of it.
    pub fn note(failed: &mut Option<Self>, written: io::Result<()>) -> Stored {
        let Err(last) = written else {
            return Stored::Done;
        };
        let count = failed.as_ref().map_or(0, |failed| failed.count) + 1;
        *failed = Some(Self { count, last });
        Stored::Failed
    }
}

/// For `map_err`: what the directory or file at `path` cannot be used for.
pub fn unusable(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::State {
        path: path.to_owned(),
        source,
    }
}

fn is_empty(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.len() == 0)
}
