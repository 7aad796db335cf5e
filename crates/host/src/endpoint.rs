//! The control socket's file: makes it, and removes it again.
//!
//! Its directory may belong to another user, who can change its contents at any moment. So the directory is
//! opened once, later steps do not go by a path that may lead elsewhere by then, and another user's files are
//! left alone there.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, listen, socket,
};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};
use ring_process::{owned, runtime_directory};

use super::Error;

/// The kernel's list of Unix sockets in the network namespace of the thread, and how it marks those that somebody
/// listens at.
const LIST: &str = "/proc/thread-self/net/unix";
const LISTENS: &str = "00010000";

/// A listening socket; dropping it removes its file.
#[derive(Debug)]
pub(crate) struct Endpoint {
    listener: UnixListener,
    path: PathBuf,
    place: Place,
    /// Device and inode of the file, so that no other is removed.
    file: (u64, u64),
}

impl Endpoint {
    /// Listens at `path`, for the owner and the group. Makes the directory if it is missing.
    ///
    /// # Errors
    /// The path cannot be used, or somebody listens there.
    pub(crate) fn bind(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Control {
            path: path.to_owned(),
            source,
        };
        let place = Place::open(path).map_err(failed)?;
        if let Some(found) = place.look().map_err(failed)? {
            clear(&place, path, &found)?;
        }
        let listener = bind_for_group(path).map_err(failed)?;
        let found = place.look().map_err(failed)?;
        let found = found.ok_or_else(|| failed(moved()))?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            place,
            file: identity(&found),
        })
    }

    /// The socket's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether clients that go by the path reach this socket. Its directory may be another one by now.
    pub(crate) fn is_in_place(&self) -> bool {
        let found = fs::symlink_metadata(&self.path);
        found.is_ok_and(|found| (found.dev(), found.ino()) == self.file)
    }

    /// The socket.
    pub(crate) const fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let found = self.place.look();
        if matches!(found, Ok(Some(found)) if identity(&found) == self.file) {
            // If the file stays, the next process that wants its place finds it stale.
            let _ = self.place.remove();
        }
    }
}

/// A name in a directory that stays the same directory whatever becomes of its path.
#[derive(Debug)]
struct Place {
    directory: OwnedFd,
    name: OsString,
}

impl Place {
    /// Opens the directory of a path; makes it if it is missing.
    fn open(path: &Path) -> io::Result<Self> {
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        runtime_directory::make_directory(directory, 0o755)?;
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self {
            directory: open(directory, flags, Mode::empty())?,
            name: path.file_name().map(OsStr::to_owned).unwrap_or_default(),
        })
    }

    /// Returns what is there; `None`: nothing.
    fn look(&self) -> io::Result<Option<FileStat>> {
        let flags = AtFlags::AT_SYMLINK_NOFOLLOW;
        match fstatat(&self.directory, self.name.as_os_str(), flags) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::ENOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether only this user, and root, can have made what is there.
    fn is_own_alone(&self) -> bool {
        fstat(&self.directory).is_ok_and(|found| {
            let others_write = Mode::S_IWGRP | Mode::S_IWOTH;
            let mode = Mode::from_bits_truncate(found.st_mode);
            found.st_uid == geteuid().as_raw() && !mode.intersects(others_write)
        })
    }

    fn remove(&self) -> io::Result<()> {
        let name = self.name.as_os_str();
        Ok(unlinkat(&self.directory, name, UnlinkatFlags::NoRemoveDir)?)
    }
}

fn identity(found: &FileStat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}

fn moved() -> io::Error {
    io::Error::new(ErrorKind::NotFound, "its directory is being changed")
}

/// Binds a listener whose file has its mode from the first moment: a chmod by path could hit another file.
fn bind_for_group(path: &Path) -> io::Result<UnixListener> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let listener = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    // The file gets the mode of the bound socket, less the mask.
    fchmod(&listener, Mode::from_bits_truncate(0o660))?;
    let address = UnixAddr::new(path)?;
    runtime_directory::with_mask(Mode::empty(), || bind(listener.as_raw_fd(), &address))?;
    listen(&listener, Backlog::MAXCONN)?;
    Ok(listener.into())
}

/// Removes a socket without a listener that an earlier process has left at `path`: one of this user, or, in a
/// directory of this user's alone, root, which it may have run as by hand.
fn clear(place: &Place, path: &Path, found: &FileStat) -> Result<(), Error> {
    let failed = |source| Error::Control {
        path: path.to_owned(),
        source,
    };
    let kind = SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits());
    if kind != SFlag::S_IFSOCK {
        return Err(failed(io::Error::new(
            ErrorKind::AlreadyExists,
            "there is a file that is not a socket",
        )));
    }
    let is_in_use = match is_listened_at(path) {
        // Root's are for root and its group alone.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && place.is_own_alone() => {
            is_listed(&place.name)
        }
        known => known.map_err(failed)?,
    };
    if is_in_use {
        return Err(Error::ControlInUse {
            path: path.to_owned(),
        });
    }
    if !place.is_own_alone() {
        owned::check_owner(found.st_uid).map_err(failed)?;
    }
    place.remove().map_err(failed)
}

