//! What members say of themselves (`docs/protocol.md`, "Profiles").

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{ETHERNET_HEADER_LEN, Frame, PING_LEN, PROMISE_LEN, Profile};

use crate::lab2::machine::input::Envelope;
use crate::lab2::machine::outbox::{Content, Outgoing};
use crate::lab2::machine::timer::Timer;
use crate::lab2::members::apart::APART;
use crate::lab2::tenure::role::Role;
use crate::lab2::{Constants, Difference, Event, Lab2, Terms};
use crate::time::{Instant, nanos};

/// Every interface carries payloads of so many bytes, whatever is said.
const LEAST_MTU: usize = 68;
/// No patience is shorter, whatever is said.
const LEAST_PATIENCE: Duration = Duration::from_millis(2);
/// Who is not heard for so long does not count for the ring's times, however seldom it says that it speaks.
const LONGEST_SILENCE: Duration = Duration::from_secs(60 * 60);

impl Lab2 {
    /// What members that are there have said of themselves, as far as that is not what this node says: the
    /// others bind nobody. Who speaks less often than this node may be silent for longer.
    fn said(&self) -> impl Iterator<Item = (MacAddr, Profile)> {
        let said = self.table.profiles().iter().copied();
        said.filter(|(mac, said)| !self.has_gone(*mac, said) || !self.knows_who_is_silent())
    }

    /// Returns the profiles of members that have not left and are not silent. Silence is judged by each member's own
    /// heartbeat, since this node's heartbeat changes when it is apart.
    pub(crate) fn there(&self) -> impl Iterator<Item = (MacAddr, Profile)> {
        let most = self
            .context
            .constants()
            .waiter_timeout()
            .saturating_mul(APART);
        // A fast member that is apart lives by the ring's times, and so speaks less often than it says.
        let least = nanos(Constants::default().waiter_timeout());
        let said = self.table.profiles().iter().copied();
        said.filter(move |&(mac, said)| {
            let theirs = Duration::from_nanos(said.patience.max(least)).min(most);
            let heartbeat = theirs / self.context.constants().waiter_intervals;
            !self.is_gone(mac, self.silence_at(heartbeat).min(LONGEST_SILENCE))
        })
    }

    /// The same of those whose times count: who is apart owns nothing.
    fn binding(&self) -> impl Iterator<Item = Profile> {
        let said = self.said().map(|(_, said)| said);
        said.filter(|said| !self.is_far(said))
    }

    fn has_gone(&self, mac: MacAddr, said: &Profile) -> bool {
        let own = self.context.constants().waiter_timeout();
        let theirs = Duration::from_nanos(said.patience).min(own.saturating_mul(APART));
        let heartbeat = theirs / self.context.constants().waiter_intervals;
        self.is_gone(mac, self.silence().max(Self::silence_of(heartbeat)))
    }

    /// What this node says of itself.
    pub(crate) fn profile(&self) -> Profile {
        let shortest = self.shortest_of(self.binding().map(|said| said.patience));
        Profile {
            flags: self.flags(),
            shortest: nanos(shortest),
            ..self.context.profile()
        }
    }

    fn flags(&self) -> u8 {
        let deaf = if self.is_deaf() { Profile::DEAF } else { 0 };
        let unreached = if self.hears_no_broadcasts() {
            Profile::UNREACHED
        } else {
            0
        };
        deaf | unreached
    }

    /// A frame with the profile and the card of its author, if it is one that has them: a hop costs nothing more. The
    /// profile is left out where an MTU is so small that it does not fit, be it that of another member, which would not get
    /// the frame; but who hears nobody has to say so.
    pub(crate) fn introduce<'a>(&'a self, outgoing: Outgoing, frame: Frame<'a>) -> Frame<'a> {
        let Outgoing { to, content } = outgoing;
        let is_ping = matches!(content, Content::Ping | Content::Promise(_));
        let speaks_to_all = to == MacAddr::BROADCAST && Profile::may_follow(content.kind());
        if !is_ping && !speaks_to_all {
            return frame;
        }
        let profile = Profile {
            flags: self.with_backing(self.flags(), content),
            ..self.profile()
        };
        let with = Frame {
            profile: Some(profile),
            ..frame
        };
        let mtu = if profile.is_deaf() {
            self.context.mtu()
        } else {
            let (smallest, _) = self.smallest_mtu();
            self.context.mtu().min(smallest.max(LEAST_MTU))
        };
        if with.encoded_len() > ETHERNET_HEADER_LEN + mtu {
            return frame;
        }
        self.add_card(content, with, ETHERNET_HEADER_LEN + mtu)
    }

    /// Whether the MTU is so small that PING does not say it. A question does, which is shorter.
    pub(crate) fn is_too_small_to_say(&self) -> bool {
        self.context.mtu() < PING_LEN + Profile::LEN
    }

    /// Whether a promise fits the MTU of who is to read it, or of everybody, and this node's.
    pub(crate) fn may_promise_to(&self, to: MacAddr) -> bool {
        let theirs = if to == MacAddr::BROADCAST {
            self.smallest_mtu().0
        } else {
            let said = self.table.profile_of(to);
            said.map_or(usize::MAX, |said| said.mtu.into())
        };
        self.context.mtu().min(theirs) >= PROMISE_LEN
    }

