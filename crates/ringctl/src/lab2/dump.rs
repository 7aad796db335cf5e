//! `ringctl dump`: writes the last frames and events of a node to a file.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::OFlag;
use ring_control::lab2::RingRequest;
use ring_control::{Reply, Request};
use rustix::process::geteuid;

use super::super::connection::Connection;
use super::super::{Error, client};

/// The maximum time that the daemon needs for a recording.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The permissions of a copy.
const MODE: u32 = 0o600;

/// Makes the daemon write a recording, and prints the path of the file. Copies the recording to the new file `copy`, if
/// it is given.
pub(super) fn dump(
    socket: &Path,
    copy: Option<&Path>,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let shown = if let Some(path) = copy {
        // First create the file of the copy. A recording begins where the last one ended, so the daemon must not write
        // a recording that cannot be copied.
        let file = create(path)?;
        let copied = request(socket).and_then(|recording| copy_to(&file, path, &recording));
        if copied.is_err() {
            // Ignore this error, and report only the error of the copy.
            let _ = fs::remove_file(path);
        }
        copied?;
        path.to_owned()
    } else {
        request(socket)?
    };
    writeln!(output, "{}", shown.display())?;
    output.flush()?;
    Ok(())
}

/// Makes the daemon write a recording, and returns the path of the file.
fn request(socket: &Path) -> anyhow::Result<PathBuf> {
    let request = Request::System(RingRequest::Dump);
    let by = client::deadline_after(WRITE_TIMEOUT);
    match Connection::open(socket)?.ask(&request, Some(by))? {
        Reply::Dumped { path } => Ok(path),
        other => Err(Error::from_unexpected_reply(other).into()),
    }
}

/// Creates the file of a copy. The file belongs to the user who called `sudo`.
fn create(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    let created = options.write(true).create_new(true).mode(MODE).open(path);
    let owned = created.and_then(|file| {
        if geteuid().is_root()
            && let (Some(uid), Some(gid)) = (id("SUDO_UID"), id("SUDO_GID"))
        {
            fchown(&file, Some(uid), Some(gid))?;
        }
        Ok(file)
    });
    owned.map_err(|source| Error::Copy {
        path: path.to_owned(),
        source,
    })
}

/// Returns the number in a variable that `sudo` sets.
fn id(variable: &str) -> Option<u32> {
    env::var(variable).ok()?.parse().ok()
}

fn copy_to(mut file: &File, path: &Path, recording: &Path) -> anyhow::Result<()> {
    let mut source = open(recording).map_err(|source| Error::Recording {
        path: recording.to_owned(),
        source,
    })?;
    io::copy(&mut source, &mut file).map_err(|source| Error::Copy {
        path: path.to_owned(),
        source,
    })?;
    Ok(())
}

/// Opens a recording. The path comes from the daemon. If `ringctl` runs as root, it must not follow a link or wait for
/// a pipe at this path.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(flags.bits()).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn a_copy_is_a_new_private_file() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("recording"), "frames").unwrap();
        symlink(at("target"), at("link")).unwrap();
        let file = create(&at("copy")).unwrap();
        copy_to(&file, &at("copy"), &at("recording")).unwrap();
        assert_eq!(fs::read(at("copy")).unwrap(), b"frames");
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, MODE);
        for name in ["copy", "link"] {
            let error = create(&at(name)).unwrap_err().to_string();
            let expected = format!("{} exists; name a new file", at(name).display());
            assert_eq!(error, expected);
        }
        assert!(!at("target").exists());
    }

    #[test]
    fn only_a_regular_file_is_copied() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("recording"), "frames").unwrap();
        symlink(at("recording"), at("link")).unwrap();
        mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        assert!(open(&at("recording")).is_ok());
        for name in ["link", "pipe", "."] {
            assert!(open(&at(name)).is_err(), "{name}");
        }
    }
}
