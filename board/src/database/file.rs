//! Checks that a path still leads to the same file. If a different file takes the name of an open file, a node with the
//! open file does not notice this.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The device and the inode of a file. The two numbers stay the same when the file is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

/// The file that was opened first. Until the process ends, it uses no other file as its database.
#[derive(Debug, Default)]
pub(super) struct OpenedFile(Option<Identity>);

impl OpenedFile {
    /// Remembers the file that the path names, unless a file is already remembered.
    pub(super) fn remember(&mut self, path: &Path) {
        self.0 = self.0.or_else(|| identity(path));
    }

    /// Checks that the path still leads to the remembered file.
    ///
    /// # Errors
    /// Returns a sentence if the path leads to a different file or to no file.
    pub(super) fn check(&self, path: &Path) -> Result<(), String> {
        let Some(kept) = self.0 else {
            return Ok(());
        };
        match identity(path) {
            Some(found) if found == kept => Ok(()),
            Some(_) => Err(
                "another file has taken the name of the file that this node uses: move this node's file back, \
                 or stop all nodes and start them with the new file"
                    .to_owned(),
            ),
            None => Err(
                "the file was moved or removed while this node uses it: move the file back, or stop all nodes \
                 and start them with another file"
                    .to_owned(),
            ),
        }
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let found = fs::metadata(path).ok()?;
    Some(Identity {
        device: found.dev(),
        inode: found.ino(),
    })
}
