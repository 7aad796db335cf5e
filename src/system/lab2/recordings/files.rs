//! The files of recordings. Old files are removed, so that recordings cannot fill the disk.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring_proto::lab2::{Event, Lab2};
use ring_recording::{About, Recording};
use ring_runtime::clock;

use super::Cause;

/// The name of the protocol in recordings.
const SYSTEM: &str = "lab2";
/// The ending of the names of recordings.
const EXTENSION: &str = "pcapng";
/// The ending of the name of a file that is not complete.
const PARTIAL: &str = "pcapng.new";
/// The permissions of a recording. The members of the daemon's group may also use its control socket.
const MODE: u32 = 0o640;
const NANOS_PER_MS: u64 = 1_000_000;
/// If the node wrote no automatic recording for this time, the next one begins a series.
const SERIES_PAUSE: Duration = Duration::from_secs(60 * 60);

/// The kinds of recordings. Each kind has its own places, so no kind removes the files of another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Requested,
    /// The first automatic recording of a series. It is the nearest to the origin of the problem.
    First,
    /// An automatic recording after the first one of its series.
    Later,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Requested, Self::First, Self::Later];

    /// Returns the part of the name between the time and the extension.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Requested => "",
            Self::First => ".first",
            Self::Later => ".later",
        }
    }

    /// Returns the number of recordings of this kind that the directory keeps for each ring.
    pub(super) const fn places(self) -> usize {
        match self {
            Self::Requested => 4,
            Self::First | Self::Later => 2,
        }
    }
}

/// Writes the files of one ring.
#[derive(Debug, Clone)]
pub(in super::super) struct RecordingWriter {
    ring: String,
    directory: PathBuf,
    /// The part of all names before the time.
    prefix: String,
}

/// A recording in the directory. The oldest recordings come first in their order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    /// The time in milliseconds since 1970.
    time: u64,
    path: PathBuf,
}

impl RecordingWriter {
    /// Creates a writer of files next to the state file of a ring.
    pub(in super::super) fn next_to(state: &Path, ring: String) -> Self {
        let name = state.file_stem().unwrap_or_default().to_string_lossy();
        Self {
            ring,
            directory: state.parent().unwrap_or(Path::new(".")).to_owned(),
            prefix: format!("{name}."),
        }
    }

    /// Writes a recording, and returns the path of its file.
    pub(super) fn write(&self, recording: &Recording<Lab2>, cause: Cause) -> io::Result<PathBuf> {
        let now = clock::now().wall / NANOS_PER_MS;
        let kind = self.kind(cause, now)?;
        // The space of old recordings may be necessary for the new recording.
        self.make_place(kind)?;
        let path = self.path(now, kind, EXTENSION);
        // If this process is killed, the name shows that the file is not complete.
        let partial = self.path(now, kind, PARTIAL);
        let written = self.write_to(&partial, recording, cause);
        let written = written.and_then(|()| fs::rename(&partial, &path));
        if written.is_err() {
            // The error of the write is the one to report. The next recording removes a file that stays.
            let _ = fs::remove_file(&partial);
        }
        written.map(|()| path)
    }

    /// Returns the kind of a recording that is written at `now`.
    pub(super) fn kind(&self, cause: Cause, now: u64) -> io::Result<Kind> {
        if cause.is_request() {
            return Ok(Kind::Requested);
        }
        let mut automatic = self.find(Kind::First, EXTENSION)?;
        automatic.extend(self.find(Kind::Later, EXTENSION)?);
        let pause = u64::try_from(SERIES_PAUSE.as_millis()).unwrap_or(u64::MAX);
        let goes_on = automatic
            .iter()
            .any(|last| now.saturating_sub(last.time) < pause);
        Ok(if goes_on { Kind::Later } else { Kind::First })
    }

    fn path(&self, time: u64, kind: Kind, extension: &str) -> PathBuf {
        let (prefix, suffix) = (&self.prefix, kind.suffix());
        self.directory
            .join(format!("{prefix}{time}{suffix}.{extension}"))
    }

    fn write_to(&self, path: &Path, recording: &Recording<Lab2>, cause: Cause) -> io::Result<()> {
        let mut options = File::options();
        let file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.set_permissions(Permissions::from_mode(MODE))?;
        let about = About {
            system: SYSTEM.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ring: self.ring.clone(),
            reason: cause.to_string(),
        };
        ring_recording::write(BufWriter::new(file), &about, recording, describe)
    }

    /// Removes the oldest recordings of this kind, so that there is a place for a new one. Also removes parts of
    /// recordings that an earlier process left.
    pub(super) fn make_place(&self, kind: Kind) -> io::Result<()> {
        let mut found = self.find(kind, EXTENSION)?;
        found.truncate((found.len() + 1).saturating_sub(kind.places()));
        for kind in Kind::ALL {
            found.extend(self.find(kind, PARTIAL)?);
        }
        for Found { path, .. } in found {
            // A file that stays must not prevent a new recording.
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    /// Returns the files of this kind, the oldest first.
    fn find(&self, kind: Kind, extension: &str) -> io::Result<Vec<Found>> {
        let end = format!("{}.{extension}", kind.suffix());
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            found.extend(self.time(&name, &end).map(|time| Found {
                time,
                path: self.directory.join(&name),
            }));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Returns the time in a name with this end; `None` for other names.
    fn time(&self, name: &OsStr, end: &str) -> Option<u64> {
        let time = name.to_str()?.strip_prefix(&self.prefix)?;
        time.strip_suffix(end)?.parse().ok()
    }
}

/// Returns the text of an event for people. The frames themselves show that they were sent and received.
fn describe(event: &Event) -> Option<String> {
    match event {
        Event::Received { .. } | Event::Transmitted { .. } => None,
        event => Some(format!("{event:?}")),
    }
}
