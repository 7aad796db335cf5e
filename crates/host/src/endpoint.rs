//! Creates the file of a socket. When the daemon ends, removes the file.
//!
//! The directory of this file may belong to another user. This user can change the directory at any time. So this
//! module opens the directory once, and the later steps use the open directory. They do not use the path, which may
//! lead to a different directory by then. This module does not change files of other users.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, listen, socket,
};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat};
use nix::unistd::{Gid, UnlinkatFlags, geteuid, unlinkat};
use ring_process::{private_files, runtime_directory};

use super::{Error, group_access};

/// The kernel's list of Unix sockets in the thread's network namespace.
const SOCKET_LIST: &str = "/proc/thread-self/net/unix";
/// The flags of a listening socket in that list.
const LISTENING_FLAG: &str = "00010000";

/// A listening socket. Dropping this value removes the file of the socket.
#[derive(Debug)]
pub(crate) struct Endpoint {
    listener: UnixListener,
    path: PathBuf,
    entry: DirectoryEntry,
    /// Device and inode of the file. They prevent the removal of a different file at the same path.
    file: (u64, u64),
}

impl Endpoint {
    /// Listens at `path`. Clients of the same user and group may connect. Makes the directory if it is missing.
    ///
    /// # Errors
    /// Fails if the path cannot be used, or if another process listens at the path.
    pub(crate) fn bind(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Control {
            path: path.to_owned(),
            source,
        };
        let entry = DirectoryEntry::open(path).map_err(failed)?;
        if let Some(found) = entry.stat().map_err(failed)? {
            remove_stale(&entry, path, &found)?;
        }
        let listener = bind_for_group(path).map_err(failed)?;
        let found = entry.stat().map_err(failed)?;
        let found = found.ok_or_else(|| failed(directory_changed()))?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            entry,
            file: identity(&found),
        })
    }

    /// Lets the members of a group connect, in addition to the members of the file's group.
    pub(crate) fn admit_group(&self, group: Gid) -> io::Result<()> {
        // Another user may replace the file at any time. So check the open file, not the path.
        let file = self.entry.open_file()?;
        if identity(&fstat(&file)?) != self.file {
            return Err(directory_changed());
        }
        group_access::admit(file, group)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether clients that use the path reach this socket. They do not reach it if the file was replaced, or if the
    /// path leads to a different directory.
    pub(crate) fn is_in_place(&self) -> bool {
        let found = fs::symlink_metadata(&self.path);
        found.is_ok_and(|found| (found.dev(), found.ino()) == self.file)
    }

    pub(crate) const fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let found = self.entry.stat();
        if matches!(found, Ok(Some(found)) if identity(&found) == self.file) {
            // If the file stays, the next process removes it as a stale file.
            let _ = self.entry.remove();
        }
    }
}

/// A name in a directory. The directory stays open, even if its path changes.
#[derive(Debug)]
struct DirectoryEntry {
    directory: OwnedFd,
    name: OsString,
}

impl DirectoryEntry {
    /// Opens the directory of a path. Makes the directory if it is missing.
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

    /// Returns the file's status; `None` if there is no file.
    fn stat(&self) -> io::Result<Option<FileStat>> {
        let flags = AtFlags::AT_SYMLINK_NOFOLLOW;
        match fstatat(&self.directory, self.name.as_os_str(), flags) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::ENOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the file only as a path (O_PATH), because this module neither reads the file nor connects to it.
    fn open_file(&self) -> io::Result<OwnedFd> {
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let name = self.name.as_os_str();
        Ok(openat(&self.directory, name, flags, Mode::empty())?)
    }

    /// Whether only this user and root can make files in the directory.
    fn is_private(&self) -> bool {
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

fn directory_changed() -> io::Error {
    io::Error::new(
        ErrorKind::NotFound,
        "another process has changed the socket's directory",
    )
}

/// Binds a listener. The file has the right mode from its creation. A later chmod by path could change a different
/// file.
fn bind_for_group(path: &Path) -> io::Result<UnixListener> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let listener = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    // The kernel gives the file the mode of the socket, without the bits of the file mode mask.
    fchmod(&listener, Mode::from_bits_truncate(0o660))?;
    let address = UnixAddr::new(path)?;
    runtime_directory::with_file_mask(Mode::empty(), || bind(listener.as_raw_fd(), &address))?;
    listen(&listener, Backlog::MAXCONN)?;
    Ok(listener.into())
}

/// Removes a socket that an earlier process has left at `path`, if no process listens at it. The socket must belong to
/// this user. If only this user can change the directory, the socket may also belong to root. For example, root may
/// have started the daemon by hand.
fn remove_stale(entry: &DirectoryEntry, path: &Path, found: &FileStat) -> Result<(), Error> {
    let failed = |source| Error::Control {
        path: path.to_owned(),
        source,
    };
    let kind = SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits());
    if kind != SFlag::S_IFSOCK {
        return Err(failed(io::Error::new(
            ErrorKind::AlreadyExists,
            "the existing file is not a socket",
        )));
    }
    let is_in_use = match has_listener_at(path) {
        // The socket belongs to root, so this user has no permission to connect to it.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && entry.is_private() => {
            is_listed(&entry.name)
        }
        known => known.map_err(failed)?,
    };
    if is_in_use {
        return Err(Error::ControlInUse {
            path: path.to_owned(),
        });
    }
    if !entry.is_private() {
        private_files::check_owner(found.st_uid).map_err(failed)?;
    }
    entry.remove().map_err(failed)
}

