//! Text files with secrets, such as keys.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use rustix::process::geteuid;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::private_files::find_changeable_part;

/// The permissions of the group and of other users.
const OTHERS: u32 = 0o077;

/// The users to which a file may belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Root, or the user of this process.
    Own,
    /// Any user. A program may check a file for another user.
    Any,
}

/// The reason why a file with a secret cannot be used, and a remedy.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SecretFileError {
    /// The user of this process may not read the file.
    #[error("this process has no permission to read it; run chown {user} and chmod 600 on it")]
    Denied {
        /// The user of this process.
        user: u32,
    },
    /// The file cannot be read.
    #[error("{0}; correct the path, or make the file")]
    Unreadable(io::Error),
    /// The path leads to a directory, a device or a pipe.
    #[error("it is not a regular file; give the path of a file")]
    NotRegular,
    /// The group of the file or other users may read or write the file.
    #[error("its group or other users have access to it (mode {mode:04o}); run chmod 600 on it")]
    Accessible {
        /// The permissions of the file.
        mode: u32,
    },
    /// The file belongs to another user.
    #[error(
        "it belongs to user {owner}, but must belong to root or to user {user}, the user of this process; run chown \
         {user} on it"
    )]
    Foreign {
        /// The owner of the file.
        owner: u32,
        /// The user of this process.
        user: u32,
    },
    /// Other users can change the file through a part of its path.
    #[error("other users can change {}; run chown root and chmod go-w on it", .0.display())]
    Changeable(PathBuf),
    /// The file is too long.
    #[error("it is longer than {0} bytes; shorten it")]
    TooLong(u64),
    /// The file contains bytes that are no text.
    #[error("it is not UTF-8; save it as UTF-8")]
    NotText,
}

/// A file that was read.
#[derive(Debug)]
pub struct SecretFile {
    /// The contents of the file. They are overwritten with zeros when this value is dropped.
    pub text: Zeroizing<String>,
    /// The owner of the file.
    pub owner: u32,
}

/// Reads the file at `path`, if it is at most `len_max` bytes long and only its owner has access to it. This function
/// never waits, because a daemon reads the file in its loop.
///
/// # Errors
/// Fails if the file cannot be used. The error does not contain the path.
pub fn read(path: &Path, len_max: u64, owner: Owner) -> Result<SecretFile, SecretFileError> {
    let user = geteuid().as_raw();
    let unreadable = |error: io::Error| match error.kind() {
        ErrorKind::PermissionDenied => SecretFileError::Denied { user },
        _ => SecretFileError::Unreadable(error),
    };
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(flags.bits()).open(path);
    let file = file.map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err(SecretFileError::NotRegular);
    }
    if owner == Owner::Own {
        check_owner(user, found.uid())?;
    }
    if found.mode() & OTHERS != 0 {
        let mode = found.mode() & 0o7777;
        return Err(SecretFileError::Accessible { mode });
    }
    if owner == Owner::Own
        && let Some(part) = find_changeable_part(path).map_err(unreadable)?
    {
        return Err(SecretFileError::Changeable(part));
    }
    let text = read_text(&file, len_max)?;
    let owner = found.uid();
    Ok(SecretFile { text, owner })
}

/// Reads a credential of systemd, if it is at most `len_max` bytes long. Only the user of the unit has access to a
/// credential. This function does not check the mode of the file, because systemd gives the access by an access control
/// list.
///
/// # Errors
/// Fails if the file cannot be read, is too long, or is no text. The error does not contain the path.
pub fn read_credential(path: &Path, len_max: u64) -> Result<Zeroizing<String>, SecretFileError> {
    let file = File::open(path).map_err(SecretFileError::Unreadable)?;
    read_text(&file, len_max)
}

fn read_text(mut file: &File, len_max: u64) -> Result<Zeroizing<String>, SecretFileError> {
    let len_max_usize = usize::try_from(len_max).unwrap_or(usize::MAX);
    // A buffer that grows would leave copies of its contents in memory.
    let mut bytes = Zeroizing::new(vec![0; len_max_usize.saturating_add(1)]);
    let mut len = 0;
    while len < bytes.len() {
        match file.read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(SecretFileError::Unreadable(error)),
        }
    }
    if len > len_max_usize {
        return Err(SecretFileError::TooLong(len_max));
    }
    let text = str::from_utf8(&bytes[..len]).map_err(|_| SecretFileError::NotText)?;
    Ok(Zeroizing::new(text.to_owned()))
}

fn check_owner(user: u32, owner: u32) -> Result<(), SecretFileError> {
    if [0, user].contains(&owner) {
        return Ok(());
    }
    Err(SecretFileError::Foreign { owner, user })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::path::Path;

    use rustix::process::geteuid;

    use super::{Owner, check_owner, read};

    const NOBODY: u32 = 65534;

    fn make(folder: &Path, contents: &[u8], mode: u32) -> std::path::PathBuf {
        let path = folder.join("keys");
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_file_of_only_this_user_is_read() {
        let folder = tempfile::tempdir().unwrap();
        for mode in [0o600, 0o400] {
            let path = make(folder.path(), b"secret", mode);
            let file = read(&path, 6, Owner::Own).unwrap();
            assert_eq!((&**file.text, file.owner), ("secret", geteuid().as_raw()));
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn each_refusal_has_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = |contents: &[u8], mode| {
            let path = make(folder.path(), contents, mode);
            let error = read(&path, 6, Owner::Own).unwrap_err().to_string();
            fs::remove_file(path).unwrap();
            error
        };
        for (contents, mode, remedy) in [
            (&b"secret"[..], 0o640, "(mode 0640); run chmod 600 on it"),
            (b"secret", 0o604, "(mode 0604); run chmod 600 on it"),
            (b"secret", 0o620, "(mode 0620); run chmod 600 on it"),
            (b"secrets", 0o600, "longer than 6 bytes; shorten it"),
            (b"\xff", 0o600, "save it as UTF-8"),
        ] {
            let error = refusal(contents, mode);
            assert!(error.ends_with(remedy), "{error}");
        }
        let error = |path: &Path| read(path, 6, Owner::Own).unwrap_err().to_string();
        assert!(error(folder.path()).starts_with("it is not a regular file"));
        assert!(error(&folder.path().join("missing")).ends_with("or make the file"));
    }

    #[test]
    fn a_path_that_others_can_change_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = make(folder.path(), b"secret", 0o600);
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let error = read(&path, 6, Owner::Own).unwrap_err().to_string();
        assert!(error.starts_with("other users can change"), "{error}");
        assert!(read(&path, 6, Owner::Any).is_ok());
    }

    #[test]
    fn a_file_of_another_user_is_only_checked() {
        assert!(check_owner(7, 0).is_ok() && check_owner(7, 7).is_ok());
        let error = check_owner(7, 8).unwrap_err().to_string();
        assert!(error.starts_with("it belongs to user 8") && error.ends_with("run chown 7 on it"));
        if geteuid().is_root() {
            let folder = tempfile::tempdir().unwrap();
            let path = make(folder.path(), b"secret", 0o600);
            chown(&path, Some(NOBODY), None).unwrap();
            assert!(read(&path, 6, Owner::Own).is_err());
            assert_eq!(read(&path, 6, Owner::Any).unwrap().owner, NOBODY);
        }
    }
}
