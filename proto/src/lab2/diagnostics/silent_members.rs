//! A short list of silent members, for reports.

use ring_codec::MacAddr;

/// How many members are named.
const NAMED_MAX: usize = 4;

/// Silent members: the first four by address, and the number of the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SilentMembers {
    named: [Option<MacAddr>; NAMED_MAX],
    others: usize,
}

impl FromIterator<MacAddr> for SilentMembers {
    fn from_iter<I: IntoIterator<Item = MacAddr>>(members: I) -> Self {
        let mut silent = Self::default();
        let mut members = members.into_iter();
        for place in &mut silent.named {
            *place = members.next();
        }
        silent.others = members.count();
        silent
    }
}

impl SilentMembers {
    /// Returns the named members.
    pub fn named(&self) -> impl Iterator<Item = MacAddr> {
        self.named.iter().flatten().copied()
    }

    /// Returns how many members are not named.
    pub const fn others(&self) -> usize {
        self.others
    }

    /// Returns the number of all members.
    pub fn count(&self) -> usize {
        self.named().count() + self.others
    }
}
