//! Opens only files that other users cannot have prepared.
//!
//! A daemon that runs as root may get a path in a directory of another user. This user can place a link at the path,
//! for example a link to a file of root. The user can also place a file there that stays open in another process.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use nix::fcntl::OFlag;
use rustix::process::geteuid;
use thiserror::Error;

/// The write permissions of the group and of other users.
const OTHERS_WRITE: u32 = 0o022;
/// The permission of all users to read a file.
const ALL_READ: u32 = 0o004;
/// The permission of all users to use the entries of a folder.
const ALL_ENTER: u32 = 0o001;
/// The sticky bit. Only two users can remove or rename a file in a sticky directory: the owner of the file, and the
/// owner of the directory.
const STICKY: u32 = 0o1000;
const A_LINK: &str = "it is a symbolic link";
/// Maximum number of symbolic links that are followed in a path. The kernel has the same maximum.
const LINKS_MAX: u32 = 40;

/// Opens the file at `path` for reading and writing. If the file is missing, creates it, and gives access only to this
/// user.
///
/// # Errors
/// Fails if the file is a symbolic link, is not a regular file, belongs to another user, or has a second name. Also
/// fails if a system call fails.
pub fn open(path: &Path) -> io::Result<File> {
    open_or_make(path).map(|(file, _)| file)
}

/// Opens the file at `path` as [`open`] does. Also returns whether this call created the file.
///
/// # Errors
/// Fails with the errors of [`open`].
pub fn open_or_make(path: &Path) -> io::Result<(File, bool)> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options.custom_flags(flags.bits());
    let made = options.clone().create_new(true).open(path);
    let is_new = made.is_ok();
    let file = match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => options.open(path),
        made => made,
    };
    let file = file.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => refusal(A_LINK),
        _ => error,
    })?;
    check(&file.metadata()?)?;
    Ok((file, is_new))
}

/// Whether `file` is the file at `path`.
///
/// # Errors
/// Fails if there is no file, or if a system call fails.
pub fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (own, found) = (file.metadata()?, fs::symlink_metadata(path)?);
    Ok((own.dev(), own.ino()) == (found.dev(), found.ino()))
}

/// Whether there is a file at `path`, and [`open`] would accept it.
///
/// # Errors
/// Fails if [`open`] would refuse the file, or if a system call fails.
pub fn exists(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) => check(&found).map(|()| true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn check(found: &Metadata) -> io::Result<()> {
    check_for(geteuid().as_raw(), found)
}

fn check_for(own: u32, found: &Metadata) -> io::Result<()> {
    if found.is_symlink() {
        return Err(refusal(A_LINK));
    }
    if !found.is_file() {
        return Err(refusal("it is not a regular file"));
    }
    check_owner_for(own, found.uid())?;
    if found.nlink() > 1 {
        return Err(refusal("the same file has another name, by a hard link"));
    }
    Ok(())
}

/// Checks that a file belongs to `uid`, the user of this process.
///
/// # Errors
/// Fails if the users differ.
pub fn check_owner(uid: u32) -> io::Result<()> {
    check_owner_for(geteuid().as_raw(), uid)
}

fn check_owner_for(own: u32, uid: u32) -> io::Result<()> {
    if uid == own {
        return Ok(());
    }
    Err(refusal(&format!(
        "it belongs to user {uid}, and this process runs as user {own}"
    )))
}

/// The refusal of an existing file, and its reason. A retry does not help: a person must remove the cause.
#[derive(Debug, Error)]
#[error("{0}")]
struct Refused(String);

/// Returns the error for an existing file that must stay unchanged.
pub fn refusal(why: &str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, Refused(why.to_owned()))
}

/// Whether [`open`] or [`exists`] failed with this error because the file exists, but is not private to this user.
pub fn is_refused(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(inner) if inner.is::<Refused>())
}

/// Looks for a part of `path` through which other users can change the file at `path`. Such a part is a file, directory
/// or link that others can write, or that belongs neither to root nor to this user. Returns the first such part of the
/// path, or `None`.
///
/// # Errors
/// Fails if there is no such file, or if it cannot be examined.
pub fn find_changeable_part(path: &Path) -> io::Result<Option<PathBuf>> {
    // In a user namespace, the root user of the machine may have no number. The owner of the root directory can change
    // every file anyway, so trust this owner.
    let root = fs::metadata("/")?.uid();
    changeable_unless_by(&[0, geteuid().as_raw(), root], path)
}

/// The reason why a service cannot use a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceProblem {
    /// Users other than root can change this part of the path.
    Changeable(PathBuf),
    /// Some users have no access to this part of the path.
    Hidden(PathBuf),
}

/// Looks for a part of `path` because of which a service that runs as an ordinary user cannot use the file.
///
/// # Errors
/// Fails if there is no such file, or if it cannot be examined.
pub fn find_service_problem(path: &Path) -> io::Result<Option<ServiceProblem>> {
    let root = fs::metadata("/")?.uid();
    if let Some(part) = changeable_unless_by(&[0, root], path)? {
        return Ok(Some(ServiceProblem::Changeable(part)));
    }
    let target = fs::canonicalize(path)?;
    let hidden = target.ancestors().map(|part| {
        let found = fs::metadata(part)?;
        let needed = if found.is_dir() { ALL_ENTER } else { ALL_READ };
        Ok((found.mode() & needed == 0).then(|| part.to_owned()))
    });
    let hidden = hidden.collect::<io::Result<Vec<_>>>()?;
    Ok(hidden
        .into_iter()
        .flatten()
        .next()
        .map(ServiceProblem::Hidden))
}

