//! The token: how a node takes, uses and passes it (`docs/board/protocol/token.md`, rules T).

use super::Andrews;
use crate::StreamId;
use crate::andrews::database::View;
use crate::andrews::message::OwnedMessage;
use crate::andrews::token::{TokenUse, UseInput};
use crate::andrews::{DatabaseState, Event, Reason, SuccessorLoss};
use crate::time::Instant;

impl Andrews {
    /// Whether this node may use the table of posts now.
    pub const fn may_use_token(&self) -> bool {
        self.token.held_sequence().is_some() && !self.is_finished
    }

    /// Handles TOKEN from the predecessor.
    pub(super) fn on_token(&mut self, stream: StreamId, sequence: u64) {
        let is_known = |term| self.view.as_ref().is_some_and(|it| term <= it.seat().term);
        if is_known(sequence >> 32) {
            return self.take_token(sequence);
        }
        // The term is newer than the rows that this node has read. Only a look can tell whether the coordinator made
        // the token.
        self.drop_parked();
        self.token.park(sequence, stream, self.now);
        self.database.want_look();
        // Without a look there is no acknowledgement, so the predecessor takes the token back.
        if self.database.state() != DatabaseState::Up {
            self.drop_parked();
        }
    }

    /// Accepts or drops a parked token according to a look. The look began at `began`.
    pub(super) fn retry_parked_token(&mut self, began: Instant) {
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
        // Even an old token is acknowledged: a predecessor without an acknowledgement would treat this node as failed.
        self.send_to_predecessor(&OwnedMessage::TokenAck(sequence));
        if sequence <= self.token.highest() || self.is_outrun(sequence) {
            if let Some(predecessor) = self.inbound.predecessor() {
                self.out.report_drop(predecessor.from(), Reason::Duplicate);
            }
            return;
        }
        let members = self.view.as_ref().map_or(0, View::len);
        let sequence = self
            .token
            .sequence_on_arrival(sequence, members, self.duties.is_some());
        self.hold_token(sequence);
        self.out.push_event(Event::TokenHeld { sequence });
    }

    /// Makes this node the holder of this token. Discards any other token that the node holds or passes.
    fn hold_token(&mut self, sequence: u64) {
        let until = self.now + self.options.hold;
        if let Some(sequence) = self.token.hold(sequence, until, self.now) {
            self.report_lost_token(sequence);
        }
        if let Some(duties) = &mut self.duties {
            duties.on_token_seen();
        }
    }

    /// Whether the rows show that a token with a larger sequence than this sequence was used. If so, no node can use a
    /// token with this sequence again.
    fn is_outrun(&self, sequence: u64) -> bool {
        let used = self.view.as_ref().map(View::sequence);
        used.is_some_and(|used| sequence < used)
    }

    /// Discards a token that can never be used again. In a ring without work, such a token would go round indefinitely.
    /// Then the coordinator would make no other token.
    pub(super) fn forget_outrun_token(&mut self) {
        if self
            .token
            .held_sequence()
            .is_some_and(|it| self.is_outrun(it))
        {
            self.lose_token();
        }
    }

    pub(super) fn make_token(&mut self, term: u64, is_first: bool) {
        let sequence = term << 32;
        // The commit may be late, and a newer token may have replaced this token.
        if sequence > self.token.highest() && !self.is_outrun(sequence) {
            self.out.counters.tokens_made += 1;
            self.out.push_event(Event::TokenMade { sequence, is_first });
            self.hold_token(sequence);
        }
    }

    fn report_lost_token(&mut self, sequence: u64) {
        self.out.counters.tokens_lost += 1;
        self.out.push_event(Event::TokenLost { sequence });
    }

    /// Discards this node's token, if there is one.
    pub(super) fn lose_token(&mut self) {
        if let Some(sequence) = self.token.forget(self.now) {
            self.report_lost_token(sequence);
        }
    }

    pub(super) fn on_acknowledgement(&mut self, acknowledged: u64) {
        if self.token.on_acknowledged(acknowledged, self.now) {
            let sequence = acknowledged;
            self.out.push_event(Event::TokenPassed { sequence });
        }
    }

    pub(super) fn on_pass_due(&mut self) {
        // A successor may hang with its connections open, and the token must continue to circulate.
        if self.token.is_pass_late(self.now) {
            self.lose_successor(SuccessorLoss::NotAcknowledged);
        }
    }

    /// Takes the next step with a held token.
    pub(super) fn use_token(&mut self) {
        let demand = UseInput {
            has_requests: self.requests.has_waiting(),
            has_listeners: self.requests.has_listeners(),
            can_serve: self.database.can_serve(),
            can_pass: self.role.successor().is_some(),
            is_leaving: self.leave_by.is_some(),
        };
        match self.token.next_use(demand, self.now) {
            TokenUse::Nothing => {}
            TokenUse::Serve => self.serve(),
            TokenUse::Pass => self.pass_token(),
        }
    }

    fn pass_token(&mut self) {
        let Some(sequence) = self.token.next_hop() else {
            // A token that cannot be passed within its term is useless, because every successor would refuse it.
            return self.lose_token();
        };
        // If the connection does not take the frame, the token stays here.
        if self.send_to_successor(&OwnedMessage::Token(sequence)) {
            let until = self.now + self.options.ack_timeout;
            self.token.on_passed(sequence, until);
        }
    }
}
