//! The preferences of the members: how much an operator wants the idle token to rest with each of them
//! (`docs/reference/lab2/passing.md P34`).

use ring_codec::MacAddr;

use super::Members;
use crate::lab2::machine::Context;
use crate::throttle::Throttle;
use crate::time::Instant;

/// The preference of a member, which is more than 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Preference {
    pub value: u8,
    /// Limits how often this node offers the token to a preferred member that does not take it.
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
            // The table has a limit, so the number of preferences has one too.
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

    /// Returns the member that should have the idle token instead of a node with the preference `own`. The member is
    /// eligible, was heard at `heard` or later, has not failed to take the token lately, and has the highest
    /// preference. Of several such members, returns the member with the smallest address.
    pub(crate) fn preferred_above(
        &self,
        context: &Context,
        own: u8,
        heard: Instant,
    ) -> Option<MacAddr> {
        if self.table.preferences.is_empty() {
            return None;
        }
        let period = self.sign_of_life_period(context);
        let above = self.table.preferences.iter().rev();
        let above = above.filter(|&(&mac, preference)| {
            preference.value > own
                && !context.is_own(mac)
                && preference.failures.is_allowed(context.now(), period)
                && self.is_eligible(context, mac)
                && self
                    .peer(mac)
                    .is_some_and(|peer| peer.was_heard_since(heard))
        });
        let best = above.max_by_key(|(_, preference)| preference.value);
        best.map(|(&mac, _)| mac)
    }
}
