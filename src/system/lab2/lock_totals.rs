//! Counts the locks that were granted, lost and refused on this machine.

use std::collections::BTreeMap;

use ring_control::lab2::{LockTotals, LossReason, RefusalReason};

use super::locks::Notice;

#[derive(Debug, Default)]
pub(super) struct LockCount {
    granted: u64,
    lost: BTreeMap<LossReason, u64>,
    refused: BTreeMap<RefusalReason, u64>,
}

impl LockCount {
    pub(super) fn count_notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Granted { .. } => self.granted += 1,
            Notice::Lost { why, .. } => *self.lost.entry(*why).or_default() += 1,
            Notice::Refused(why) => self.count_refusal(*why),
            Notice::Ran { .. } => self.count_refusal(RefusalReason::AlreadyRan),
            Notice::Renewed { .. } => {}
        }
    }

    pub(super) fn count_refusal(&mut self, why: RefusalReason) {
        *self.refused.entry(why).or_default() += 1;
    }

    /// Returns the totals for the status. The totals contain every possible reason.
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
    fn every_reason_has_a_total_even_0() {
        let mut count = LockCount::default();
        let until = Instant::default();
        count.count_notice(&Notice::Lost {
            why: LossReason::Yield,
            until,
        });
        count.count_notice(&Notice::Refused(RefusalReason::Timeout));
        count.count_refusal(RefusalReason::Timeout);
        let totals = count.totals();
        assert_eq!((totals.granted, totals.lost["yield"]), (0, 1));
        assert_eq!((totals.lost["max_hold"], totals.refused["timeout"]), (0, 2));
        assert_eq!(totals.lost.len(), LossReason::ALL.len());
        assert_eq!(totals.refused.len(), RefusalReason::ALL.len());
    }
}
