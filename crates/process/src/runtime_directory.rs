//! Where sockets and locks lie that only their user can make, and what makes them so.

use std::env;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nix::sys::stat::{Mode, umask};
use nix::unistd::{AccessFlags, access};
use rustix::process::geteuid;

/// The directory of this user's sockets and locks: `system`, if this is root or that is the user's own, and it
/// can be written; else the one of the same name in `$XDG_RUNTIME_DIR`, or in `/run/user/UID`. Makes it if it
/// is missing.
///
/// # Errors
/// There is no such directory, or it is not this user's alone.
pub fn directory(system: &Path) -> io::Result<PathBuf> {
    let uid = geteuid().as_raw();
    let is_for_us = uid == 0 || fs::metadata(system).is_ok_and(|found| found.uid() == uid);
    // Root of a user namespace may not be the one of the machine.
    let is_writable = || access(system, AccessFlags::W_OK | AccessFlags::X_OK).is_ok();
    if is_for_us && make_directory(system, 0o755).is_ok() && is_writable() {
        return Ok(system.to_owned());
    }
    let given = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let given = given.filter(|path| path.is_absolute());
    let base = given.unwrap_or_else(|| PathBuf::from(format!("/run/user/{uid}")));
    if !is_own_alone(&base) {
        let text = format!(
            "{} cannot be used, and {} is not a directory that belongs to user {uid} alone: set XDG_RUNTIME_DIR to \
             one that is",
            system.display(),
            base.display()
        );
        return Err(io::Error::new(ErrorKind::PermissionDenied, text));
    }
    let directory = base.join(system.file_name().unwrap_or_default());
    make_directory(&directory, 0o700)?;
    Ok(directory)
}

/// What a name in a directory contains so that no other user's has it: nothing if the directory is this user's.
/// Root uses the directories of others, who cannot open its files there.
pub fn mark(directory: &Path) -> String {
    let own = geteuid().as_raw();
    match fs::metadata(directory) {
        Ok(found) if found.uid() == own => String::new(),
        _ => format!(".user{own}"),
    }
}

/// Whether only this user, and root, can make files in a directory.
pub fn is_own_alone(directory: &Path) -> bool {
    fs::metadata(directory).is_ok_and(|found| {
        found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0
    })
}

/// Makes a directory, and those above it, if it is missing. Others than its owner never write to it.
///
/// # Errors
/// The system refuses.
pub fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    let mut directory = DirBuilder::new();
    directory.recursive(true).mode(mode);
    with_mask(Mode::S_IWGRP | Mode::S_IWOTH, || directory.create(path))
}

/// Does something under another file mode mask. It is the process's: no other thread may make files
/// meanwhile whose mode rests on it.
pub fn with_mask<T>(mask: Mode, act: impl FnOnce() -> T) -> T {
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

    use super::{directory, is_own_alone};

    #[test]
    fn a_directory_that_others_can_write_is_not_ours_alone() {
        let place = tempfile::tempdir().unwrap();
        let modes = [
            (0o755, true),
            (0o700, true),
            (0o1777, false),
            (0o775, false),
        ];
        for (mode, alone) in modes {
            fs::set_permissions(place.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_own_alone(place.path()), alone, "{mode:o}");
        }
        assert!(!is_own_alone(&place.path().join("missing")));
    }

    #[test]
    fn an_own_directory_of_the_system_is_used() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(directory(place.path()).unwrap(), place.path());
    }
}
