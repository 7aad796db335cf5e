//! A member whose times are so far from the ring's that it could only disturb (`docs/protocol.md`, "Members that are
//! apart"): it takes part by the ring's times, but neither elects nor owns. All members find that out by the same rule.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Profile;

use super::Members;
use crate::lab2::machine::Context;
use crate::lab2::{Constants, LONGEST_PERIOD, SHORTEST_HEARTBEAT, SHORTEST_TAKE_TIMEOUT};
use crate::time::nanos;

/// A member's WAITER_TIMEOUT and TAKE_TIMEOUT may be so many times as long, or as short, as the ring's.
pub(crate) const APART: u32 = 10;

/// WAITER_TIMEOUT and TAKE_TIMEOUT of the ring: in the middle of those of all members that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Middle {
    patience: u64,
    take: u64,
}

impl Middle {
    /// The middle of two times each per member. Of the two in the middle of an even number the one counts that is nearer
    /// to the default, so that all members come to the same.
    fn of(times: &mut [(u64, u64)]) -> Self {
        let usual = Constants::default();
        times.sort_unstable_by_key(|&(patience, _)| patience);
        let patience = middle(times.iter().map(|&(it, _)| it), usual.waiter_timeout());
        times.sort_unstable_by_key(|&(_, take)| take);
        let take = middle(times.iter().map(|&(_, it)| it), usual.take_timeout);
        Self { patience, take }
    }

    /// Whether these times are too far away.
    fn is_far(&self, said: &Profile) -> bool {
        differ_much(said.patience, self.patience) || differ_much(said.take, self.take)
    }

    /// Whether a patience is too short to be that of a member which owns.
    fn is_far_below(&self, patience: u64) -> bool {
        patience < self.patience && differ_much(patience, self.patience)
    }
}

fn differ_much(one: u64, other: u64) -> bool {
    one.max(other) > one.min(other).saturating_mul(APART.into())
}

/// `times` are in order, and there is one.
fn middle(times: impl ExactSizeIterator<Item = u64>, usual: Duration) -> u64 {
    let (len, usual) = (times.len(), u128::from(nanos(usual)));
    let mut both = times.skip((len - 1) / 2).take(2 - len % 2);
    let shorter = both.next().unwrap_or_default();
    let longer = both.next().unwrap_or(shorter);
    // Which of them needs the smaller factor to become the default.
    let (short, long) = (u128::from(shorter), u128::from(longer));
    let (down, up) = (
        short.min(usual) * long.max(usual),
        short.max(usual) * long.min(usual),
    );
    if down > up { shorter } else { longer }
}

impl Members {
    /// Whether the times that a node says of itself are too far from the ring's: they bind nobody, since it never owns.
    pub(crate) fn is_far(&self, said: &Profile) -> bool {
        self.middle.is_some_and(|middle| middle.is_far(said))
    }

    /// Whether a patience is too short to be that of a member which owns.
    pub(super) fn is_far_below(&self, patience: u64) -> bool {
        self.middle
            .is_some_and(|middle| middle.is_far_below(patience))
    }

    /// Returns, in order, the members that are there and whose times are too far from the ring's.
    pub(crate) fn far_members(&self, context: &Context) -> Vec<MacAddr> {
        if self.middle.is_none() {
            return Vec::new();
        }
        let far = self.there(context).filter(|(_, said)| self.is_far(said));
        let mut far: Vec<MacAddr> = far.map(|(mac, _)| mac).collect();
        far.sort_unstable();
        far
    }

    /// Finds out what the ring's times are.
    pub(crate) fn find_middle(&mut self, context: &Context) {
        self.middle = (!self.agree()).then(|| {
            let own = context.profile();
            let silence = self.silence_at(context.configured().heartbeat);
            let agree = self.others(context).filter(|&(mac, _)| {
                let differs = self.table.profile_of(mac).is_some();
                !differs && !self.is_gone(context, mac, silence)
            });
            let agree = agree.count() + 1;
            let others = self
                .there(context)
                .map(|(_, said)| (said.patience, said.take));
            let same = std::iter::repeat_n((own.patience, own.take), agree);
            let mut times: Vec<_> = same.chain(others).collect();
            Middle::of(&mut times)
        });
    }

    /// Returns the constants of a node that is apart, which lives by the ring's times: with its own it would disturb by its
    /// questions, or its promises would bind it for too long.
    pub(crate) fn ring_constants(&self, context: &Context) -> Constants {
        let mut constants = context.configured().clone();
        if let Some(middle) = self.middle {
            let heartbeat = Duration::from_nanos(middle.patience) / constants.waiter_intervals;
            // Members may say of their times what they like.
            constants.heartbeat = heartbeat.clamp(SHORTEST_HEARTBEAT, LONGEST_PERIOD);
            let take = Duration::from_nanos(middle.take).max(SHORTEST_TAKE_TIMEOUT);
            // The two need not come from one member.
            constants.take_timeout = take.min(constants.heartbeat);
        }
        constants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(heartbeat: u64) -> Profile {
        let heartbeat = Duration::from_millis(heartbeat);
        Context::new(Constants::for_heartbeat(heartbeat)).profile()
    }

    #[test]
    fn the_middle_counts_and_of_two_in_the_middle_the_one_that_is_nearer_to_the_default() {
        for (heartbeats, middle) in [
            (&[100][..], 100),
            (&[1, 100], 100),
            (&[100, 10_000], 100),
            (&[1, 10_000], 10_000),
            (&[10, 1_000], 1_000),
            (&[1, 1, 100], 1),
            (&[1, 1, 100, 100], 100),
            (&[1, 100, 10_000], 100),
            (&[1, 1, 1, 100, 10_000], 1),
        ] {
            let times = |&millis: &u64| {
                let said = says(millis);
                (said.patience, said.take)
            };
            let mut one: Vec<_> = heartbeats.iter().map(times).collect();
            let mut other: Vec<_> = heartbeats.iter().rev().map(times).collect();
            let found = Middle::of(&mut one);
            assert_eq!(found, Middle::of(&mut other));
            for &millis in heartbeats {
                let far = millis.max(middle) > 10 * millis.min(middle);
                assert_eq!(
                    found.is_far(&says(millis)),
                    far,
                    "{millis} of {heartbeats:?}"
                );
            }
        }
    }
}
