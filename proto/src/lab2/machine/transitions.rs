//! Transitions between the states.

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::timer::Timer;
use crate::lab2::election::Search;
use crate::lab2::tenure::{Role, Tenure};
use crate::lab2::{Event, Lab2, Reason, State};

impl Lab2 {
    /// Changes the state, and reports the change as an event.
    pub(super) fn change_role(&mut self, role: Role, reason: Reason, token: Option<Token>) {
        let from = self.state();
        if let Some(tenure) = self.role.unoffered_tenure() {
            // A program here may continue until the grade of the tenure ends. Until then, this node must not help
            // another owner to a quorum.
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
            // A member may have failed to take the token in this tenure. If it asked for the token after its failure,
            // it may get an offer in the next tenure.
            self.members.end_tenure();
        }
        self.event(Event::StateChanged {
            from,
            to,
            reason,
            token,
        });
    }

    /// Makes this node OWNER. `tenure` contains the token that this node owns from now on.
    pub(super) fn begin_tenure(&mut self, tenure: Tenure, reason: Reason) {
        let now = self.context.now();
        // The WAITER_TIMEOUTs of the other members began with the last broadcast heartbeat, so the lease counts from
        // there too.
        let heard = self.known.last_heartbeat();
        let trusted_since = heard.filter(|_| !self.is_heartbeat_due()).unwrap_or(now);
        let period = self.members.heartbeat_period(&self.context);
        let waiter_timeout = self.members.shortest_waiter_timeout(&self.context);
        self.known.note_heard(now);
        let tenure = tenure.begin(&self.context, self.idle_hold(), self.local_work.has_work());
        self.local_work.on_token_here();
        self.confidence.begin_tenure(tenure.token());
        self.change_role(Role::Owner(tenure), reason, Some(tenure.token()));
        self.out.set(Timer::Heartbeat, trusted_since + period);
        self.out.set(Timer::Lease, trusted_since + waiter_timeout);
        self.set_owner(self.context.mac());
        self.members.schedule_forget(&self.context, &mut self.out);
    }

    /// Continues the tenure with a token that this node minted.
    pub(super) fn continue_tenure(&mut self, tenure: &Tenure, token: Token) -> Tenure {
        let renewed = tenure.with_token(&self.context, token);
        self.locks
            .on_token_renamed(tenure.token(), token, self.context.now());
        self.change_role(Role::Owner(renewed), Reason::StrongerToken, Some(token));
        renewed
    }

    pub(super) fn become_looser(&mut self, reason: Reason) {
        self.enter_looser(reason, self.token());
        self.on_question_due();
    }

    /// Makes a candidate LOOSER again. The node then sends nothing for LOOSER_TIMEOUT, so that the other members can
    /// finish their election.
    pub(super) fn stand_down(&mut self, reason: Reason, token: Token) {
        self.enter_looser(reason, Some(token));
        self.schedule_question();
    }

    pub(super) fn enter_looser(&mut self, reason: Reason, token: Option<Token>) {
        self.change_role(Role::Looser(Search::default()), reason, token);
        self.set_owner(None);
    }

    /// Notes which member this node hears as the holder of the token.
    pub(super) fn set_owner(&mut self, owner: Option<MacAddr>) {
        if self.known.set_owner(owner) {
            let token = self.token();
            self.event(Event::OwnerChanged { owner, token });
        }
    }

    /// If `token` is at least as strong as the known token, replaces the known token, its holder and its data.
    pub(super) fn learn(&mut self, token: Token, holder: MacAddr, data: Option<&[u8]>) {
        let context = &self.context;
        if self.known.learn(context.now(), token, holder, data) {
            self.diagnostics
                .review_clock_lead(context, &mut self.out, token);
        }
    }

    /// Mints a token of a new chain. The new token is stronger than all known tokens, and its progress is at least
    /// `least`.
    pub(super) fn mint(&mut self, least: u64) -> Token {
        let token = self.known.mint(self.me(), least);
        // The token must be stored before any frame names it.
        self.learn(token, self.me(), None);
        token
    }
}
