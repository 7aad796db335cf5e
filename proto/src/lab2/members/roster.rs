//! How many members make up the ring, and how many of them are there.

use super::Members;
use crate::lab2::machine::Context;

impl Members {
    /// How many members make up the ring: as many as are expected, by whoever expects the most, or have
    /// been heard and have not left if those are more; all that are known if this node expects nothing. Tables keep
    /// members that are gone, and a node that is told of them learns them again.
    pub(crate) fn roster(&self, context: &Context) -> usize {
        let known = self.len();
        match self.expected(context) {
            Some(expected) if context.constants().expect.is_none() => {
                expected.max(known - self.table.left_members())
            }
            Some(expected) if known > expected => expected.max(self.heard_members()),
            Some(expected) => expected,
            None => known,
        }
    }

    /// How many members the ring is to have, as far as this node knows: the most that a member expects, even one that
    /// is silent. It may be on the other side of a split.
    pub(crate) fn expected(&self, context: &Context) -> Option<usize> {
        let own = context.constants();
        let others = self.table.profiles().iter();
        let others = others.filter_map(|(_, said)| {
            let expect = usize::try_from(said.expect).ok()?;
            (expect > 0).then_some(expect.min(own.max_members))
        });
        others.chain(own.expect).max()
    }

    /// This node, and those of whom a frame has come since it was started, unless they have left.
    pub(crate) fn heard_members(&self) -> usize {
        1 + self.table.heard
    }

    /// How many members are there, this node included, as far as it can tell.
    pub(crate) fn present_members(&self, context: &Context) -> usize {
        let alive = context.now().before(self.silence(context));
        let others = self.others(context);
        let present = others.filter(|(_, peer)| !peer.left && peer.silent_since() >= alive);
        1 + present.count()
    }
}
