//! A member whose times are so far from the ring's that it could only disturb (`docs/protocol.md`, "Members that are
//! apart"): it takes part by the ring's times, but neither elects nor owns. All members find that out by the same rule.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Backing, Profile};

use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::Role;
use crate::lab2::{
    Constants, LONGEST_PERIOD, Lab2, Reason, SHORTEST_HEARTBEAT, SHORTEST_TAKE_TIMEOUT, Trouble,
};
use crate::time::nanos;

/// A member's WAITER_TIMEOUT and TAKE_TIMEOUT may be so many times as long, or as short, as the ring's.
pub(crate) const APART: u32 = 10;

/// WAITER_TIMEOUT and TAKE_TIMEOUT of the ring: in the middle of those of all members that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Middle {
    patience: u64,
    take: u64,
}

impl Middle {
    /// The middle of two times each per member. Of the two in the middle of an even number the one counts that is nearer
    /// to the default, so that all members come to the same.
    pub(crate) fn of(times: &mut [(u64, u64)]) -> Self {
        let usual = Constants::default();
        times.sort_unstable_by_key(|&(patience, _)| patience);
        let patience = middle(times.iter().map(|&(it, _)| it), usual.waiter_timeout());
        times.sort_unstable_by_key(|&(_, take)| take);
        let take = middle(times.iter().map(|&(_, it)| it), usual.take_timeout);
        Self { patience, take }
    }

    /// Whether these times are too far away.
    pub(crate) fn is_far(&self, said: &Profile) -> bool {
        differ_much(said.patience, self.patience) || differ_much(said.take, self.take)
    }

    /// Whether a patience is too short to be that of a member which owns.
    pub(crate) fn is_far_below(&self, patience: u64) -> bool {
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

impl Lab2 {
    /// Whether this node's constants are so far from the ring's that it neither elects nor owns.
    #[must_use]
    pub fn is_apart(&self) -> bool {
        self.apart
    }

    /// Whether what a member says of its times binds nobody: it never owns.
    pub(crate) fn is_far(&self, said: &Profile) -> bool {
        self.middle.is_some_and(|middle| middle.is_far(said))
    }

    /// The members that are there and whose times are too far from the ring's, with the profiles of those.
    pub(crate) fn far_members(&self) -> impl Iterator<Item = (MacAddr, Profile)> {
        self.there().filter(|(_, said)| self.is_far(said))
    }

    /// Finds out anew what the ring's times are, and whether this node and others are apart.
    pub(crate) fn review_constants(&mut self) {
        self.middle = self.find_middle();
        let apart = self.is_far(&self.context.profile()) && !self.works_with_a_quorum();
        let was_apart = std::mem::replace(&mut self.apart, apart);
        if apart || was_apart {
            self.live_by_the_ring();
        }
        if apart != was_apart {
            self.tell_trouble(Trouble::Apart { mac: None }, !apart);
            self.now_apart(apart);
        }
        self.tell_apart();
    }

    fn find_middle(&self) -> Option<Middle> {
        if self.table.profiles().is_empty() {
            return None;
        }
        let own = self.context.profile();
        let silence = self.silence_at(self.context.configured().heartbeat);
        let members = self.table.members().iter();
        let agree = members.filter(|it| {
            let differs = self.table.profile_of(it.mac).is_some();
            !differs && !self.is_own(it.mac) && !self.is_gone(it.mac, silence)
        });
        let agree = agree.count() + 1;
        let others = self.there().map(|(_, said)| (said.patience, said.take));
        let same = std::iter::repeat_n((own.patience, own.take), agree);
        let mut times: Vec<_> = same.chain(others).collect();
        Some(Middle::of(&mut times))
    }

    /// A node that is apart lives by the ring's times: with its own it would disturb by its questions alone, or its
    /// promises would bind it for too long.
    fn live_by_the_ring(&mut self) {
        let mut constants = self.context.configured().clone();
        if let Some(middle) = self.middle.filter(|_| self.apart) {
            let heartbeat = Duration::from_nanos(middle.patience) / constants.waiter_intervals;
            // Members may say of their times what they like.
            constants.heartbeat = heartbeat.clamp(SHORTEST_HEARTBEAT, LONGEST_PERIOD);
            let take = Duration::from_nanos(middle.take).max(SHORTEST_TAKE_TIMEOUT);
            // The two need not come from one member.
            constants.take_timeout = take.min(constants.heartbeat);
        }
        if constants != *self.context.constants() {
            self.context.live_by(constants);
            match self.role {
                Role::Waiter(_) => self.trust_the_token(),
                // While the link is down nothing is asked.
                Role::Looser(_) if self.context.is_up() => {
                    self.timer_in(Timer::Ask, self.context.constants().looser_timeout());
                }
                Role::Looser(_) | Role::Owner(_) | Role::Generating(_) => {}
            }
        }
    }

    /// Whether a program here relies on being the only one, as members have promised: it goes on until its work is done.
    fn works_with_a_quorum(&self) -> bool {
        self.want && self.backing() == Some(Backing::Quorum)
    }

    /// A node that is apart lets go of a token, which nobody might take from it in its time.
    fn now_apart(&mut self, apart: bool) {
        if !self.context.is_up() || self.is_shutting_down() {
            return;
        }
        if apart {
            // It has stood for election a moment ago, and has not said so yet.
            let stands = |it| matches!(it, Content::Standing(..) | Content::Elected(_));
            self.out.outbox.drop_all(stands);
            if matches!(self.role, Role::Owner(_) | Role::Generating(_)) {
                self.enter_looser(Reason::Apart, self.token());
            }
            if matches!(self.role, Role::Looser(_)) {
                self.timer_in(Timer::Ask, self.context.constants().looser_timeout());
            }
        }
        // All are told with the next wake-up, which is due at once: the frame in hand has its answers.
        self.timer_in(Timer::Store, Duration::ZERO);
    }

    /// Tells people of members that are apart, and of those that no longer are.
    fn tell_apart(&mut self) {
        if self.middle.is_none() && self.troubles.apart.is_empty() {
            return;
        }
        let mut far: Vec<MacAddr> = self.far_members().map(|(mac, _)| mac).collect();
        far.sort_unstable();
        let before = std::mem::replace(&mut self.troubles.apart, far.clone());
        let news = |in_one: &[MacAddr], not_in: &[MacAddr]| -> Vec<MacAddr> {
            let is_new = |mac: &&MacAddr| not_in.binary_search(mac).is_err();
            in_one.iter().filter(is_new).copied().collect()
        };
        for mac in news(&far, &before) {
            self.tell_trouble(Trouble::Apart { mac: Some(mac) }, false);
        }
        for mac in news(&before, &far) {
            self.tell_trouble(Trouble::Apart { mac: Some(mac) }, true);
        }
    }

    /// Who is apart just now.
    pub(crate) fn apart_troubles(&self) -> impl Iterator<Item = Trouble> {
        let own = self.apart.then_some(Trouble::Apart { mac: None });
        let others = self.troubles.apart.iter();
        own.into_iter()
            .chain(others.map(|&mac| Trouble::Apart { mac: Some(mac) }))
    }
}
