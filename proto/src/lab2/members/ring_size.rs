//! The size of the ring, and the number of present members.

use super::Members;
use crate::lab2::machine::Context;

impl Members {
    /// Returns the size of the ring. A quorum is more than half of the ring. The size is the largest number of members
    /// that any member expects. If this node has heard more members than this number, and they have not left, the size
    /// is the number of these members. If this node expects no number of members, members that only tables name also
    /// count.
    pub(crate) fn ring_size(&self, context: &Context) -> usize {
        // With `--ring-size`, members that only tables name do not count. Tables keep dead members, and every new node
        // learns them again.
        let known = self.len();
        match self.expected_size(context) {
            Some(expected) if context.constants().expect.is_none() => {
                expected.max(known - self.table.count_left())
            }
            // Members that this node has heard do exist, whatever the option says. Tables may name dead members.
            Some(expected) if known > expected => expected.max(self.count_heard()),
            Some(expected) => expected,
            None => known,
        }
    }

    /// Returns the largest number of members that any member expects.
    pub(crate) fn expected_size(&self, context: &Context) -> Option<usize> {
        // Silent members also count: they may be on the other side of a split.
        let own = context.constants();
        let others = self.table.profiles.values();
        let others = others.filter_map(|profile| {
            let expect = usize::try_from(profile.expect).ok()?;
            // A profile may announce any number, but a table never holds more than `max_members`.
            (expect > 0).then_some(expect.min(own.max_members))
        });
        others.chain(own.expect).max()
    }

    /// Returns the number of members that were heard since the start and have not left. This node is included.
    pub(crate) fn count_heard(&self) -> usize {
        1 + self.table.heard
    }

    /// Returns how many members are present, including this node. A member is present if it did not leave and is not
    /// silent.
    pub(crate) fn present_members(&self, context: &Context) -> usize {
        let alive = context.now().before(self.silent_after(context));
        let others = self.others(context);
        let present = others.filter(|(_, peer)| !peer.left && peer.silent_since() >= alive);
        1 + present.count()
    }
}
