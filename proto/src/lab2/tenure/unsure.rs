//! A token that was taken too late: its giver may have given this node up before it heard of it, and minted.
//!
//! Nobody relies on a token before its giver has been told in time that it was taken. Where that came too late
//! the owner is unsure: it tells all that it holds the token, and whoever knows a stronger one objects.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use crate::lab2::machine::timer::Timer;
use crate::lab2::tenure::role::{AckState, Announced, Owed, Role, Tenure};
use crate::lab2::{Lab2, Trouble};
use crate::time::Instant;

impl Lab2 {
    /// A frame that tells the giver of the token was handed to the link: to it alone, or to all.
    pub(crate) fn answered(&mut self, to: MacAddr, accepted: bool) {
        let Role::Owner(tenure) = &mut self.role else {
            return;
        };
        let AckState::Due(by) = tenure.ack else {
            return;
        };
        if accepted && (to == MacAddr::BROADCAST || tenure.giver == Some(to)) {
            tenure.ack = AckState::Sent(by);
        } else if tenure.giver == Some(to) {
            self.become_unsure(None);
        }
    }

    /// Whether it matters by when the frames have left that were sent last.
    pub(crate) fn awaits_departure(&self) -> bool {
        let Role::Owner(tenure) = &self.role else {
            return false;
        };
        matches!(
            tenure.ack,
            AckState::Sent(_) | AckState::Unsure(Announced::Leaving)
        ) || tenure.offer.is_some_and(|offer| offer.departs)
    }

    /// All frames that were sent have left by now.
    pub(crate) fn departed(&mut self) {
        let now = self.context.now();
        let Role::Owner(tenure) = &mut self.role else {
            return;
        };
        match tenure.ack {
            AckState::Due(by) | AckState::Sent(by) if by < now => {
                self.become_unsure(Some(now.since(by)));
            }
            AckState::Sent(_) => tenure.ack = AckState::Settled,
            AckState::Unsure(Announced::Leaving) => self.all_are_told(),
            AckState::Settled | AckState::Due(_) | AckState::Unsure(_) => {}
        }
        self.offer_has_left();
    }

    /// Who is offered the token has its time from when the offer has left, not from when it was to leave.
    fn offer_has_left(&mut self) {
        let Role::Owner(Tenure {
            offer: Some(offer), ..
        }) = &mut self.role
        else {
            return;
        };
        if std::mem::take(&mut offer.departs) {
            let attempts = offer.attempts;
            self.timer_in(
                Timer::Take,
                self.context.constants().answered_within(attempts),
            );
        }
    }

    /// Nobody relies on the token until everybody who knows a stronger one has had the time to say so: the
    /// members object to a heartbeat, which leaves at once, and another owner has one of its own. `late`: the
    /// giver was told so much too late; `None`: it could not be told.
    fn become_unsure(&mut self, late: Option<Duration>) {
        let now = self.context.now();
        let Role::Owner(tenure) = &mut self.role else {
            return;
        };
        tenure.ack = AckState::Unsure(Announced::No);
        let offered_to = tenure.offer.map(|offer| offer.to);
        if offered_to.is_none() {
            self.out.set(Timer::Heartbeat, now);
        }
        self.note_recurring(Trouble::TakenLate { late, offered_to });
    }

    /// The acknowledgement to the previous holder leaves only now, and the token has gone on already.
    pub(crate) fn note_late(&mut self, owed: Owed) {
        let late = owed
            .by
            .map_or(Duration::ZERO, |by| self.context.now().since(by));
        if !late.is_zero() {
            self.note_recurring(Trouble::TakenLate {
                late: Some(late),
                offered_to: Some(self.known.holder()),
            });
        }
    }

    /// What tells all that this node holds the token was accepted for sending.
    pub(crate) fn tells_all(&mut self) {
        if let Role::Owner(Tenure {
            ack: AckState::Unsure(told @ Announced::No),
            ..
        }) = &mut self.role
        {
            *told = Announced::Leaving;
        }
    }

    /// All have been told that this node holds the token, of which it is unsure. For work that waits here it
    /// rests for as long as that lasts, and its IDLE_HOLD.
    fn all_are_told(&mut self) {
        let now = self.context.now();
        let sure_at = now + self.context.constants().objected_within();
        let idle_hold = self.context.constants().idle_hold;
        let want = self.want;
        let Role::Owner(tenure) = &mut self.role else {
            return;
        };
        tenure.ack = AckState::Unsure(Announced::At(now));
        if want {
            tenure.rests_until = tenure.rests_until.max(sure_at + idle_hold);
        }
        if tenure.interrupted.is_some() {
            self.pass();
        } else {
            self.plan_pass();
        }
    }

    /// Whether the token must not go to another yet, who would be sure of it: the others, who have been told,
    /// have not had the time to answer. It goes on then.
    pub(crate) fn waits_for_objections(&mut self) -> bool {
        let Role::Owner(Tenure {
            ack: AckState::Unsure(told),
            ..
        }) = self.role
        else {
            return false;
        };
        let Announced::At(told) = told else {
            return true;
        };
        let answered = told + self.context.constants().take_timeout;
        if answered <= self.context.now() {
            return false;
        }
        self.out.set(Timer::Pass, answered);
        true
    }

    /// Until when at least nobody relies on the token that is held here; `None` if somebody may.
    pub(crate) fn unsettled_until(&self) -> Option<Instant> {
        let Role::Owner(tenure) = &self.role else {
            return None;
        };
        let since = match tenure.ack {
            AckState::Settled => return None,
            AckState::Unsure(Announced::At(told)) => told,
            AckState::Due(_) | AckState::Sent(_) | AckState::Unsure(_) => self.context.now(),
        };
        Some(since + self.context.constants().objected_within())
    }

    /// Whether the stronger token is the one that the giver has minted in place of this one: it is right. Any
    /// other that somebody objects with has not been heard of for a while.
    pub(crate) fn gives_way(&self, tenure: &Tenure, other: Token) -> bool {
        let is_unsure = matches!(tenure.ack, AckState::Unsure(_))
            && self.unsettled_until() > Some(self.context.now());
        let is_the_givers = tenure.giver == Some(other.author);
        is_unsure
            && is_the_givers
            && other.is_stronger_than(&tenure.token)
            && !other.same_chain(&tenure.token)
    }

    /// What is left of it when the token is replaced by one that was made here, of which nobody has heard yet. The
    /// giver of the one before waits as ever.
    pub(crate) fn outlived(&self, ack: AckState) -> AckState {
        match ack {
            AckState::Unsure(Announced::At(told))
                if told + self.context.constants().objected_within() <= self.context.now() =>
            {
                AckState::Settled
            }
            AckState::Unsure(_) => AckState::Unsure(Announced::No),
            AckState::Settled | AckState::Due(_) | AckState::Sent(_) => ack,
        }
    }
}
