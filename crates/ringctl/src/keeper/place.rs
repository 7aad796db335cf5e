//! Where keepers leave files that no other user can make.

use std::io;
use std::path::{Path, PathBuf};

use ring_control::CONTROL_DIR;
use ring_process::runtime_directory;

/// Returns the path of a file: next to the daemon's socket if that directory is this user's alone, or else in this
/// user's own directory. Its name is made of a kind and a hash, and no other user's file has it.
pub(super) fn private(daemon: Option<&Path>, kind: &str, hash: u64) -> io::Result<PathBuf> {
    let beside = daemon.and_then(Path::parent);
    let directory = match beside.filter(|place| runtime_directory::is_own_alone(place)) {
        Some(place) => place.to_owned(),
        None => runtime_directory::directory(Path::new(CONTROL_DIR))?,
    };
    let user = runtime_directory::mark(&directory);
    Ok(directory.join(format!("{kind}{user}-{hash:016x}")))
}
