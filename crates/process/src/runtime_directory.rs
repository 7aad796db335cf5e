//! The directory of a user's sockets and locks. No other ordinary user can create files in this directory.

use std::env;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nix::sys::stat::{Mode, umask};
use nix::unistd::{AccessFlags, access};
use rustix::process::geteuid;

/// Returns the directory of this user's sockets and locks. If it is missing, creates it. If this user is root or the
/// owner of `system`, and can write to `system`, the directory is `system`. Otherwise the directory is in
/// `$XDG_RUNTIME_DIR` or `/run/user/UID`, and has the same name as `system`.
///
/// # Errors
/// Fails if there is no such directory, or if other users can write it.
pub fn directory(system: &Path) -> io::Result<PathBuf> {
    let uid = geteuid().as_raw();
    let is_for_us = uid == 0 || fs::metadata(system).is_ok_and(|found| found.uid() == uid);
    // The root user of a user namespace may differ from the root user of the machine, and have no write access.
    let is_writable = || access(system, AccessFlags::W_OK | AccessFlags::X_OK).is_ok();
    if is_for_us && make_directory(system, 0o755).is_ok() && is_writable() {
        return Ok(system.to_owned());
    }
    let given = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let given = given.filter(|path| path.is_absolute());
    let base = given.unwrap_or_else(|| PathBuf::from(format!("/run/user/{uid}")));
    if !is_private(&base) {
        let text = format!(
            "cannot use {}, and {} is not a directory that only user {uid} can write: set XDG_RUNTIME_DIR to such a \
             directory",
            system.display(),
            base.display()
        );
        return Err(io::Error::new(ErrorKind::PermissionDenied, text));
    }
    let directory = base.join(system.file_name().unwrap_or_default());
    make_directory(&directory, 0o700)?;
    Ok(directory)
}

/// Returns a suffix that makes a file's name unique to this user. The suffix is empty if the directory belongs to this
/// user. Root also uses directories of other users. The owner of such a directory cannot open the files of root, so the
/// files of root need different names.
pub fn user_suffix(directory: &Path) -> String {
    let own = geteuid().as_raw();
    match fs::metadata(directory) {
        Ok(found) if found.uid() == own => String::new(),
        _ => format!(".user{own}"),
    }
}

/// Whether only this user and root can create files in a directory.
pub fn is_private(directory: &Path) -> bool {
    fs::metadata(directory).is_ok_and(|found| {
        found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0
    })
}

/// Creates a directory and its missing parents. Only the owner can write to the new directories.
///
/// # Errors
/// Fails if a system call fails.
pub fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    let mut directory = DirBuilder::new();
    directory.recursive(true).mode(mode);
    with_file_mask(Mode::S_IWGRP | Mode::S_IWOTH, || directory.create(path))
}

/// Calls `act` with a different file mode mask. The mask belongs to the whole process. So during the call, other
/// threads must not create files whose mode depends on the mask.
pub fn with_file_mask<T>(mask: Mode, act: impl FnOnce() -> T) -> T {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = umask(mask);
    let result = act();
    umask(before);
    result
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::{directory, is_private};

    #[test]
    fn a_directory_that_others_can_write_is_not_private() {
        let place = tempfile::tempdir().unwrap();
        let modes = [
            (0o755, true),
            (0o700, true),
            (0o1777, false),
            (0o775, false),
        ];
        for (mode, alone) in modes {
            fs::set_permissions(place.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_private(place.path()), alone, "{mode:o}");
        }
        assert!(!is_private(&place.path().join("missing")));
    }

    #[test]
    fn a_writable_system_directory_is_used() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(directory(place.path()).unwrap(), place.path());
    }
}
