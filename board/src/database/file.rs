//! Which file a path names: nodes that have one open do not see that another has come into its place.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

/// The file that was opened first. In this life of a node no other is the database.
#[derive(Debug, Default)]
pub(super) struct Anchor(Option<Identity>);

impl Anchor {
    /// Keeps the file that a path names now, if none was kept.
    pub(super) fn keep(&mut self, path: &Path) {
        self.0 = self.0.or_else(|| identity(path));
    }

    /// Looks whether the path still names it.
    ///
    /// # Errors
    /// It does not: a sentence.
    pub(super) fn check(&self, path: &Path) -> Result<(), String> {
        let Some(kept) = self.0 else {
            return Ok(());
        };
        match identity(path) {
            Some(found) if found == kept => Ok(()),
            Some(_) => Err(
                "another file is in the place of the one that this node uses: move that one back, or stop all nodes and start \
                 them with the file that is there"
                    .to_owned(),
            ),
            None => Err(
                "the file was moved or removed while this node uses it: move it back, or stop all nodes and start them with \
                 another"
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
