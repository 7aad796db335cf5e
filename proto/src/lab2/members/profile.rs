//! The profiles of the members, and the limits that follow from the profiles (`docs/reference/lab2/membership.md F1` to
//! F23).

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{PING_LEN, PROMISE_LEN, Profile};

use super::{APART_FACTOR, Members};
use crate::lab2::machine::{Context, Output};
use crate::lab2::{Constants, Difference, Event, MemberOptions};
use crate::time::nanos;

/// The smallest MTU that Linux allows, in bytes. If a profile contains a smaller MTU, it counts as this MTU.
const MTU_MIN: usize = 68;
/// The shortest WAITER_TIMEOUT that a profile of another member can force on an OWNER.
const WAITER_TIMEOUT_MIN: Duration = Duration::from_millis(2);
/// A member that was silent for longer than this does not count for the ring's timeouts, even if its heartbeat period
/// is very long.
const SILENCE_MAX: Duration = Duration::from_secs(60 * 60);

/// The difference between a received profile and the previous profile of its member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProfileChange {
    /// The profile equals this node's profile, and the previous profile did too.
    Same,
    /// The profile differs from this node's profile, but is equal to the member's previous profile.
    Repeated,
    /// The profile differs from the member's previous profile.
    Changed,
}

impl Members {
    /// Returns the profiles of members that are not silent. Profiles that equal this node's profile are left out. A
    /// member with a longer heartbeat period may be silent for longer.
    fn current_profiles(&self, context: &Context) -> impl Iterator<Item = (MacAddr, Profile)> {
        self.table.profiles().filter(|(mac, profile)| {
            // A node that has not listened for long enough cannot tell which members are silent, so all profiles count.
            !self.is_profile_expired(context, *mac, profile) || !self.knows_silent_members(context)
        })
    }

