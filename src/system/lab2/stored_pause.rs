//! A pause that survives a restart. While the pause lasts, a file exists next to the state file. The file contains the
//! end and the reason of the pause. The file of a pause without an end and without a reason is empty.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ring_control::lab2::PauseRequest;
use ring_process::private_files;
use ring_proto::lab2::{Pause, PauseReason};
use ring_proto::time::Now;
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::system::lab2::events;

/// The longest file of a pause. A longer file is no stored pause.
const FILE_LEN_MAX: u64 = 4_096;

/// The end and the reason of a pause, as an operator requested them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PauseTerms {
    /// The end by the machine's clock, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// The time from the request to the end. If the clock is wrong after a restart, the pause lasts at most this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl PauseTerms {
    /// Returns the terms of a request; `None` if the reason is not legal.
    pub(super) fn of_request(request: &PauseRequest, now: Now) -> Option<Self> {
        let reason = request.reason.clone().unwrap_or_default();
        PauseReason::new(&reason)?;
        Some(Self {
            until_ms: request.until_ms,
            for_ms: request
                .until_ms
                .map(|until| until.saturating_sub(wall_ms(now))),
            reason,
        })
    }

    pub(super) const fn has_end(&self) -> bool {
        self.until_ms.is_some()
    }

    /// Whether these terms have the same end and reason.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.until_ms, &self.reason) == (other.until_ms, &other.reason)
    }

    /// Returns the pause with its end on the monotonic clock.
    pub(super) fn pause(&self, now: Now) -> Pause {
        let left = self.until_ms.map(|until| {
            let left = until.saturating_sub(wall_ms(now));
            self.for_ms.map_or(left, |whole| left.min(whole))
        });
        Pause {
            until: left.map(|left| now.monotonic + Duration::from_millis(left)),
            reason: PauseReason::new(&self.reason).unwrap_or(PauseReason::NONE),
        }
    }

    /// Returns the contents of the file.
    fn encode(&self) -> io::Result<Vec<u8>> {
        // Earlier versions of ringd know only empty files.
        if *self == Self::default() {
            return Ok(Vec::new());
        }
        Ok(serde_json::to_vec(self)?)
    }

    fn decode(contents: &[u8]) -> Option<Self> {
        if contents.is_empty() {
            return Some(Self::default());
        }
        let terms: Self = serde_json::from_slice(contents).ok()?;
        PauseReason::new(&terms.reason).map(|_| terms)
    }
}

