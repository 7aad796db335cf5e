//! What members say of themselves (`docs/protocol.md`, "Profiles").

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{PING_LEN, PROMISE_LEN, Profile};

use super::{APART, Members};
use crate::lab2::machine::{Context, Output};
use crate::lab2::{Constants, Difference, Event, Terms};
use crate::time::nanos;

/// Every interface carries payloads of so many bytes, whatever is said.
const LEAST_MTU: usize = 68;
/// No patience is shorter, whatever is said.
const LEAST_PATIENCE: Duration = Duration::from_millis(2);
/// Who is not heard for so long does not count for the ring's times, however seldom it says that it speaks.
const LONGEST_SILENCE: Duration = Duration::from_secs(60 * 60);

/// What a profile changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// The member says what this node says, as it did before.
    Usual,
    /// It says again what differs from that.
    Again,
    /// It says something else than before.
    News,
}

impl Members {
    /// What members that are there have said of themselves, as far as that is not what this node says: the
    /// others bind nobody. Who speaks less often than this node may be silent for longer.
    fn said(&self, context: &Context) -> impl Iterator<Item = (MacAddr, Profile)> {
        let said = self.table.profiles().iter().copied();
        said.filter(|(mac, said)| {
            !self.has_gone(context, *mac, said) || !self.knows_who_is_silent(context)
        })
    }

    /// Returns the profiles of members that have not left and are not silent. Silence is judged by each member's own
    /// heartbeat, since this node's heartbeat changes when it is apart.
    pub(super) fn there(&self, context: &Context) -> impl Iterator<Item = (MacAddr, Profile)> {
        let most = context.constants().waiter_timeout().saturating_mul(APART);
        // A fast member that is apart lives by the ring's times, and so speaks less often than it says.
        let least = nanos(Constants::default().waiter_timeout());
        let said = self.table.profiles().iter().copied();
        said.filter(move |&(mac, said)| {
            let theirs = Duration::from_nanos(said.patience.max(least)).min(most);
            let heartbeat = theirs / context.constants().waiter_intervals;
            !self.is_gone(
                context,
                mac,
                self.silence_at(heartbeat).min(LONGEST_SILENCE),
            )
        })
    }

    /// The same of those whose times count: who is apart owns nothing.
    fn binding(&self, context: &Context) -> impl Iterator<Item = Profile> {
        let said = self.said(context).map(|(_, said)| said);
        said.filter(|said| !self.is_far(said))
    }

    fn has_gone(&self, context: &Context, mac: MacAddr, said: &Profile) -> bool {
        let own = context.waiter_timeout();
        let theirs = Duration::from_nanos(said.patience).min(own.saturating_mul(APART));
        let heartbeat = theirs / context.constants().waiter_intervals;
        self.is_gone(
            context,
            mac,
            self.silence(context).max(Self::silence_of(heartbeat)),
        )
    }

    /// Returns what this node says of itself, with these flags.
    pub(crate) fn own_profile(&self, context: &Context, flags: u8) -> Profile {
        let shortest = Self::shortest_of(context, self.binding(context).map(|said| said.patience));
        Profile {
            flags,
            shortest: nanos(shortest),
            ..context.profile()
        }
    }

    /// The smallest MTU of a frame that all members get, as far as a frame may be shortened for that.
    pub(crate) fn common_mtu(&self, context: &Context) -> usize {
        let (smallest, _) = self.smallest_mtu(context);
        context.mtu().min(smallest.max(LEAST_MTU))
    }

    /// Whether the MTU is so small that PING does not say it. A question does, which is shorter.
    pub(crate) fn is_too_small_to_say(context: &Context) -> bool {
        context.mtu() < PING_LEN + Profile::LEN
    }

    /// Whether a promise fits the MTU of who is to read it, or of everybody, and this node's.
    pub(crate) fn may_promise_to(&self, context: &Context, to: MacAddr) -> bool {
        let theirs = if to == MacAddr::BROADCAST {
            self.smallest_mtu(context).0
        } else {
            let said = self.table.profile_of(to);
            said.map_or(usize::MAX, |said| said.mtu.into())
        };
        context.mtu().min(theirs) >= PROMISE_LEN
    }

