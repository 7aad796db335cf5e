//! The ring's timeouts, and the members that are apart. A member is apart if its timeouts differ too much from the
//! ring's timeouts (`docs/reference/lab2/faults.md X1` to X8). A member that is apart uses the ring's timeouts, but
//! takes part in no election and does not own the token. All members apply the same rule.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Profile;

use super::Members;
use crate::lab2::machine::Context;
use crate::lab2::{Constants, HEARTBEAT_MIN, PERIOD_MAX, TAKE_TIMEOUT_MIN};
use crate::time::nanos;

/// The maximum factor between a member's WAITER_TIMEOUT or TAKE_TIMEOUT and the same timeout of the ring. With a larger
/// factor, the member is apart.
pub(crate) const APART_FACTOR: u32 = 10;

/// The WAITER_TIMEOUT and the TAKE_TIMEOUT of the ring, in nanoseconds. Each of the two values is the median over all
/// present members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) struct RingTimes {
    waiter_timeout: u64,
    take_timeout: u64,
}

impl RingTimes {
    /// Computes the medians of WAITER_TIMEOUT and TAKE_TIMEOUT. `times` contains one pair of timeouts for each member.
    /// If the number of members is even, there are two middle values. The median is the middle value that is nearer to
    /// the default. So all members compute the same median.
    fn median_of(times: &mut [(u64, u64)]) -> Self {
        let usual = Constants::default();
        times.sort_unstable_by_key(|&(waiter_timeout, _)| waiter_timeout);
        // The two medians may come from different members: the values of each timeout are sorted separately.
        let waiter_timeout = median(times.iter().map(|&(it, _)| it), usual.waiter_timeout());
        times.sort_unstable_by_key(|&(_, take)| take);
        let take_timeout = median(times.iter().map(|&(_, it)| it), usual.take_timeout);
        Self {
            waiter_timeout,
            take_timeout,
        }
    }

    /// Whether a member with this profile is apart.
    fn is_apart(&self, profile: &Profile) -> bool {
        differ_by_factor(profile.patience, self.waiter_timeout)
            || differ_by_factor(profile.take, self.take_timeout)
    }

    /// Whether a member with this WAITER_TIMEOUT is apart because the timeout is too short. A member with a timeout
    /// that is too short never owns the token.
    fn is_too_short(&self, waiter_timeout: u64) -> bool {
        waiter_timeout < self.waiter_timeout
            && differ_by_factor(waiter_timeout, self.waiter_timeout)
    }
}

fn differ_by_factor(one: u64, other: u64) -> bool {
    one.max(other) > one.min(other).saturating_mul(APART_FACTOR.into())
}

/// Returns the median of `times`. The slice must be sorted, and must not be empty.
fn median(times: impl ExactSizeIterator<Item = u64>, usual: Duration) -> u64 {
    let (len, usual) = (times.len(), u128::from(nanos(usual)));
    let mut both = times.skip((len - 1) / 2).take(2 - len % 2);
    let shorter = both.next().unwrap_or_default();
    let longer = both.next().unwrap_or(shorter);
    // The median is the middle value that needs the smaller factor to become the default. The products compare these
    // factors without a division.
    let (short, long) = (u128::from(shorter), u128::from(longer));
    let (down, up) = (
        short.min(usual) * long.max(usual),
        short.max(usual) * long.min(usual),
    );
    if down > up { shorter } else { longer }
}

impl Members {
    /// Whether a member with this profile is apart. The timeouts of a member that is apart do not affect other members,
    /// because such a member never owns the token.
    pub(crate) fn is_apart(&self, profile: &Profile) -> bool {
        self.ring_times
            .is_some_and(|ring_times| ring_times.is_apart(profile))
    }

    /// Whether a WAITER_TIMEOUT is so short that its member is apart, and so never owns the token.
    pub(super) fn is_too_short(&self, waiter_timeout: u64) -> bool {
        self.ring_times
            .is_some_and(|ring_times| ring_times.is_too_short(waiter_timeout))
    }

    /// Returns the present members that are apart, sorted by MAC.
    pub(crate) fn apart_members(&self, context: &Context) -> Vec<MacAddr> {
        if self.ring_times.is_none() {
            return Vec::new();
        }
        let far = self
            .present_profiles(context)
            .filter(|(_, profile)| self.is_apart(profile));
        let mut far: Vec<MacAddr> = far.map(|(mac, _)| mac).collect();
        far.sort_unstable();
        far
    }

    /// Computes the ring's timeouts.
    pub(crate) fn update_ring_times(&mut self, context: &Context) {
        self.ring_times = (!self.is_uniform()).then(|| {
            let own = context.profile();
            // This computation uses the configured heartbeat, because the present heartbeat follows the ring while this
            // node is apart.
            let silence = self.silent_after_for(context.configured_constants().heartbeat);
            // Members without a stored profile agree with this node.
            let agree = self.others(context).filter(|&(mac, _)| {
                let differs = self.table.profile_of(mac).is_some();
                !differs && !self.is_gone(context, mac, silence)
            });
            // This node itself is the additional member.
            let agree = agree.count() + 1;
            let others = self
                .present_profiles(context)
                .map(|(_, profile)| (profile.patience, profile.take));
            let same = std::iter::repeat_n((own.patience, own.take), agree);
            let mut times: Vec<_> = same.chain(others).collect();
            RingTimes::median_of(&mut times)
        });
    }

    /// Returns the constants that this node uses while it is apart, with the ring's timeouts.
    pub(crate) fn ring_constants(&self, context: &Context) -> Constants {
        // With its own timeouts, this node would disturb the ring by its questions, or its promises would last too
        // long.
        let mut constants = context.configured_constants().clone();
        if let Some(ring_times) = self.ring_times {
            let heartbeat =
                Duration::from_nanos(ring_times.waiter_timeout) / constants.waiter_intervals;
            // Profiles may contain any value.
            constants.heartbeat = heartbeat.clamp(HEARTBEAT_MIN, PERIOD_MAX);
            let take = Duration::from_nanos(ring_times.take_timeout).max(TAKE_TIMEOUT_MIN);
            // The two medians may come from different members, so TAKE_TIMEOUT may be longer than the heartbeat period.
            constants.take_timeout = take.min(constants.heartbeat);
        }
        constants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile_with(heartbeat: u64) -> Profile {
        let heartbeat = Duration::from_millis(heartbeat);
        Context::new(Constants::for_heartbeat(heartbeat)).profile()
    }

    #[test]
    fn the_median_counts_and_of_two_the_one_nearer_to_the_default() {
        for (heartbeats, ring_times) in [
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
                let profile = profile_with(millis);
                (profile.patience, profile.take)
            };
            let mut one: Vec<_> = heartbeats.iter().map(times).collect();
            let mut other: Vec<_> = heartbeats.iter().rev().map(times).collect();
            let found = RingTimes::median_of(&mut one);
            assert_eq!(found, RingTimes::median_of(&mut other));
            for &millis in heartbeats {
                let far = millis.max(ring_times) > 10 * millis.min(ring_times);
                assert_eq!(
                    found.is_apart(&profile_with(millis)),
                    far,
                    "{millis} of {heartbeats:?}"
                );
            }
        }
    }
}
