//! What members say of themselves and of each other, and what follows from it for the token.

use ring_codec::MacAddr;
use ring_codec::lab2::{Backing, Digest, Profile};

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::confidence::promise_lasts;
use crate::lab2::diagnostics::Diagnostics;
use crate::lab2::envelope::Envelope;
use crate::lab2::members::{Author, Said};
use crate::lab2::{Event, Lab2, Reason, State};
use crate::time::Instant;

impl Lab2 {
    /// Notes that a frame of a member came. In a full table the member that has been silent longest makes room.
    pub(super) fn note_author(&mut self, envelope: Envelope, only_wants: bool) {
        let mac = envelope.from;
        let mut author = self.members.note_author(envelope, only_wants);
        if author == Author::NoRoom && self.make_room() {
            author = self.members.note_author(envelope, only_wants);
        }
        match author {
            Author::Known => {}
            Author::New => self.member_added(mac),
            Author::NoRoom => self.event(Event::TableFull { author: mac }),
        }
    }

    /// A frame's author is there again after a while: that it was not is why hand-overs to it have failed.
    pub(super) fn note_return(&mut self, author: MacAddr) {
        let tenure = self.role.tenure_mut();
        let Some(tenure) = tenure.filter(|tenure| tenure.is_refused()) else {
            return;
        };
        let while_away = promise_lasts(&self.context, self.members.len());
        let since = self.context.now().before(while_away);
        let peer = self.members.peer(author);
        if peer.is_some_and(|peer| !peer.was_heard_since(since)) {
            tenure.forget_refusals();
        }
    }

    /// A member is new in the table. An OWNER that was alone has somebody to pass to now.
    pub(super) fn member_added(&mut self, mac: MacAddr) {
        let members = self.members.len();
        self.event(Event::MemberAdded { mac, members });
        self.pass_in_a_while();
    }

    fn make_room(&mut self) -> bool {
        if self.state() != State::Owner {
            return false;
        }
        let longest = self.members.longest_silent(&self.context);
        longest.is_some_and(|mac| {
            self.remove(&[mac], true);
            true
        })
    }

    /// Removes members, whose addresses are in order.
    fn remove(&mut self, macs: &[MacAddr], tell: bool) {
        if macs.is_empty() {
            return;
        }
        self.members.remove(&self.context, macs, tell);
        self.diagnostics.forget(macs);
        self.note_gone(macs);
        let members = self.members.len();
        for &mac in macs {
            self.event(Event::MemberForgotten { mac, members });
        }
        self.review_constants();
    }

    fn note_gone(&mut self, macs: &[MacAddr]) {
        self.diagnostics
            .note_gone(&self.context, &mut self.out, macs);
        self.review_constants();
    }

    /// Removes a member that is no longer heard: the operator knows that it is gone for good. All are
    /// told.
    pub(super) fn forget(&mut self, mac: MacAddr) {
        let silence = self.members.silence(&self.context);
        if self.members.is_gone(&self.context, mac, silence) {
            self.remove(&[mac], true);
            self.members.tell_removed(&self.context, &mut self.out);
        }
    }

    /// The holder removes members that have been silent for as long as they are remembered. All tell what they owe.
    pub(super) fn review_members(&mut self) {
        if self.state() == State::Owner {
            let forgotten = self.members.take_forgotten(&self.context);
            self.remove(&forgotten, true);
        }
        self.members.tell_removed(&self.context, &mut self.out);
        self.members.say_mtu(&self.context, &mut self.out);
    }

    /// FORGET: members were removed. A member that is named itself is still there, and tells all.
    pub(super) fn on_forget(&mut self, members: &[MacAddr]) {
        let gone = self.members.gone_of(&self.context, members);
        self.remove(&gone, false);
        if members.contains(&self.me()) {
            self.members.correct_own_entry(&self.context, &mut self.out);
        }
    }

    /// PING: its author's ip, and whether it has the same table.
    pub(super) fn on_ping(&mut self, envelope: Envelope, digest: Digest, ip: [u8; 16]) {
        let (context, out) = (&self.context, &mut self.out);
        if let Some(before) = self.members.learn_ip(envelope.from, ip) {
            self.diagnostics
                .note_move(context, out, envelope.from, (before, ip));
        }
        let state = self.role.state();
        self.members
            .compare_with_asker(context, out, state, (envelope, digest));
    }

