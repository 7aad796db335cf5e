//! The token: taking it, using it, passing it on (`docs/board.md`, section 9).

use super::Andrews;
use crate::StreamId;
use crate::andrews::database::View;
use crate::andrews::message::Said;
use crate::andrews::token::{Demand, Use};
use crate::andrews::{DatabaseState, Event, Loss, Reason};
use crate::time::Instant;

impl Andrews {
    /// Whether the table of posts may be used now.
    pub const fn may_use_token(&self) -> bool {
        self.token.held().is_some() && !self.is_finished
    }

    /// TOKEN from the predecessor.
    pub(super) fn on_token(&mut self, stream: StreamId, sequence: u64) {
        let is_known = |term| self.view.as_ref().is_some_and(|it| term <= it.seat().term);
        if is_known(sequence >> 32) {
            return self.take_token(sequence);
        }
        self.drop_parked();
        self.token.park(sequence, stream, self.now);
        self.database.want_look();
        if self.database.state() != DatabaseState::Up {
            self.drop_parked();
        }
    }

    /// A look that began at a time has been taken.
    pub(super) fn on_parked(&mut self, began: Instant) {
        let Some(sequence) = self.token.parked_before(began) else {
            return;
        };
        let term = self.view.as_ref().map_or(0, |view| view.seat().term);
        if sequence >> 32 > term {
            return self.drop_parked();
        }
        self.token.unpark();
        self.take_token(sequence);
    }

    fn take_token(&mut self, sequence: u64) {
        self.send_back(&Said::TokenAck(sequence));
        if sequence <= self.token.highest() || self.is_outrun(sequence) {
            if let Some(predecessor) = self.inbound.predecessor() {
                self.out.drop(predecessor.from(), Reason::Duplicate);
            }
            return;
        }
        let members = self.view.as_ref().map_or(0, View::len);
        let sequence = self.token.taken(sequence, members, self.duties.is_some());
        self.hold_token(sequence);
        self.out.event(Event::TokenHeld { sequence });
    }

    /// This node is the holder, and any other token that it holds or has on the way is forgotten.
    fn hold_token(&mut self, sequence: u64) {
        let until = self.now + self.options.hold;
        if let Some(sequence) = self.token.hold(sequence, until, self.now) {
            self.token_lost(sequence);
        }
        if let Some(duties) = &mut self.duties {
            duties.token_seen();
        }
    }

    /// Whether the rows say that a newer token was used: this one never can be.
    fn is_outrun(&self, sequence: u64) -> bool {
        let used = self.view.as_ref().map(View::sequence);
        used.is_some_and(|used| sequence < used)
    }

    /// Rows were read. A token that nobody can use would go round for ever in a ring without work, and hide that there is
    /// no other.
    pub(super) fn forget_outrun_token(&mut self) {
        if self.token.held().is_some_and(|it| self.is_outrun(it)) {
            self.lose_token();
        }
    }

    pub(super) fn make_token(&mut self, term: u64, is_first: bool) {
        let sequence = term << 32;
        if sequence > self.token.highest() && !self.is_outrun(sequence) {
            self.out.counters.tokens_made += 1;
            self.out.event(Event::TokenMade { sequence, is_first });
            self.hold_token(sequence);
        }
    }

    fn token_lost(&mut self, sequence: u64) {
        self.out.counters.tokens_lost += 1;
        self.out.event(Event::TokenLost { sequence });
    }

    /// Forgets any token that is here.
    pub(super) fn lose_token(&mut self) {
        if let Some(sequence) = self.token.forget(self.now) {
            self.token_lost(sequence);
        }
    }

    pub(super) fn on_acknowledgement(&mut self, acknowledged: u64) {
        if self.token.on_acknowledged(acknowledged, self.now) {
            let sequence = acknowledged;
            self.out.event(Event::TokenPassed { sequence });
        }
    }

    pub(super) fn on_pass_due(&mut self) {
        if self.token.is_pass_late(self.now) {
            self.lose_successor(Loss::NotAcknowledged);
        }
    }

    /// Does the next thing with a token that is held.
    pub(super) fn use_token(&mut self) {
        let demand = Demand {
            has_requests: self.requests.is_waiting(),
            has_listeners: self.requests.has_listeners(),
            can_serve: self.database.can_serve(),
            can_pass: self.role.successor().is_some(),
            is_leaving: self.leave_by.is_some(),
        };
        match self.token.next_use(demand, self.now) {
            Use::Nothing => {}
            Use::Serve => self.serve(),
            Use::Pass => self.pass_token(),
        }
    }

    fn pass_token(&mut self) {
        let Some(sequence) = self.token.next_hop() else {
            return self.lose_token();
        };
        if self.send_on(&Said::Token(sequence)) {
            let until = self.now + self.options.ack_timeout;
            self.token.on_passed(sequence, until);
        }
    }
}
