//! A list of silent members for reports. The list names only some of the members.

use ring_codec::MacAddr;

/// The maximum number of members that the list names.
const NAMED_MAX: usize = 4;

/// The addresses of the first four silent members, and the number of the other silent members.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct SilentMembers {
    // A ring may have thousands of silent members. An array keeps the report short and `Copy`.
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
    pub fn addresses(&self) -> impl Iterator<Item = MacAddr> {
        self.named.iter().flatten().copied()
    }

    /// Returns the number of silent members that the list does not name.
    pub const fn others(&self) -> usize {
        self.others
    }

    /// Returns the number of all silent members.
    pub fn count(&self) -> usize {
        self.addresses().count() + self.others
    }
}
