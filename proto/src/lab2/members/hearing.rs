//! A member that hears nobody, and one from which nobody takes the token (`docs/protocol.md`, "Deaf
//! members" and "Letting go").

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Message, Profile};

use crate::lab2::machine::input::Envelope;
use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::{Offer, Role, Tenure};
use crate::lab2::{Event, Lab2, Reason};
use crate::time::Instant;

/// So many hand-overs have failed in a row at least before an OWNER lets go.
const FAILURES: u32 = 4;

/// What is known of the frames that reach this node, and of those that leave it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hearing {
    /// When a frame last came, or the link came up.
    pub(crate) last: Option<Instant>,
    /// Since when this node has not been deaf.
    pub(crate) since: Option<Instant>,
    /// Nobody was heard for so long when all frames that had come were read.
    pub(crate) deaf: bool,
    /// It was said that nobody is heard.
    pub(crate) told: bool,
    /// Nobody takes the token from this node, which owns nothing until it knows better.
    pub(crate) unfit: bool,
    /// Whether frames to one station alone arrive.
    pub(crate) probe: Probe,
}

/// What was done to see whether frames to one station alone arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Probe {
    /// Nothing that is still of use.
    #[default]
    None,
    /// This member was asked alone.
    Asked(MacAddr),
    /// It has answered.
    Answered,
}

/// Hand-overs have failed, without one that has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Refusals {
    /// When the first of them began.
    pub(crate) since: Instant,
    pub(crate) count: u32,
    /// Somebody has asked for the token meanwhile.
    pub(crate) is_asked: bool,
}

impl Lab2 {
    /// Whether nobody was heard for so long that this node says so in what it broadcasts.
    #[must_use]
    pub fn is_deaf(&self) -> bool {
        self.context.is_up() && self.hearing.deaf
    }

    fn was_quiet(&self) -> bool {
        let quiet = self.hearing.last.map(|at| self.context.now().since(at));
        quiet.is_some_and(|quiet| quiet >= self.context.deaf_after())
    }

    /// It is judged where no frame waits: a process that was stopped has not heard what has come meanwhile.
    pub(crate) fn judge_hearing(&mut self) {
        self.hearing.deaf = self.was_quiet();
    }

    /// Whether this node has heard others for so long that it knows who is silent.
    pub(crate) fn knows_who_is_silent(&self) -> bool {
        let since = self.hearing.since.filter(|_| !self.is_deaf());
        since.is_some_and(|since| self.context.now().since(since) >= self.silence())
    }

    /// Whether nobody takes the token from this node, which therefore owns nothing.
    #[must_use]
    pub fn is_unfit(&self) -> bool {
        self.hearing.unfit
    }

    /// Says once that nobody is heard, and when somebody is again.
    pub(crate) fn review_hearing(&mut self) {
        let deaf = self.is_deaf();
        if self.hearing.told != deaf {
            self.hearing.told = deaf;
            let heard_before = self.table.heard > 0;
            self.event(Event::HearingChanged { deaf, heard_before });
        }
    }

    /// Whether a frame is not listened to: its author hears nobody, and knows nothing of who owns the
    /// token or stands for it. What it offers has nobody's answer.
    pub(crate) fn is_unheeded(
        &self,
        from: MacAddr,
        message: &Message<'_>,
        says_deaf: bool,
    ) -> bool {
        match message {
            Message::TakeToken { .. } => {
                let peer = self.table.find(from).map(|at| &self.table.peers()[at]);
                peer.is_some_and(|peer| peer.deaf)
            }
            Message::TokenIsHere { .. }
            | Message::GeneratingToken { .. }
            | Message::WhereIsToken
            | Message::WantToken => says_deaf,
            _ => false,
        }
    }

    /// A frame has come: this node hears, and what it says of its author is remembered, if it is of a kind
    /// that does. If it is the answer to a question to that member alone, this node may own again.
    pub(crate) fn hear(&mut self, envelope: Envelope, message: &Message<'_>, says_deaf: bool) {
        let was_quiet = self.was_quiet();
        self.hearing.last = self.hearing.last.max(Some(envelope.at));
        self.hearing.deaf = false;
        if was_quiet {
            self.hearing.since = self.hearing.last;
            // The members that were told so have not heard of it yet: they take no offer of this node.
            self.silence.unsay();
        }
        if Profile::may_follow(message.kind())
            && let Some(peer) = self.table.peer_mut(envelope.from)
        {
            peer.deaf = says_deaf;
            self.note_deafness(envelope.from, says_deaf);
        }
        if was_quiet && self.may_pass() && !self.out.is_set(Timer::Pass) {
            let turn = self.before_the_next_round();
            self.timer_in(Timer::Pass, turn);
        }
        let answers = matches!(
            message,
            Message::TokenIsHere { .. } | Message::TokenWasHereRecently { .. }
        );
        if answers && !envelope.broadcast {
            self.note_late_answer(envelope, message);
            if self.hearing.unfit && self.hearing.probe == Probe::Asked(envelope.from) {
                // What it says then is no answer to this frame.
                self.hearing.probe = Probe::Answered;
                self.timer_in(Timer::Probe, Duration::ZERO);
            }
        }
    }

