//! The arrived parts of a CATALOG or TRANSFER.

use std::collections::BTreeSet;

/// Parts that have arrived. Only arrived parts use memory, even if a message announces many parts.
#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct ArrivedParts {
    announced: Option<u32>,
    arrived: BTreeSet<u32>,
}

/// Result of recording a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartStatus {
    New,
    Duplicate,
    /// This part and an earlier part announce different numbers of parts.
    Inconsistent,
}

impl ArrivedParts {
    pub(crate) fn take(&mut self, part: u32, of: u32) -> PartStatus {
        // Parts with different numbers belong to different answers, and must not be mixed.
        if *self.announced.get_or_insert(of) != of || part >= of {
            PartStatus::Inconsistent
        } else if self.arrived.insert(part) {
            PartStatus::New
        } else {
            PartStatus::Duplicate
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.announced
            .is_some_and(|parts| self.arrived.len() as u64 == u64::from(parts))
    }

    pub(crate) fn len(&self) -> usize {
        self.arrived.len()
    }
}
