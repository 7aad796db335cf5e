//! Profiles of the members, and the limits that follow from them (`docs/protocol.md`, "Profiles").

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{PING_LEN, PROMISE_LEN, Profile};

use super::{APART_FACTOR, Members};
use crate::lab2::machine::{Context, Output};
use crate::lab2::{Constants, Difference, Event, MemberOptions};
use crate::time::nanos;

/// The smallest MTU that Linux allows, in bytes. Smaller values of profiles count as this.
const MTU_MIN: usize = 68;
/// The shortest WAITER_TIMEOUT that a profile can impose on an OWNER.
const WAITER_TIMEOUT_MIN: Duration = Duration::from_millis(2);
/// A member that is not heard for this long does not count for the ring's timeouts, however long its heartbeat is.
const SILENCE_MAX: Duration = Duration::from_secs(60 * 60);

/// The effect of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProfileChange {
    /// It equals this node's profile, as before.
    Same,
    /// It differs from this node's, but not from the member's last one.
    Repeated,
    /// It differs from the member's last one.
    Changed,
}

impl Members {
    /// Returns the profiles that differ from this node's, of members that take part. A member with a longer heartbeat
    /// may be silent for longer.
    fn current_profiles(&self, context: &Context) -> impl Iterator<Item = (MacAddr, Profile)> {
        self.table.profiles().filter(|(mac, profile)| {
            !self.is_profile_expired(context, *mac, profile) || !self.knows_silent_members(context)
        })
    }

    /// Returns the profiles of members that have not left and are not silent. Silence is judged by each member's own
    /// heartbeat, since this node's heartbeat changes when it is apart.
    pub(super) fn present_profiles(
        &self,
        context: &Context,
    ) -> impl Iterator<Item = (MacAddr, Profile)> {
        let most = context
            .constants()
            .waiter_timeout()
            .saturating_mul(APART_FACTOR);
        // A fast member that is apart uses the ring's timeouts, so it sends less often than its profile says.
        let least = nanos(Constants::default().waiter_timeout());
        self.table.profiles().filter(move |&(mac, profile)| {
            let theirs = Duration::from_nanos(profile.patience.max(least)).min(most);
            let heartbeat = theirs / context.constants().waiter_intervals;
            !self.is_gone(
                context,
                mac,
                self.silent_after_for(heartbeat).min(SILENCE_MAX),
            )
        })
    }

    /// Returns the profiles whose timeouts count. A member that is apart never owns, so its profile does not.
    fn binding_profiles(&self, context: &Context) -> impl Iterator<Item = Profile> {
        let profiles = self.current_profiles(context).map(|(_, profile)| profile);
        profiles.filter(|profile| !self.is_apart(profile))
    }

    fn is_profile_expired(&self, context: &Context, mac: MacAddr, profile: &Profile) -> bool {
        let own = context.waiter_timeout();
        let theirs = Duration::from_nanos(profile.patience).min(own.saturating_mul(APART_FACTOR));
        let heartbeat = theirs / context.constants().waiter_intervals;
        self.is_gone(
            context,
            mac,
            self.silent_after(context)
                .max(Self::silent_after_in_small_ring(heartbeat)),
        )
    }

    /// Returns this node's profile, with these flags.
    pub(crate) fn own_profile(&self, context: &Context, flags: u8) -> Profile {
        let shortest = Self::shortest_with(
            context,
            self.binding_profiles(context)
                .map(|profile| profile.patience),
        );
        Profile {
            flags,
            shortest: nanos(shortest),
            ..context.profile()
        }
    }

    /// Returns the MTU that frames to all must fit.
    pub(crate) fn broadcast_mtu(&self, context: &Context) -> usize {
        let (smallest, _) = self.smallest_mtu(context);
        context.mtu().min(smallest.max(MTU_MIN))
    }

    /// Whether this node's MTU is too small for a PING with a profile. WHERE_IS_TOKEN is shorter, and announces it.
    pub(crate) fn is_mtu_too_small_for_ping(context: &Context) -> bool {
        context.mtu() < PING_LEN + Profile::LEN
    }

    /// Whether a promise fits this node's MTU and that of its receiver, or of all members.
    pub(crate) fn does_promise_fit(&self, context: &Context, to: MacAddr) -> bool {
        let theirs = if to == MacAddr::BROADCAST {
            self.smallest_mtu(context).0
        } else {
            let profile = self.table.profile_of(to);
            profile.map_or(usize::MAX, |profile| profile.mtu.into())
        };
        context.mtu().min(theirs) >= PROMISE_LEN
    }