const fn wall_ms(now: Now) -> u64 {
    now.wall / 1_000_000
}

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

    /// Returns the pause that an earlier request stored; `None` if there is none.
    ///
    /// # Errors
    /// Fails if the file belongs to another user, if it is no stored pause, or if the kernel cannot check whether the
    /// file exists.
    pub(super) fn load(&self) -> io::Result<Option<PauseTerms>> {
        if !private_files::exists(&self.path)? {
            return Ok(None);
        }
        // A file with other contents is refused, because resume would delete it.
        let is_long = fs::metadata(&self.path)?.len() > FILE_LEN_MAX;
        let contents = if is_long {
            None
        } else {
            Some(fs::read(&self.path)?)
        };
        let terms = contents.as_deref().and_then(PauseTerms::decode);
        let refusal = || private_files::refusal("it is not a stored pause of this version");
        terms.map(Some).ok_or_else(refusal)
    }

    /// Whether a pause is stored.
    pub(super) fn exists(&self) -> bool {
        matches!(self.load(), Ok(Some(_)))
    }

    /// Stores a pause. If another pause is stored, replaces it in one step.
    pub(super) fn store(&self, terms: &PauseTerms) -> Result<(), String> {
        let stored = self.load().and_then(|_| {
            let new = self.path.with_extension("paused-new");
            // A crash may have left this file.
            match fs::remove_file(&new) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = private_files::open(&new)?;
            file.write_all(&terms.encode()?)?;
            fs::rename(&new, &self.path)
        });
        stored
            .map(|()| self.sync())
            .map_err(|why| self.cannot("store", &why))
    }

    pub(super) fn forget(&self) -> Result<(), String> {
        let removed = self.load().and_then(|stored| {
            if stored.is_some() {
                fs::remove_file(&self.path)?;
                self.sync();
            }
            Ok(())
        });
        removed.map_err(|error| self.cannot("remove", &error))
    }

    /// Syncs the file and its directory in a thread, because the loop must not wait for a disk.
    fn sync(&self) {
        let Some(directory) = self.path.parent().map(Path::to_owned) else {
            return;
        };
        let path = self.path.clone();
        let synced = thread::Builder::new().spawn(move || {
            // After resume, there is no file.
            if let Ok(file) = File::open(path) {
                let _ = file.sync_all();
            }
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
    use super::{PauseTerms, StoredPause};
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use ring_control::lab2::PauseRequest;
    use ring_proto::lab2::PauseReason;
    use ring_proto::time::{Instant, Now};
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    #[test]
    fn a_pause_is_stored_until_it_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let stored = StoredPause::next_to(&directory.path().join("eth0.state"));
        assert_eq!(stored.load().unwrap(), None);
        assert_eq!(stored.forget(), Ok(()));
        let timed = PauseTerms {
            until_ms: Some(1_700_000_000_000),
            for_ms: Some(7_200_000),
            reason: "disk \"sda\"".to_owned(),
        };
        for terms in [PauseTerms::default(), timed.clone(), timed] {
            assert_eq!(stored.store(&terms), Ok(()));
            assert_eq!(stored.load().unwrap(), Some(terms));
        }
        assert_eq!(stored.forget(), Ok(()));
        assert_eq!(stored.load().unwrap(), None);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_pause_without_an_end_and_a_reason_is_an_empty_file() {
        let directory = tempfile::tempdir().unwrap();
        let stored = StoredPause::next_to(&directory.path().join("eth0.state"));
        stored.store(&PauseTerms::default()).unwrap();
        assert_eq!(std::fs::read(stored.path()).unwrap(), b"");
    }

    #[test]
    fn a_pause_ends_at_its_time_and_lasts_no_longer_than_requested() {
        let at = |seconds: u64, wall: u64| Now {
            monotonic: Instant::from_nanos(seconds * 1_000_000_000),
            wall: wall * 1_000_000_000,
        };
        let request = PauseRequest {
            until_ms: Some(1_100_000),
            reason: Some("disk".to_owned()),
            ..PauseRequest::default()
        };
        let terms = PauseTerms::of_request(&request, at(5, 1_000)).unwrap();
        let end = |now: Now| terms.pause(now).until.unwrap().since(now.monotonic);
        assert_eq!(
            terms.pause(at(5, 1_000)).reason,
            PauseReason::new("disk").unwrap()
        );
        for (now, left) in [
            (at(5, 1_000), 100),
            (at(9, 1_040), 60),
            (at(9, 1_200), 0),
            (at(9, 0), 100),
        ] {
            assert_eq!(end(now), Duration::from_secs(left), "{now:?}");
        }
        let illegal = PauseRequest {
            reason: Some("a\u{1b}b".to_owned()),
            ..request
        };
        assert_eq!(PauseTerms::of_request(&illegal, at(5, 1_000)), None);
    }

    #[test]
    fn a_failure_names_the_file_and_no_link_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let stored = StoredPause::next_to(&directory.path().join("gone/eth0.state"));
        let why = stored.store(&PauseTerms::default()).unwrap_err();
        assert!(why.contains("gone/eth0.paused"), "{why}");
        let victim = directory.path().join("victim");
        let stored = StoredPause::next_to(&directory.path().join("eth0.state"));
        symlink(&victim, stored.path()).unwrap();
        assert!(stored.store(&PauseTerms::default()).is_err());
        assert!(stored.load().is_err());
        assert!(!victim.exists());
    }

    #[test]
    fn another_file_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let stored = StoredPause::next_to(&directory.path().join("eth0.state"));
        for theirs in ["theirs", "{\"other\":1}", &" ".repeat(5_000)] {
            std::fs::write(stored.path(), theirs).unwrap();
            assert!(stored.load().is_err());
            assert!(stored.store(&PauseTerms::default()).is_err());
            let why = stored.forget().unwrap_err();
            assert!(why.contains("not a stored pause"), "{why}");
            assert_eq!(std::fs::read(stored.path()).unwrap(), theirs.as_bytes());
        }
    }

    /// Opening a FIFO for writing would wait for a reader.
    #[test]
    fn a_fifo_is_no_pause_and_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let stored = StoredPause::next_to(&directory.path().join("eth0.state"));
        mkfifo(stored.path(), Mode::S_IRWXU).unwrap();
        let why = stored.store(&PauseTerms::default()).unwrap_err();
        assert!(why.contains("not a regular file"), "{why}");
        assert!(stored.load().is_err());
    }
}
