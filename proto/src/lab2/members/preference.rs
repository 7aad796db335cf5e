//! The preferences of the members: how much an operator wants the idle token to rest with each of them
//! (`docs/reference/lab2/passing.md P34`).

use std::time::Duration;

use ring_codec::MacAddr;

use super::Members;
use super::peer::Peer;
use crate::lab2::machine::Context;
use crate::throttle::Throttle;
use crate::time::Instant;

/// After this number of further failures, the waiting time of a preferred member no longer grows.
const DOUBLINGS_MAX: u32 = 6;
/// After this number of successive failures, the node reports that a preferred member does not take the token.
const REFUSALS_MIN: u32 = 3;

/// The preference of a member, which is more than 0.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) struct Preference {
    pub value: u8,
    /// The last time at which the member did not take the token.
    pub failures: Throttle,
}

impl Members {
    /// Notes the preference that a member announced; 0 if it announced none.
    pub(crate) fn set_preference(&mut self, mac: MacAddr, value: u8) {
        let preferences = &mut self.table.preferences;
        if value == 0 {
            preferences.remove(&mac);
        } else if let Some(known) = preferences.get_mut(&mac) {
            known.value = value;
        } else if self.table.find(mac).is_some() {
            // The table has a maximum size, so the number of preferences is limited too.
            let failures = Throttle::default();
            let new = Preference { value, failures };
            self.table.preferences.insert(mac, new);
        }
    }

    /// Returns the preference that a member announced; 0 if it announced none.
    pub(crate) fn preference_of(&self, mac: MacAddr) -> u8 {
        let known = self.table.preferences.get(&mac);
        known.map_or(0, |preference| preference.value)
    }

    /// Notes that a member did not take the token, so that it is not preferred for a while.
    pub(crate) fn note_preference_failure(&mut self, context: &Context, mac: MacAddr) {
        if let Some(preference) = self.table.preferences.get_mut(&mac) {
            preference.failures.record(context.now());
        }
    }

    /// Whether a member that may own the token has a higher preference than `own`. The member may be dead.
    pub(crate) fn has_preference_above(&self, own: u8) -> bool {
        let mut preferences = self.table.preferences.iter();
        preferences.any(|(&mac, preference)| {
            preference.value > own && self.peer(mac).is_some_and(Peer::may_own)
        })
    }

    /// Returns the member that should have the idle token instead of a node with the preference `own`. The member is
    /// eligible, was heard at `heard` or later, has not failed to take the token lately, and has the highest
    /// preference. Of several such members, returns the member with the smallest address.
    pub(crate) fn preferred_above(
        &self,
        context: &Context,
        own: u8,
        heard: Instant,
    ) -> Option<MacAddr> {
        let above = self.table.preferences.iter().rev();
        let above = above.filter(|&(&mac, preference)| {
            let peer = self.peer(mac).filter(|peer| peer.was_heard_since(heard));
            preference.value > own
                && !context.is_own(mac)
                && self.is_eligible(context, mac)
                && peer.is_some_and(|peer| self.may_offer_again(context, preference, peer))
        });
        let best = above.max_by_key(|(_, preference)| preference.value);
        best.map(|(&mac, _)| mac)
    }

    /// Returns the member with the highest preference above `own` that repeatedly did not take the token from this
    /// node, and the number of its failures. The member is present, and is not the `owner`.
    pub(crate) fn refusing_preferred(
        &self,
        context: &Context,
        own: u8,
        owner: Option<MacAddr>,
    ) -> Option<(MacAddr, u32)> {
        let silence = self.silent_after(context);
        let refusing = self.table.preferences.iter().rev();
        let refusing = refusing.filter_map(|(&mac, preference)| {
            let peer = self.peer(mac).filter(|peer| peer.may_own())?;
            let failures = peer.penalty.failures();
            // Offers of another owner may succeed, so old failures prove nothing.
            let recent = self.retry_wait(context, peer) * 2;
            let refuses = failures >= REFUSALS_MIN
                && preference.value > own
                && owner != Some(mac)
                && !preference.failures.is_allowed(context.now(), recent)
                && !self.is_gone(context, mac, silence);
            refuses.then_some((preference.value, mac, failures))
        });
        let highest = refusing.max_by_key(|&(value, ..)| value);
        highest.map(|(_, mac, failures)| (mac, failures))
    }

    /// Whether this node may again offer the idle token to a preferred member.
    fn may_offer_again(&self, context: &Context, preference: &Preference, peer: &Peer) -> bool {
        let wait = self.retry_wait(context, peer);
        preference.failures.is_allowed(context.now(), wait)
    }

    /// Returns the time between two offers of the idle token to a preferred member. Each failure doubles this time.
    fn retry_wait(&self, context: &Context, peer: &Peer) -> Duration {
        let doublings = peer.penalty.failures().saturating_sub(1).min(DOUBLINGS_MAX);
        self.sign_of_life_period(context) * (1 << doublings)
    }
}
