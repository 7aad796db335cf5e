//! The terms that other nodes announce, and the units of these terms (`docs/jitterbug/protocol/terms.md` T3).

use std::time::Duration;

use ring_codec::jitterbug::Terms;

use super::options::{LEASE_MAX, LEASE_MIN};
use super::{Difference, Options};

/// Returns the difference because of which a node with these terms and a node with these options cannot be in one ring.
pub(crate) fn separates(terms: &Terms, options: &Options) -> Option<Difference> {
    if terms.policy != options.policy {
        return Some(Difference::Policy);
    }
    let bounds = micros(LEASE_MIN)..=micros(LEASE_MAX);
    // One impossible value is enough, because each of the three leases can change the lease or the restore of this
    // node.
    let mut leases = [terms.lease_us, terms.shortest_us, terms.longest_us].into_iter();
    let is_within = leases.all(|lease| bounds.contains(&lease));
    (!is_within).then_some(Difference::Lease)
}

pub(crate) fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

pub(crate) fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}
