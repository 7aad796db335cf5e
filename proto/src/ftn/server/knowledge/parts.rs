//! Which parts of something in parts have come.

use std::collections::BTreeSet;

/// Grows with what has come, not with what was announced.
#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct Parts {
    announced: Option<u32>,
    got: BTreeSet<u32>,
}

/// What a part is to those that came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    New,
    Duplicate,
    /// It says that there are more or fewer than another said.
    Disagrees,
}

impl Parts {
    pub(crate) fn take(&mut self, part: u32, of: u32) -> Part {
        if *self.announced.get_or_insert(of) != of || part >= of {
            Part::Disagrees
        } else if self.got.insert(part) {
            Part::New
        } else {
            Part::Duplicate
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.announced
            .is_some_and(|parts| self.got.len() as u64 == u64::from(parts))
    }

    /// How many have come.
    pub(crate) fn len(&self) -> usize {
        self.got.len()
    }
}
