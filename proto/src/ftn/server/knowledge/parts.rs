//! Bookkeeping of a message in parts.

use std::collections::BTreeSet;

/// Parts that have arrived. Its memory grows with them, not with the announced number.
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
    /// The part announces another number of parts than an earlier one.
    Inconsistent,
}

impl ArrivedParts {
    pub(crate) fn take(&mut self, part: u32, of: u32) -> PartStatus {
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