fn changeable_unless_by(trusted: &[u32], path: &Path) -> io::Result<Option<PathBuf>> {
    let root = Path::new("/");
    let mut left = parts(&std::path::absolute(path)?);
    let mut way = root.to_owned();
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == ".." {
            way.pop();
            continue;
        }
        let next = way.join(part);
        let found = fs::symlink_metadata(&next)?;
        if !trusted.contains(&found.uid()) || others_may_write(&found) {
            return Ok(Some(next));
        }
        if !found.is_symlink() {
            way = next;
            continue;
        }
        links += 1;
        if links > LINKS_MAX {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        let target = fs::read_link(&next)?;
        if target.is_absolute() {
            root.clone_into(&mut way);
        }
        left.extend(parts(&target));
    }
    Ok(None)
}

fn others_may_write(found: &Metadata) -> bool {
    let is_sticky = found.is_dir() && found.mode() & STICKY != 0;
    // Ignore the mode of a symbolic link: it contains all permissions, but nobody can write to a link.
    !found.is_symlink() && found.mode() & OTHERS_WRITE != 0 && !is_sticky
}

fn parts(path: &Path) -> Vec<OsString> {
    let named = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::ParentDir);
    let mut parts: Vec<_> = path
        .components()
        .filter(named)
        .map(|part| part.as_os_str().to_owned())
        .collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::path::Path;

    use rustix::process::geteuid;

    use super::{changeable_unless_by, check_for, exists, find_changeable_part, is_refused, open};

    const NOBODY: u32 = 65534;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_is_opened_or_created_for_only_this_user() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        assert!(!exists(&path).unwrap());
        for _ in 0..2 {
            let found = open(&path).unwrap().metadata().unwrap();
            assert_eq!(found.permissions().mode() & 0o777, 0o600);
        }
        assert!(exists(&path).unwrap());
    }

    #[test]
    fn files_that_others_may_have_prepared_are_refused_and_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("precious"), "data").unwrap();
        symlink(at("precious"), at("link")).unwrap();
        symlink(at("nothing"), at("dangling")).unwrap();
        fs::hard_link(at("precious"), at("second")).unwrap();
        fs::create_dir(at("directory")).unwrap();
        let cases = [
            ("link", "symbolic link"),
            ("dangling", "symbolic link"),
            ("second", "hard link"),
        ];
        for (name, why) in cases {
            let error = open(&at(name)).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
            let error = exists(&at(name)).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
        assert!(open(&at("directory")).is_err());
        assert!(exists(&at("directory")).is_err());
        assert!(!at("nothing").exists());
    }

    #[test]
    fn a_file_of_another_user_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("foreign");
        fs::write(&path, "data").unwrap();
        let own = geteuid().as_raw();
        let found = fs::symlink_metadata(&path).unwrap();
        assert!(check_for(own, &found).is_ok());
        let error = check_for(NOBODY, &found).unwrap_err();
        assert!(is_refused(&error), "{error}");
        let text = format!("it belongs to user {own}, and this process runs as user {NOBODY}");
        assert_eq!(error.to_string(), text);
        if own == 0 {
            chown(&path, Some(NOBODY), None).unwrap();
            assert!(is_refused(&open(&path).unwrap_err()));
            assert!(is_refused(&exists(&path).unwrap_err()));
        } else {
            // This file belongs to root, and every user can examine it.
            assert!(is_refused(&exists(Path::new("/proc/version")).unwrap_err()));
        }
    }

    #[test]
    fn a_part_of_the_way_that_others_can_write_is_returned() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("open")).unwrap();
        fs::write(at("open/file"), "").unwrap();
        fs::write(at("file"), "").unwrap();
        symlink("open/../file", at("through")).unwrap();
        symlink("file", at("link")).unwrap();
        for name in ["file", "open/file", "open"] {
            set_mode(&at(name), 0o755);
        }
        for name in ["file", "link", "through", "open/file"] {
            assert_eq!(find_changeable_part(&at(name)).unwrap(), None, "{name}");
        }
        for mode in [0o775, 0o757] {
            set_mode(&at("open"), mode);
            for name in ["open/file", "through"] {
                let found = find_changeable_part(&at(name)).unwrap();
                assert_eq!(found, Some(at("open")), "{name}");
            }
            set_mode(&at("file"), mode);
            let found = find_changeable_part(&at("link")).unwrap();
            assert_eq!(found, Some(at("file")));
            set_mode(&at("file"), 0o755);
        }
        set_mode(&at("open"), 0o1777);
        assert_eq!(find_changeable_part(&at("open/file")).unwrap(), None);
    }

    #[test]
    fn a_part_of_the_way_of_another_user_is_returned() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "").unwrap();
        assert_eq!(find_changeable_part(&path).unwrap(), None);
        // The function returns the first part that belongs to no trusted user.
        let found = changeable_unless_by(&[NOBODY], &path).unwrap();
        assert!(path.starts_with(found.expect("its owner is not trusted")));
        if geteuid().is_root() {
            chown(&path, Some(NOBODY), None).unwrap();
            assert_eq!(find_changeable_part(&path).unwrap(), Some(path));
        }
    }

    #[test]
    fn a_link_to_itself_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("loop");
        symlink(&path, &path).unwrap();
        assert!(find_changeable_part(&path).is_err());
    }
}
