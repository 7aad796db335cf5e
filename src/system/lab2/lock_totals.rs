//! Counts locks granted, lost and refused on this machine.

use std::collections::BTreeMap;

use ring_control::lab2::{LockTotals, LossReason, RefusalReason};

use super::locks::Notice;

/// How often locks were granted, lost and refused here.
#[derive(Debug, Default)]
pub(super) struct LockCount {
    granted: u64,
    lost: BTreeMap<LossReason, u64>,
    refused: BTreeMap<RefusalReason, u64>,
}

impl LockCount {
    /// Counts what a client was told.
    pub(super) fn told(&mut self, notice: &Notice) {
        match notice {
            Notice::Granted { .. } => self.granted += 1,
            Notice::Lost { why, .. } => *self.lost.entry(*why).or_default() += 1,
            Notice::Refused(why) => self.refused(*why),
            Notice::Ran { .. } => self.refused(RefusalReason::Ran),
            Notice::Renewed { .. } => {}
        }
    }

    /// Counts a refusal.
    pub(super) fn refused(&mut self, why: RefusalReason) {
        *self.refused.entry(why).or_default() += 1;
    }

    /// Returns the totals for the status, with every reason that there is.
    pub(super) fn totals(&self) -> LockTotals {
        let named = |name: &str, count: Option<&u64>| (name.to_owned(), *count.unwrap_or(&0));
        let lost = LossReason::ALL.iter();
        let refused = RefusalReason::ALL.iter();
        LockTotals {
            granted: self.granted,
            lost: lost
                .map(|why| named(why.name(), self.lost.get(why)))
                .collect(),
            refused: refused
                .map(|why| named(why.name(), self.refused.get(why)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::time::Instant;

    use super::LockCount;
    use crate::system::lab2::locks::Notice;
    use ring_control::lab2::{LossReason, RefusalReason};

    #[test]
    fn every_reason_is_there_be_its_total_0() {
        let mut count = LockCount::default();
        let until = Instant::default();
        count.told(&Notice::Lost {
            why: LossReason::Yield,
            until,
        });
        count.told(&Notice::Refused(RefusalReason::Timeout));
        count.refused(RefusalReason::Timeout);
        let totals = count.totals();
        assert_eq!((totals.granted, totals.lost["yield"]), (0, 1));
        assert_eq!((totals.lost["max_hold"], totals.refused["timeout"]), (0, 2));
        assert_eq!(totals.lost.len(), LossReason::ALL.len());
        assert_eq!(totals.refused.len(), RefusalReason::ALL.len());
    }
}