    /// A member says what it is. What differs from this node is remembered: in a ring in order that is nothing.
    pub(crate) fn learn_profile(
        &mut self,
        context: &Context,
        out: &mut Output,
        (mac, said): (MacAddr, Profile),
    ) -> Said {
        let said = Profile { flags: 0, ..said };
        let remembered = (said != context.profile()).then_some(said);
        if remembered.is_none() && self.agree() {
            return Said::Usual;
        }
        let before = self.difference_of(context, mac);
        let is_news = self.table.set_profile(mac, remembered);
        if !is_news && remembered.is_none() {
            return Said::Usual;
        }
        match self.difference_of(context, mac) {
            difference if difference == before => {}
            Some(difference) => out.event(Event::MemberDiffers { mac, difference }),
            None => out.event(Event::MemberAgrees { mac }),
        }
        if is_news { Said::News } else { Said::Again }
    }

    /// Forgets what was said under an address that is this node's own now. Returns whether there was anything.
    pub(crate) fn forget_profile(&mut self, mac: MacAddr) -> bool {
        self.table.set_profile(mac, None)
    }

    /// Whether all members say the same of themselves as this node.
    pub(crate) fn agree(&self) -> bool {
        self.table.profiles().is_empty()
    }

    /// In what a member differs from this node although all members must agree.
    pub(crate) fn difference_of(&self, context: &Context, mac: MacAddr) -> Option<Difference> {
        let theirs = self.table.profile_of(mac)?;
        let own = context.profile();
        let terms = |said: Profile| Terms {
            patience: Duration::from_nanos(said.patience),
            take_timeout: Duration::from_nanos(said.take),
            expect: usize::try_from(said.expect)
                .ok()
                .filter(|&expect| expect > 0),
        };
        let agree = own.constants == theirs.constants && own.expect == theirs.expect;
        (!agree).then(|| Difference {
            theirs: terms(theirs),
            ours: terms(own),
        })
    }

    /// The shortest patience in the ring, as far as this node or a member has been told: so long after
    /// its last heartbeat an OWNER may be replaced.
    pub(crate) fn shortest_patience(&self, context: &Context) -> Duration {
        if self.agree() {
            return context.waiter_timeout();
        }
        // What a member was told may be by one that is apart.
        let counts = |&shortest: &u64| !self.is_far_below(shortest);
        let own = self.binding(context).map(|said| said.patience);
        let told = self
            .binding(context)
            .map(|said| said.shortest)
            .filter(counts);
        Self::shortest_of(context, own.chain(told))
    }

    fn shortest_of(context: &Context, others: impl Iterator<Item = u64>) -> Duration {
        let own = context.waiter_timeout();
        others.min().map_or(own, |shortest| {
            own.min(Duration::from_nanos(shortest).max(LEAST_PATIENCE))
        })
    }

    /// The longest patience in the ring, as far as this node has been told: so long whoever was OWNER
    /// before may have told its application to rely on its token.
    pub(crate) fn longest_patience(&self, context: &Context) -> Duration {
        let own = context.waiter_timeout();
        // One that is silent may be dead, and what it told its application goes on.
        let others = self.table.profiles().iter();
        let longest = others.map(|(_, said)| said.patience).max();
        longest.map_or(own, |longest| {
            let most = own.saturating_mul(APART);
            own.max(Duration::from_nanos(longest).min(most))
        })
    }

    /// How often an OWNER speaks: often enough for the shortest patience, but nobody makes it flood the
    /// segment.
    pub(crate) fn beat_period(&self, context: &Context) -> Duration {
        let own = context.constants().heartbeat;
        if self.agree() {
            return own;
        }
        let often_enough = self.shortest_patience(context) / context.constants().waiter_intervals;
        own.min(often_enough.max(LEAST_PATIENCE / 2))
    }

    /// For how long a member stands by its offers, and this node by what it is offered.
    pub(crate) fn offer_lasts(&self, context: &Context, giver: MacAddr) -> Duration {
        let own = context.constants().take_timeout;
        let theirs = self.table.profile_of(giver);
        theirs.map_or(own, |said| own.min(Duration::from_nanos(said.take)))
    }

    /// The smallest MTU of a member that is known of, and whose it is if it is not this node's.
    pub(crate) fn smallest_mtu(&self, context: &Context) -> (usize, Option<MacAddr>) {
        let others = self.said(context);
        let smallest = others
            .map(|(mac, said)| (usize::from(said.mtu), Some(mac)))
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
