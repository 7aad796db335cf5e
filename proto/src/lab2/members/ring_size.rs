//! The size of the ring, and how many of its members are present.

use super::Members;
use crate::lab2::machine::Context;

impl Members {
    /// Returns the size of the ring, of which a quorum is more than half. It is the largest number that a member
    /// expects, or the number of members that were heard and have not left, if that is larger. If this node expects no
    /// number, members that only tables name count too.
    pub(crate) fn ring_size(&self, context: &Context) -> usize {
        // With `--expect`, tables do not count: they keep dead members, and every new node learns those again.
        let known = self.len();
        match self.expected(context) {
            Some(expected) if context.constants().expect.is_none() => {
                expected.max(known - self.table.count_left())
            }
            // Members that this node has heard itself do exist, whatever the option says. Tables may name dead ones.
            Some(expected) if known > expected => expected.max(self.count_heard()),
            Some(expected) => expected,
            None => known,
        }
    }

    /// Returns the largest number of members that any member expects.
    pub(crate) fn expected(&self, context: &Context) -> Option<usize> {
        // Silent members count too: they may be on the other side of a split.
        let own = context.constants();
        let others = self.table.profiles.values();
        let others = others.filter_map(|profile| {
            let expect = usize::try_from(profile.expect).ok()?;
            // A profile may announce any number, but a table never holds more than this.
            (expect > 0).then_some(expect.min(own.max_members))
        });
        others.chain(own.expect).max()
    }

    /// Returns how many members were heard since the start and have not left, including this node.
    pub(crate) fn count_heard(&self) -> usize {
        1 + self.table.heard
    }

    /// Returns how many members are present, this node included, as far as it can tell.
    pub(crate) fn present_members(&self, context: &Context) -> usize {
        let alive = context.now().before(self.silent_after(context));
        let others = self.others(context);
        let present = others.filter(|(_, peer)| !peer.left && peer.silent_since() >= alive);
        1 + present.count()
    }
}