/// Whether somebody listens. A listener that is too busy to accept counts too, so this must not wait for it.
fn is_listened_at(path: &Path) -> io::Result<bool> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let probe = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    match connect(probe.as_raw_fd(), &UnixAddr::new(path)?) {
        Err(Errno::ECONNREFUSED) => Ok(false),
        Ok(()) | Err(Errno::EAGAIN) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Whether a socket of this name, in whatever directory, is in the kernel's list of those that somebody listens
/// at; so it counts, too, where there is no such list.
fn is_listed(name: &OsStr) -> bool {
    let list = fs::read_to_string(LIST);
    list.map_or(true, |list| has_listener(&list, name))
}

fn has_listener(list: &str, name: &OsStr) -> bool {
    list.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, flags, _, _, _, path] = fields[..] else {
            return false;
        };
        flags == LISTENS && Path::new(path).file_name() == Some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, Place, clear, has_listener, is_listed};
    use crate::Error;
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};
    use std::fs::{self, Permissions};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    /// A socket that has never listened: one that had would go on to, for a moment, in a process that
    /// another test starts just now and that has a copy of it.
    fn leave_stale(path: &Path) {
        let flags = SockFlag::SOCK_CLOEXEC;
        let stale = socket(AddressFamily::Unix, SockType::Stream, flags, None).unwrap();
        bind(stale.as_raw_fd(), &UnixAddr::new(path).unwrap()).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_socket_is_for_owner_and_group_and_goes_with_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/eth0.sock");
        let endpoint = Endpoint::bind(&path).unwrap();
        assert_eq!(mode(&path), 0o660);
        assert_eq!(mode(path.parent().unwrap()), 0o755);
        drop(endpoint);
        assert!(!path.exists());
    }

    #[test]
    fn the_mode_is_never_changed() {
        let directory = tempfile::tempdir().unwrap();
        let watch = Inotify::init(InitFlags::IN_NONBLOCK).unwrap();
        let changes = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_ATTRIB;
        watch.add_watch(directory.path(), changes).unwrap();
        let _endpoint = Endpoint::bind(&directory.path().join("eth0.sock")).unwrap();
        let seen = watch.read_events().unwrap();
        let seen: Vec<_> = seen.iter().map(|event| event.mask).collect();
        assert_eq!(seen, [AddWatchFlags::IN_CREATE]);
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, target) = (
            directory.path().join("eth0.sock"),
            directory.path().join("other"),
        );
        symlink(&target, &path).unwrap();
        for _ in 0..2 {
            let error = Endpoint::bind(&path).unwrap_err();
            assert_eq!(error.exit_code(), 8, "{error}");
            assert!(path.is_symlink());
            if !target.exists() {
                leave_stale(&target);
            }
        }
    }

    #[test]
    fn the_kernel_lists_who_listens() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("listed.sock");
        let name = path.file_name().unwrap();
        leave_stale(&path);
        assert!(!is_listed(name));
        fs::remove_file(&path).unwrap();
        let _endpoint = Endpoint::bind(&path).unwrap();
        assert!(is_listed(name));
        let list = "Num RefCount Protocol Flags Type St Inode Path\n\
            0000: 00000002 00000000 00010000 0001 01 22 /run/ringd/eth1.sock\n\
            0000: 00000003 00000000 00000000 0001 03 23 /run/ringd/eth0.sock\n\
            0000: 00000003 00000000 00010000 0001 03 24\n";
        let listens = |name: &str| has_listener(list, name.as_ref());
        assert!(listens("eth1.sock") && !listens("eth0.sock"));
    }

    /// Clears a stale socket in a directory of that mode, of which the system says that it is another user's.
    fn clear_of_another(mode: u32) -> (Result<(), Error>, bool) {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
        let path = directory.path().join("eth0.sock");
        leave_stale(&path);
        let place = Place::open(&path).unwrap();
        let mut found = place.look().unwrap().unwrap();
        found.st_uid += 65534;
        (clear(&place, &path, &found), path.exists())
    }

    #[test]
    fn a_stale_socket_of_another_user_is_left_alone_where_others_may_make_files() {
        for mode in [0o1777, 0o775] {
            let (cleared, is_there) = clear_of_another(mode);
            let error = cleared.unwrap_err().to_string();
            assert!(error.contains("it belongs to user"), "{error}");
            assert!(is_there);
        }
    }

    #[test]
    fn a_stale_socket_of_roots_is_replaced_where_only_this_user_and_root_may_make_files() {
        for mode in [0o755, 0o700] {
            let (cleared, is_there) = clear_of_another(mode);
            assert!(cleared.is_ok() && !is_there, "{cleared:?}");
        }
    }

    #[test]
    fn a_stale_socket_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        leave_stale(&path);
        assert!(path.exists());
        Endpoint::bind(&path).unwrap();
    }

    #[test]
    fn a_socket_in_use_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        let _first = Endpoint::bind(&path).unwrap();
        let error = Endpoint::bind(&path).unwrap_err();
        assert!(matches!(error, Error::ControlInUse { .. }), "{error}");
        assert!(path.exists());
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        fs::write(&path, "precious").unwrap();
        let error = Endpoint::bind(&path).unwrap_err();
        assert_eq!(error.exit_code(), 8);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn a_socket_that_was_removed_is_missed_and_its_directory_is_not_taken_for_another() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("place");
        let path = place.join("eth0.sock");
        let first = Endpoint::bind(&path).unwrap();
        assert!(first.is_in_place());
        fs::remove_dir_all(&place).unwrap();
        assert!(!first.is_in_place());
        let second = Endpoint::bind(&path).unwrap();
        assert!(second.is_in_place() && !first.is_in_place());
    }

    #[test]
    fn a_socket_that_replaced_it_is_not_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        let first = Endpoint::bind(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let _second = Endpoint::bind(&path).unwrap();
        drop(first);
        assert!(path.exists());
    }
}
