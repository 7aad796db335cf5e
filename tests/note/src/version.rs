//! Versions of the note.

use std::fmt;

/// One version of the note. The greater is the newer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Grows with every version.
    pub number: u64,
    /// The node that wrote it; tells versions apart that were written at the same time.
    pub author: u64,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.number, self.author)
    }
}