    /// A frame's author is there again after a while: that it was not is why hand-overs to it have failed.
    pub(crate) fn note_return(&mut self, author: MacAddr) {
        let Role::Owner(Tenure {
            refusals: Some(_), ..
        }) = self.role
        else {
            return;
        };
        let while_away = self.promise_lasts(self.table.len());
        let since = self.context.now().before(while_away);
        let peer = self.table.find(author).map(|at| &self.table.peers()[at]);
        if peer.is_some_and(|peer| !peer.was_heard_since(since))
            && let Role::Owner(tenure) = &mut self.role
        {
            tenure.refusals = None;
        }
    }

    /// A deaf owner, which was alone perhaps, is to hear that somebody is there. So is who asks, deaf,
    /// where the token is: frames to it alone may arrive, and who is not answered stands for election.
    pub(crate) fn let_hear(&mut self, deaf: MacAddr) {
        if self.is_follower(deaf) && self.once_a_period(deaf, |notes| &mut notes.pinged) {
            self.send_ping(deaf);
        }
    }

    /// A hand-over has failed. Whether this node is to let go: it fails at everybody that it hears, for
    /// WAITER_TIMEOUT, while they ask for the token.
    pub(crate) fn is_let_down(&mut self, offer: &Offer) -> bool {
        let Role::Owner(tenure) = &mut self.role else {
            return false;
        };
        let refusals = tenure.refusals.get_or_insert(Refusals {
            since: offer.since,
            count: 0,
            is_asked: false,
        });
        refusals.count += 1;
        let since = refusals.since;
        self.is_in_doubt() && self.table.has_failed_at_all(self.me(), since)
    }

    /// Whether it is to be seen if anybody takes the token from this node: those that ask for it have not
    /// for so long that the others are offered it as well, whatever work there is here.
    pub(crate) fn is_in_doubt(&self) -> bool {
        let Role::Owner(Tenure {
            refusals: Some(refusals),
            ..
        }) = self.role
        else {
            return false;
        };
        self.context.now().since(refusals.since) >= self.context.constants().waiter_timeout()
            && refusals.count >= FAILURES
            && !self.is_shutting_down()
            && refusals.is_asked
    }

    /// Nobody takes the token from this node, though others are heard and ask for it: what it sends to one
    /// alone, or what is sent to it, is lost. The others elect another owner.
    pub(crate) fn let_go(&mut self) {
        self.hearing.unfit = true;
        self.event(Event::FitnessChanged { unfit: true });
        self.enter_looser(Reason::NobodyTakes, self.token());
        self.timer_in(Timer::Ask, self.context.constants().looser_timeout());
        self.timer_in(Timer::Probe, self.probe_period());
        self.broadcast(Content::Ping);
    }

    fn probe_period(&self) -> Duration {
        self.context.constants().waiter_timeout() * 4
    }

    /// Asks the holder, alone, where the token is: the answer comes to this node alone as well. Where
    /// nobody owns the token any longer this node may as well.
    pub(crate) fn probe(&mut self) {
        if !self.hearing.unfit {
            return;
        }
        if self.hearing.probe == Probe::Answered {
            return self.recover();
        }
        let holder = self.owner.filter(|&owner| owner != self.me());
        let Some(holder) = holder.filter(|_| matches!(self.role, Role::Waiter(_))) else {
            return self.recover();
        };
        self.timer_in(Timer::Probe, self.probe_period());
        self.hearing.probe = Probe::Asked(holder);
        self.send(holder, Content::WhereIsToken);
    }

    /// No owner is heard any longer. If that stays so for as long again this node may own: where all
    /// have let go nobody else would.
    pub(crate) fn probe_soon(&mut self) {
        let soon = self.context.now() + self.context.waiter_timeout();
        let due = self.out.due(Timer::Probe);
        if self.hearing.unfit && due.is_none_or(|due| due > soon) {
            self.out.set(Timer::Probe, soon);
        }
    }

    /// The node may own again, as far as it depends on this.
    pub(crate) fn recover(&mut self) {
        self.hearing.probe = Probe::None;
        if std::mem::take(&mut self.hearing.unfit) {
            self.out.stop(Timer::Probe);
            self.event(Event::FitnessChanged { unfit: false });
            if self.context.is_up() {
                self.broadcast(Content::Ping);
            }
        }
    }
}