/// Whether a process listens at the path. A process that is too busy to accept also counts as a listener. This function
/// does not wait until the process accepts.
fn has_listener_at(path: &Path) -> io::Result<bool> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let probe = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    match connect(probe.as_raw_fd(), &UnixAddr::new(path)?) {
        Err(Errno::ECONNREFUSED) => Ok(false),
        Ok(()) | Err(Errno::EAGAIN) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Whether the kernel lists a listening socket whose file has this name. The file may be in any directory. Returns
/// `true` if the kernel has no such list.
fn is_listed(name: &OsStr) -> bool {
    let list = fs::read_to_string(SOCKET_LIST);
    list.map_or(true, |list| lists_listener(&list, name))
}

fn lists_listener(list: &str, name: &OsStr) -> bool {
    list.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, flags, _, _, _, path] = fields[..] else {
            return false;
        };
        flags == LISTENING_FLAG && Path::new(path).file_name() == Some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::{DirectoryEntry, Endpoint, is_listed, lists_listener, remove_stale};
    use crate::Error;
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};
    use nix::unistd::{Gid, getegid};
    use std::fs::{self, Permissions};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::Path;

    /// Makes a stale socket file from a socket that never listened. A socket that has listened is unsuitable. If
    /// another test starts a process at this moment, this process keeps a copy of the socket, which still listens.
    fn leave_stale(path: &Path) {
        let flags = SockFlag::SOCK_CLOEXEC;
        let stale = socket(AddressFamily::Unix, SockType::Stream, flags, None).unwrap();
        bind(stale.as_raw_fd(), &UnixAddr::new(path).unwrap()).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_socket_is_for_owner_and_group_and_is_removed_on_drop() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b/eth0.sock");
        let endpoint = Endpoint::bind(&path).unwrap();
        assert_eq!(mode(&path), 0o660);
        assert_eq!(mode(path.parent().unwrap()), 0o755);
        drop(endpoint);
        assert!(!path.exists());
    }

    #[test]
    fn a_group_is_admitted_only_to_the_file_of_the_socket() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("eth0.sock");
        let endpoint = Endpoint::bind(&path).unwrap();
        // This process is not a member of the group, and need not be one.
        let group = Gid::from_raw(4242);
        endpoint.admit_group(group).unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.gid(), mode(&path)), (getegid().as_raw(), 0o660));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        let error = endpoint.admit_group(group).unwrap_err();
        assert!(error.to_string().contains("has changed"), "{error}");
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
    fn the_kernel_lists_listening_sockets() {
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
        let listens = |name: &str| lists_listener(list, name.as_ref());
        assert!(listens("eth1.sock") && !listens("eth0.sock"));
    }

    /// Tries to remove a stale socket of another user, in a directory with this mode. Returns the result, and whether
    /// the file still exists.
    fn remove_stale_of_another(mode: u32) -> (Result<(), Error>, bool) {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
        let path = directory.path().join("eth0.sock");
        leave_stale(&path);
        let entry = DirectoryEntry::open(&path).unwrap();
        let mut found = entry.stat().unwrap().unwrap();
        found.st_uid += 65534;
        (remove_stale(&entry, &path, &found), path.exists())
    }

    #[test]
    fn a_stale_socket_of_another_user_is_kept_where_others_may_make_files() {
        for mode in [0o1777, 0o775] {
            let (cleared, is_there) = remove_stale_of_another(mode);
            let error = cleared.unwrap_err().to_string();
            assert!(error.contains("it belongs to user"), "{error}");
            assert!(is_there);
        }
    }

    #[test]
    fn a_stale_socket_of_root_is_replaced_in_a_private_directory() {
        for mode in [0o755, 0o700] {
            let (cleared, is_there) = remove_stale_of_another(mode);
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
    fn a_removed_socket_is_noticed_and_so_is_a_new_directory() {
        let directory = tempfile::tempdir().unwrap();
        let entry = directory.path().join("place");
        let path = entry.join("eth0.sock");
        let first = Endpoint::bind(&path).unwrap();
        assert!(first.is_in_place());
        fs::remove_dir_all(&entry).unwrap();
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
