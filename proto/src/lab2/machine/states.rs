//! How the node goes from one state to another.

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::timer::Timer;
use crate::lab2::election::Search;
use crate::lab2::tenure::{Role, Tenure};
use crate::lab2::{Event, Lab2, Reason, State};

impl Lab2 {
    /// Goes over to another state and says so.
    pub(super) fn change(&mut self, role: Role, reason: Reason, token: Option<Token>) {
        let from = self.state();
        if let Some(tenure) = self.role.unoffered() {
            self.confidence.keep_own_vote(&self.context, tenure.token());
        }
        self.role = role;
        let to = self.state();
        self.diagnostics
            .note_state(&self.context, to == State::Owner);
        if to != from {
            self.out.enter(to);
        }
        if to != State::Owner {
            self.members.end_tenure();
        }
        self.event(Event::StateChanged {
            from,
            to,
            reason,
            token,
        });
    }

    /// Enters OWNER.
    pub(super) fn begin_tenure(&mut self, tenure: Tenure, reason: Reason) {
        let now = self.context.now();
        // The others' patience began with the last heartbeat that all could hear.
        let heard = self.known.last_heartbeat();
        let trusted_since = heard.filter(|_| !self.heartbeat_is_due()).unwrap_or(now);
        let period = self.members.beat_period(&self.context);
        let patience = self.members.shortest_patience(&self.context);
        self.known.hear(now);
        let tenure = tenure.begun(&self.context, self.wish.is_work());
        self.wish.note_served();
        self.change(Role::Owner(tenure), reason, Some(tenure.token()));
        self.out.set(Timer::Heartbeat, trusted_since + period);
        self.out.set(Timer::Lease, trusted_since + patience);
        self.set_owner(self.context.mac());
        self.members
            .look_after_removed(&self.context, &mut self.out);
    }

    /// Goes on with the tenure under a token that was made here.
    pub(super) fn renew(&mut self, tenure: &Tenure, token: Token) -> Tenure {
        let renewed = tenure.renewed(&self.context, token);
        self.change(Role::Owner(renewed), Reason::StrongerToken, Some(token));
        renewed
    }

    /// Enters WAITER with full patience.
    pub(super) fn become_waiter(&mut self, reason: Reason, token: Token) {
        let unacknowledged = self.role.unacknowledged();
        self.change(Role::Waiter(unacknowledged), reason, Some(token));
        self.trust_the_token();
    }

    /// WAITER_TIMEOUT runs from heardAboutToken.
    pub(super) fn trust_the_token(&mut self) {
        let heard = self.known.heard().unwrap_or(self.context.now());
        self.out
            .set(Timer::Waiter, heard + self.context.waiter_timeout());
    }

    /// Enters LOOSER and asks at once.
    pub(super) fn become_looser(&mut self, reason: Reason) {
        self.enter_looser(reason, self.token());
        self.on_question_due();
    }

    /// A candidate goes back to LOOSER and leaves the others a LOOSER_TIMEOUT to come to an end.
    pub(super) fn stand_down(&mut self, reason: Reason, token: Token) {
        self.enter_looser(reason, Some(token));
        self.ask_later();
    }

    pub(super) fn enter_looser(&mut self, reason: Reason, token: Option<Token>) {
        self.change(Role::Looser(Search::default()), reason, token);
        self.set_owner(None);
    }

    /// Notes who is heard to hold the token.
    pub(super) fn set_owner(&mut self, owner: Option<MacAddr>) {
        if self.known.set_owner(owner) {
            let token = self.token();
            self.event(Event::OwnerChanged { owner, token });
        }
    }

    /// Strengthens `known`.
    pub(super) fn learn(&mut self, token: Token, holder: MacAddr, data: Option<&[u8]>) {
        let context = &self.context;
        if self.known.learn(context.now(), token, holder, data) {
            self.diagnostics
                .compare_with_clock(context, &mut self.out, token);
        }
    }

    /// Makes a token of a new chain, stronger than all that is known here, with a progress of `least` or more.
    pub(super) fn mint(&mut self, least: u64) -> Token {
        let token = self.known.mint(self.me(), least);
        self.learn(token, self.me(), None);
        token
    }
}
