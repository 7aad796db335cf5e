//! Paths of files of keepers. The files are in directories in which other users cannot create files.

use std::io;
use std::path::{Path, PathBuf};

use ring_control::CONTROL_DIR;
use ring_process::runtime_directory;

/// Returns the path of a file. If only this user can write to the directory of the daemon's socket, the file is in this
/// directory. Otherwise the file is in the runtime directory of this user. The name of the file consists of a kind, a
/// user and a hash, so files of different users have different names.
pub(super) fn private_path(daemon: Option<&Path>, kind: &str, hash: u64) -> io::Result<PathBuf> {
    let socket_directory = daemon.and_then(Path::parent);
    let directory = match socket_directory.filter(|place| runtime_directory::is_private(place)) {
        Some(place) => place.to_owned(),
        None => runtime_directory::directory(Path::new(CONTROL_DIR))?,
    };
    let user = runtime_directory::user_suffix(&directory);
    Ok(directory.join(format!("{kind}{user}-{hash:016x}")))
}