    /// Returns the profiles of members that did not leave and are not silent. The heartbeat period of the member itself
    /// decides whether the member is silent. This node's period is not used, because it changes when this node is
    /// apart.
    pub(super) fn present_profiles(
        &self,
        context: &Context,
    ) -> impl Iterator<Item = (MacAddr, Profile)> {
        // A profile may contain any value. Without a limit a member could count as present indefinitely.
        let most = context
            .constants()
            .waiter_timeout()
            .saturating_mul(APART_FACTOR);
        // A fast member that is apart uses the ring's timeouts, so it sends less often than its profile announces.
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

    /// Returns the profiles with timeouts that count. If a member is apart, its profile does not count, because such a
    /// member never owns the token.
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
                // The slower of the two heartbeats decides: a slow member sends its signs of life less often.
                .max(Self::silent_after_in_small_ring(heartbeat)),
        )
    }

    /// Returns this node's profile, with `flags` as its flags.
    pub(crate) fn own_profile(&self, context: &Context, flags: u8) -> Profile {
        let shortest = Self::shortest_with(
            context,
            self.binding_profiles(context)
                .map(|profile| profile.patience),
        );
        Profile {
            flags,
            // The field has only timeouts that members announced as their own: a value that other members repeat would
            // remain after its author is gone.
            shortest: nanos(shortest),
            ..context.profile()
        }
    }

    /// Returns the MTU that broadcast frames must fit.
    pub(crate) fn broadcast_mtu(&self, context: &Context) -> usize {
        let (smallest, _) = self.smallest_mtu(context);
        context.mtu().min(smallest.max(MTU_MIN))
    }

    /// Whether this node's MTU is too small for a PING with a profile. A node with such an MTU announces it in
    /// WHERE_IS_TOKEN, because this frame is shorter than PING.
    pub(crate) fn is_mtu_too_small_for_ping(context: &Context) -> bool {
        context.mtu() < PING_LEN + Profile::LEN
    }

    /// Whether a PING with a promise fits this node's MTU and the receiver's MTU. The receiver may be the broadcast
    /// address. This address means all members.
    pub(crate) fn does_promise_fit(&self, context: &Context, to: MacAddr) -> bool {
        let theirs = if to == MacAddr::BROADCAST {
            self.smallest_mtu(context).0
        } else {
            let profile = self.table.profile_of(to);
            profile.map_or(usize::MAX, |profile| profile.mtu.into())
        };
        context.mtu().min(theirs) >= PROMISE_LEN
    }

    /// Handles a member's profile. If the profile differs from this node's profile, stores it. In a healthy ring, all
    /// profiles are equal.
    pub(crate) fn learn_profile(
        &mut self,
        context: &Context,
        out: &mut Output,
        (mac, profile): (MacAddr, Profile),
    ) -> ProfileChange {
        let profile = Profile {
            // Flags change from frame to frame, so two profiles that differ only in flags are equal.
            flags: 0,
            ..profile
        };
        let remembered = (profile != context.profile()).then_some(profile);
        // Almost every frame of a healthy ring takes this path, which needs no lookup.
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

    /// Adapts the stored profiles to this node's new constants. `earlier` has the constants before the change.
    pub(crate) fn adjust_profiles(
        &mut self,
        earlier: &Context,
        context: &Context,
        out: &mut Output,
    ) {
        let others = self.others(context);
        // A member announces its version after its profile. So a member with a version and without a stored profile
        // has the profile that this node had until now.
        let others = others.filter(|(_, peer)| peer.told_version && !peer.has_left());
        let others: Vec<_> = others.map(|(mac, _)| mac).collect();
        for mac in others {
            let before = self.difference_to(earlier, mac);
            let profile = self.table.profile_of(mac).unwrap_or(earlier.profile());
            let remembered = (profile != context.profile()).then_some(profile);
            self.table.set_profile(mac, remembered);
            match (before, self.difference_to(context, mac)) {
                (None, Some(difference)) => out.event(Event::MemberDiffers { mac, difference }),
                (Some(_), None) => out.event(Event::MemberAgrees { mac }),
                _ => {}
            }
        }
    }

    /// Forgets the profile of an address, because the address now belongs to this node. Returns whether a profile was
    /// stored for the address.
    pub(crate) fn forget_profile(&mut self, mac: MacAddr) -> bool {
        self.table.set_profile(mac, None)
    }

    /// Whether all members have this node's profile.
    pub(crate) fn is_uniform(&self) -> bool {
        self.table.profiles.is_empty()
    }

    /// Returns the difference between the options of a member and this node's options. Compares only options that must
    /// be equal on all members. Returns `None` if these options are equal.
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

    /// Returns the shortest WAITER_TIMEOUT in the ring, as far as this node knows. When an OWNER has sent no heartbeat
    /// for this time, the ring may replace it.
    pub(crate) fn shortest_waiter_timeout(&self, context: &Context) -> Duration {
        if self.is_uniform() {
            return context.waiter_timeout();
        }
        // The shortest timeout that a member announces may be the timeout of a third member, which is apart.
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

    /// Returns the longest WAITER_TIMEOUT of any member, as far as this node knows. An application of the last OWNER
    /// may rely on its token for this time.
    pub(crate) fn longest_waiter_timeout(&self, context: &Context) -> Duration {
        let own = context.waiter_timeout();
        // Silent members also count: the daemon of a member may be dead while its application still runs.
        let others = self.table.profiles.values();
        let longest = others.map(|profile| profile.patience).max();
        longest.map_or(own, |longest| {
            // Otherwise one member with a timeout of a day would stop all grants on a restarted node for a day.
            let most = own.saturating_mul(APART_FACTOR);
            own.max(Duration::from_nanos(longest).min(most))
        })
    }

    /// Returns the period of an OWNER's heartbeats. The period is so short that it suits the shortest WAITER_TIMEOUT in
    /// the ring. But the period has a lower limit, so that profiles cannot make an OWNER flood the network segment.
    pub(crate) fn heartbeat_period(&self, context: &Context) -> Duration {
        let own = context.constants().heartbeat;
        if self.is_uniform() {
            return own;
        }
        let often_enough =
            self.shortest_waiter_timeout(context) / context.constants().waiter_intervals;
        own.min(often_enough.max(WAITER_TIMEOUT_MIN / 2))
    }

    /// Returns how long an offer of this giver is valid. An offer is valid for the TAKE_TIMEOUT of the giver or of this
    /// node, whichever is shorter.
    pub(crate) fn offer_valid_for(&self, context: &Context, giver: MacAddr) -> Duration {
        let own = context.constants().take_timeout;
        let theirs = self.table.profile_of(giver);
        theirs.map_or(own, |profile| own.min(Duration::from_nanos(profile.take)))
    }

    /// Returns the smallest known MTU, and the member with this MTU. Returns `None` as the member if this node has the
    /// smallest MTU.
    pub(crate) fn smallest_mtu(&self, context: &Context) -> (usize, Option<MacAddr>) {
        let others = self.current_profiles(context);
        let smallest = others
            .map(|(mac, profile)| (usize::from(profile.mtu), Some(mac)))
            .min();
        let own = (context.mtu(), None);
        smallest.map_or(
            own,
            // If both are equal, this node's MTU counts: then the report need not name another machine.
            |other| {
                if other.0 < context.mtu() { other } else { own }
            },
        )
    }
}
