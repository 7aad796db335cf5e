//! A pause that survives a restart. While the pause lasts, a file exists next to the state file.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use ring_process::private_files;
use tracing::warn;

use crate::system::lab2::events;

#[derive(Debug)]
pub(super) struct StoredPause {
    path: PathBuf,
}

impl StoredPause {
    /// Returns the file next to the node's state file.
    pub(super) fn next_to(state: &Path) -> Self {
        Self {
            path: state.with_extension("paused"),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether an earlier run stored a pause.
    ///
    /// # Errors
    /// Fails if the file belongs to another user, if it is no stored pause, or if the kernel cannot check whether the
    /// file exists.
    pub(super) fn is_stored(&self) -> io::Result<bool> {
        if !private_files::exists(&self.path)? {
            return Ok(false);
        }
        // A stored pause is empty. A file with contents is refused, because resume would delete it.
        if fs::metadata(&self.path)?.len() > 0 {
            return Err(private_files::refusal(
                "it is not a stored pause: a stored pause is an empty file",
            ));
        }
        Ok(true)
    }

    pub(super) fn store(&self) -> Result<(), String> {
        private_files::open(&self.path)
            .map(|_| self.sync())
            .map_err(|why| self.cannot("store", &why))
    }

    pub(super) fn forget(&self) -> Result<(), String> {
        let removed = self.is_stored().and_then(|is_stored| {
            if is_stored {
                fs::remove_file(&self.path)?;
                self.sync();
            }
            Ok(())
        });
        removed.map_err(|error| self.cannot("remove", &error))
    }

    /// Syncs the directory in a thread, because the loop must not wait for a disk.
    fn sync(&self) {
        let Some(directory) = self.path.parent().map(Path::to_owned) else {
            return;
        };
        let synced = thread::Builder::new().spawn(move || {
            let synced = File::open(&directory).and_then(|directory| directory.sync_all());
            if let Err(error) = synced {
                let directory = directory.display();
                warn!(
                    event = events::PAUSE_NOT_SYNCED,
                    "cannot sync {directory}: {error}; a power failure may undo the last pause or resume"
                );
            }
        });
        if let Err(error) = synced {
            warn!(
                event = events::PAUSE_NOT_SYNCED,
                "cannot start a thread to sync the pause: {error}; a power failure may undo the last pause or resume"
            );
        }
    }

    fn cannot(&self, what: &str, why: &io::Error) -> String {
        format!("cannot {what} the pause in {}: {why}", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::StoredPause;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_pause_is_stored_until_it_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let stored = StoredPause::next_to(&directory.path().join("eth0.state"));
        assert!(!stored.is_stored().unwrap());
        assert_eq!(stored.forget(), Ok(()));
        for _ in 0..2 {
            assert_eq!(stored.store(), Ok(()));
            assert!(stored.is_stored().unwrap());
        }
        assert_eq!(stored.forget(), Ok(()));
        assert!(!stored.is_stored().unwrap());
    }

    #[test]
    fn a_failure_names_the_file_and_no_link_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let stored = StoredPause::next_to(&directory.path().join("gone/eth0.state"));
        let why = stored.store().unwrap_err();
        assert!(why.contains("gone/eth0.paused"), "{why}");
        let victim = directory.path().join("victim");
        let stored = StoredPause::next_to(&directory.path().join("eth0.state"));
        symlink(&victim, stored.path()).unwrap();
        assert!(stored.store().is_err());
        assert!(stored.is_stored().is_err());
        assert!(!victim.exists());
    }

    #[test]
    fn another_file_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let stored = StoredPause::next_to(&directory.path().join("eth0.state"));
        std::fs::write(stored.path(), "theirs").unwrap();
        assert!(stored.is_stored().is_err());
        let why = stored.forget().unwrap_err();
        assert!(why.contains("not a stored pause"), "{why}");
        assert_eq!(std::fs::read(stored.path()).unwrap(), b"theirs");
    }

    /// Opening a FIFO for writing would wait for a reader.
    #[test]
    fn a_fifo_is_no_pause_and_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let stored = StoredPause::next_to(&directory.path().join("eth0.state"));
        mkfifo(stored.path(), Mode::S_IRWXU).unwrap();
        let why = stored.store().unwrap_err();
        assert!(why.contains("not a regular file"), "{why}");
        assert!(stored.is_stored().is_err());
    }
}