    /// A member says what it is.
    pub(crate) fn on_profile(&mut self, envelope: Envelope, said: Profile) {
        let usual = self.context.profile();
        // Remembered is what differs: in a ring in order that is nothing.
        let said = Profile { flags: 0, ..said };
        let remembered = (said != usual).then_some(said);
        if remembered.is_none() && self.table.profiles().is_empty() {
            return;
        }
        let before = self.differs(envelope.from);
        let is_news = self.table.set_profile(envelope.from, remembered);
        if !is_news && remembered.is_none() {
            return;
        }
        let mac = envelope.from;
        match self.differs(mac) {
            difference if difference == before => {}
            Some(difference) => self.event(Event::MemberDiffers { mac, difference }),
            None => self.event(Event::MemberAgrees { mac }),
        }
        if is_news {
            self.review_constants();
        }
        // What it has said before binds again if it was silent.
        self.fit_data();
        self.heed_patience(envelope.at);
    }

    /// In what a member differs from this node although all members must agree.
    pub(crate) fn differs(&self, mac: MacAddr) -> Option<Difference> {
        let theirs = self.table.profile_of(mac)?;
        let own = self.context.profile();
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

    /// An OWNER that hears of a shorter patience than it has lived by so far speaks sooner, and relies on
    /// its token for less long. Nobody loses it before it was heard itself.
    fn heed_patience(&mut self, heard: Instant) {
        if !matches!(self.role, Role::Owner(_)) {
            return;
        }
        let said = self.last_broadcast.unwrap_or(heard);
        let deadlines = [
            (Timer::Lease, said.max(heard) + self.shortest_patience()),
            (Timer::Heartbeat, said + self.beat_period()),
        ];
        for (timer, at) in deadlines {
            if self.out.due(timer).is_some_and(|due| at < due) {
                self.out.set(timer, at.max(self.context.now()));
            }
        }
    }

    /// The shortest patience in the ring, as far as this node or a member has been told: so long after
    /// its last heartbeat an OWNER may be replaced.
    #[must_use]
    pub fn shortest_patience(&self) -> Duration {
        if self.table.profiles().is_empty() {
            return self.context.waiter_timeout();
        }
        // What a member was told may be by one that is apart.
        let counts = |&shortest: &u64| !self.middle.is_some_and(|it| it.is_far_below(shortest));
        let own = self.binding().map(|said| said.patience);
        let told = self.binding().map(|said| said.shortest).filter(counts);
        self.shortest_of(own.chain(told))
    }

    fn shortest_of(&self, others: impl Iterator<Item = u64>) -> Duration {
        let own = self.context.constants().waiter_timeout();
        others.min().map_or(own, |shortest| {
            own.min(Duration::from_nanos(shortest).max(LEAST_PATIENCE))
        })
    }

    /// The longest patience in the ring, as far as this node has been told: so long whoever was OWNER
    /// before may have told its application to rely on its token.
    pub(crate) fn longest_patience(&self) -> Duration {
        let own = self.context.constants().waiter_timeout();
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
    pub(crate) fn beat_period(&self) -> Duration {
        let own = self.context.constants().heartbeat;
        if self.table.profiles().is_empty() {
            return own;
        }
        let often_enough = self.shortest_patience() / self.context.constants().waiter_intervals;
        own.min(often_enough.max(LEAST_PATIENCE / 2))
    }

    /// How many members the ring is to have, as far as anybody is told: the most that a member expects, be it
    /// silent now. It may be on the other side of a cut.
    pub(crate) fn expected(&self) -> Option<usize> {
        let others = self.table.profiles().iter();
        let others = others.filter_map(|(_, said)| {
            let expect = usize::try_from(said.expect).ok()?;
            (expect > 0).then_some(expect.min(self.context.constants().max_members))
        });
        others.chain(self.context.constants().expect).max()
    }

    /// How many members the ring is to have, as far as anybody says; 0: nobody does.
    #[must_use]
    pub fn expected_members(&self) -> usize {
        self.expected().unwrap_or(0)
    }

    /// For how long a member stands by its offers, and this node by what it is offered.
    pub(crate) fn offer_lasts(&self, giver: MacAddr) -> Duration {
        let own = self.context.constants().take_timeout;
        let theirs = self.table.profile_of(giver);
        theirs.map_or(own, |said| own.min(Duration::from_nanos(said.take)))
    }

    /// The smallest MTU of a member that is known of, and whose it is if it is not this node's.
    pub(crate) fn smallest_mtu(&self) -> (usize, Option<MacAddr>) {
        let others = self.said();
        let smallest = others
            .map(|(mac, said)| (usize::from(said.mtu), Some(mac)))
            .min();
        let own = (self.context.mtu(), None);
        smallest.map_or(own, |other| {
            if other.0 < self.context.mtu() {
                other
            } else {
                own
            }
        })
    }
}
