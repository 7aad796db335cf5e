//! The members that are silent, as people are told of them.

use ring_codec::MacAddr;

/// So many of them are named.
const NAMED: usize = 4;

/// Members that are silent: the first four by their addresses, and how many others there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SilentMembers {
    named: [Option<MacAddr>; NAMED],
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
    /// Those to name.
    pub fn named(&self) -> impl Iterator<Item = MacAddr> {
        self.named.iter().flatten().copied()
    }

    /// How many go without a name.
    pub const fn others(&self) -> usize {
        self.others
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.named().count() + self.others
    }
}
