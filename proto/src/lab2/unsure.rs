//! A token that was taken too late: its giver may have given this node up before it heard of it, and minted.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::Lab2;
use super::role::{Answer, Role, Tenure};
use super::timer::Timer;

impl Lab2 {
    /// The acknowledgement of an offer was handed to the link.
    pub(super) fn answered(&mut self, to: MacAddr, token: Token, accepted: bool) {
        let Role::Owner(tenure) = &mut self.role else {
            return;
        };
        let answers = tenure.giver == Some(to) && tenure.token == token;
        let Answer::Due(by) = tenure.answer else {
            return;
        };
        if answers && accepted {
            tenure.answer = Answer::Sent(by);
        } else if answers {
            self.become_unsure();
        }
    }

    /// Whether the first acknowledgement is on its way and it is not known by when it left.
    pub(super) fn awaits_departure(&self) -> bool {
        matches!(
            self.role,
            Role::Owner(Tenure {
                answer: Answer::Sent(_),
                ..
            })
        )
    }

    /// The acknowledgement has left by now.
    pub(super) fn answer_left(&mut self) {
        let Role::Owner(tenure) = &mut self.role else {
            return;
        };
        let Answer::Sent(by) = tenure.answer else {
            return;
        };
        tenure.answer = Answer::Settled;
        if by < self.now.monotonic {
            self.become_unsure();
        }
    }

    /// Nobody relies on the token until everybody who knows a stronger one has had the time to say so: the
    /// members object to a heartbeat, which leaves at once, and another owner has one of its own. For work
    /// that waits here the token rests for so long and its IDLE_HOLD.
    fn become_unsure(&mut self) {
        let now = self.now.monotonic;
        let until = now + self.objected_within();
        let idle_hold = self.constants.idle_hold;
        let want = self.want;
        let Role::Owner(tenure) = &mut self.role else {
            return;
        };
        tenure.answer = Answer::Unsure(until);
        if want {
            tenure.rests_until = tenure.rests_until.max(until + idle_hold);
        }
        if tenure.offer.is_none() {
            self.out.timers.set(Timer::Heartbeat, now);
        }
    }

    /// Whether whoever knows a stronger token is right: this one was given up before it was acknowledged.
    pub(super) fn gives_way(&self, tenure: &Tenure, other: Token) -> bool {
        let is_unsure = tenure.answer.unsure_until() > Some(self.now.monotonic);
        is_unsure && other.is_stronger_than(&tenure.token) && !other.same_chain(&tenure.token)
    }

    fn objected_within(&self) -> Duration {
        self.constants.heartbeat + 3 * self.constants.take_timeout
    }
}