    /// Handles a member's profile. It is stored only if it differs from this node's; in a healthy ring none does.
    pub(crate) fn learn_profile(
        &mut self,
        context: &Context,
        out: &mut Output,
        (mac, profile): (MacAddr, Profile),
    ) -> ProfileChange {
        let profile = Profile {
            flags: 0,
            ..profile
        };
        let remembered = (profile != context.profile()).then_some(profile);
        if remembered.is_none() && self.is_uniform() {
            return ProfileChange::Same;
        }
        let before = self.difference_to(context, mac);
        let is_news = self.table.set_profile(mac, remembered);
        if !is_news && remembered.is_none() {
            return ProfileChange::Same;
        }
        match self.difference_to(context, mac) {
            difference if difference == before => {}
            Some(difference) => out.event(Event::MemberDiffers { mac, difference }),
            None => out.event(Event::MemberAgrees { mac }),
        }
        if is_news {
            ProfileChange::Changed
        } else {
            ProfileChange::Repeated
        }
    }

    /// Forgets the profile of an address that this node now has. Returns whether there was one.
    pub(crate) fn forget_profile(&mut self, mac: MacAddr) -> bool {
        self.table.set_profile(mac, None)
    }

    /// Whether all members have the same profile as this node.
    pub(crate) fn is_uniform(&self) -> bool {
        self.table.profiles.is_empty()
    }

    /// Returns the difference between a member's options and this node's, of those that must agree; `None` if there is
    /// none.
    pub(crate) fn difference_to(&self, context: &Context, mac: MacAddr) -> Option<Difference> {
        let theirs = self.table.profile_of(mac)?;
        let own = context.profile();
        let terms = |profile: Profile| MemberOptions {
            waiter_timeout: Duration::from_nanos(profile.patience),
            take_timeout: Duration::from_nanos(profile.take),
            expect: usize::try_from(profile.expect)
                .ok()
                .filter(|&expect| expect > 0),
        };
        let agree = own.constants == theirs.constants && own.expect == theirs.expect;
        (!agree).then(|| Difference {
            theirs: terms(theirs),
            ours: terms(own),
        })
    }

    /// Returns the shortest WAITER_TIMEOUT in the ring, as far as this node knows. This long after its last heartbeat
    /// an OWNER may be replaced.
    pub(crate) fn shortest_waiter_timeout(&self, context: &Context) -> Duration {
        if self.is_uniform() {
            return context.waiter_timeout();
        }
        // The member may have learned of a timeout from a third one, which is apart.
        let counts = |&shortest: &u64| !self.is_too_short(shortest);
        let own = self
            .binding_profiles(context)
            .map(|profile| profile.patience);
        let told = self
            .binding_profiles(context)
            .map(|profile| profile.shortest)
            .filter(counts);
        Self::shortest_with(context, own.chain(told))
    }

    fn shortest_with(context: &Context, others: impl Iterator<Item = u64>) -> Duration {
        let own = context.waiter_timeout();
        others.min().map_or(own, |shortest| {
            own.min(Duration::from_nanos(shortest).max(WAITER_TIMEOUT_MIN))
        })
    }

    /// Returns the longest WAITER_TIMEOUT in the ring, as far as this node knows. The last OWNER may have told its
    /// application to rely on its token for that long.
    pub(crate) fn longest_waiter_timeout(&self, context: &Context) -> Duration {
        let own = context.waiter_timeout();
        // Silent members count too: one may be dead while its application still runs.
        let others = self.table.profiles.values();
        let longest = others.map(|profile| profile.patience).max();
        longest.map_or(own, |longest| {
            let most = own.saturating_mul(APART_FACTOR);
            own.max(Duration::from_nanos(longest).min(most))
        })
    }

    /// Returns the period of an OWNER's heartbeats. It suits the shortest WAITER_TIMEOUT, but no profile can make an
    /// OWNER flood the segment.
    pub(crate) fn heartbeat_period(&self, context: &Context) -> Duration {
        let own = context.constants().heartbeat;
        if self.is_uniform() {
            return own;
        }
        let often_enough =
            self.shortest_waiter_timeout(context) / context.constants().waiter_intervals;
        own.min(often_enough.max(WAITER_TIMEOUT_MIN / 2))
    }

    /// Returns how long an offer of this giver is valid: the giver's TAKE_TIMEOUT, or this node's if that is shorter.
    pub(crate) fn offer_valid_for(&self, context: &Context, giver: MacAddr) -> Duration {
        let own = context.constants().take_timeout;
        let theirs = self.table.profile_of(giver);
        theirs.map_or(own, |profile| own.min(Duration::from_nanos(profile.take)))
    }

    /// Returns the smallest known MTU, and its member; `None` for this node.
    pub(crate) fn smallest_mtu(&self, context: &Context) -> (usize, Option<MacAddr>) {
        let others = self.current_profiles(context);
        let smallest = others
            .map(|(mac, profile)| (usize::from(profile.mtu), Some(mac)))
            .min();
        let own = (context.mtu(), None);
        smallest.map_or(
            own,
            |other| {
                if other.0 < context.mtu() { other } else { own }
            },
        )
    }
}