    /// LEAVING: an offer to the member has failed.
    pub(super) fn on_leaving(&mut self, envelope: Envelope) {
        let mac = envelope.from;
        self.members.leave(mac);
        self.event(Event::MemberLeft { mac });
        self.note_gone(&[mac]);
        self.review_constants();
        if let Some(offer) = self.role.offer()
            && offer.to() == mac
        {
            self.hand_over_failed(offer);
        }
    }

    /// PING says whether its author is paused. An offer to one that is has failed: it will not be
    /// taken. But only once a period: where two share an address, one of which is paused and one
    /// wants the token, offers and failures would follow each other without a pause.
    pub(super) fn on_paused(&mut self, from: MacAddr, paused: bool) {
        self.members.set_paused(from, paused);
        if let Some(offer) = self.role.offer()
            && paused
            && offer.to() == from
            && self.members.may_fail_paused(&self.context, from)
        {
            self.hand_over_failed(offer);
        } else if !paused && self.may_pass() && !self.out.is_set(Timer::Pass) {
            self.plan_pass();
        }
    }

    /// A member says what it is. What it has said before binds again if it was silent.
    pub(super) fn on_profile(&mut self, envelope: Envelope, said: Profile) {
        let said = (envelope.from, said);
        let said = (self.members).learn_profile(&self.context, &mut self.out, said);
        if said == Said::Usual {
            return;
        }
        if said == Said::News {
            self.review_constants();
        }
        self.fit_data();
        self.heed_patience(envelope.at);
    }

    /// An OWNER that hears of a shorter patience than it has lived by so far speaks sooner, and relies on
    /// its token for less long. Nobody loses it before it was heard itself.
    fn heed_patience(&mut self, heard: Instant) {
        if self.state() != State::Owner {
            return;
        }
        let context = &self.context;
        let said = self.known.last_heartbeat().unwrap_or(heard);
        let patience = self.members.shortest_patience(context);
        let period = self.members.beat_period(context);
        let deadlines = [
            (Timer::Lease, said.max(heard) + patience),
            (Timer::Heartbeat, said + period),
        ];
        for (timer, at) in deadlines {
            if self.out.due(timer).is_some_and(|due| at < due) {
                self.out.set(timer, at.max(context.now()));
            }
        }
    }

    /// Finds out anew what the ring's times are, and whether this node and others are apart from them: a node that is apart
    /// lives by the ring's times.
    pub(super) fn review_constants(&mut self) {
        self.members.find_middle(&self.context);
        let apart = self.members.is_far(&self.context.profile()) && !self.works_with_a_quorum();
        let was_apart = self.fitness.set_apart(apart);
        if apart || was_apart {
            self.live_by(apart);
        }
        if apart != was_apart {
            Diagnostics::note_own_apart(&mut self.out, apart);
            self.now_apart(apart);
        }
        let far = self.members.far_members(&self.context);
        self.diagnostics.note_apart(&mut self.out, far);
    }

    /// Whether a program here relies on being the only one, as members have promised: it goes on until its work is done.
    fn works_with_a_quorum(&self) -> bool {
        self.wish.is_work() && self.backing() == Some(Backing::Quorum)
    }

    fn live_by(&mut self, apart: bool) {
        let constants = if apart {
            self.members.ring_constants(&self.context)
        } else {
            self.context.configured().clone()
        };
        if constants == *self.context.constants() {
            return;
        }
        self.context.live_by(constants);
        match self.state() {
            State::Waiter => self.trust_the_token(),
            // While the link is down nothing is asked.
            State::Looser if self.context.is_up() => self.ask_later(),
            State::Looser | State::Owner | State::Generating => {}
        }
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
            if matches!(self.state(), State::Owner | State::Generating) {
                self.enter_looser(Reason::Apart, self.token());
            }
            if self.state() == State::Looser {
                self.ask_later();
            }
        }
        // All are told with the next wake-up, which is due at once: the frame in hand has its answers.
        self.out.set(Timer::Store, self.context.now());
    }
}
