//! The token: taking it, using it, passing it on (`docs/board.md`, sections 9 and 10).

use super::Andrews;
use crate::StreamId;
use crate::andrews::database::View;
use crate::andrews::database::{Answered, InHand};
use crate::andrews::event::Loss;
use crate::andrews::message::Said;
use crate::andrews::ring::Link;
use crate::andrews::token::{JUMP, Parked, Place, Visit, later};
use crate::andrews::{Answer, DatabaseState, Event, Outcome, Reason, Request, Work};
use crate::time::Instant;

impl Andrews {
    /// Whether the table of posts may be used now.
    #[must_use]
    pub const fn may_use_token(&self) -> bool {
        self.token.held().is_some() && !self.is_finished
    }

    /// TOKEN from the predecessor.
    pub(super) fn on_token(&mut self, stream: StreamId, sequence: u64) {
        let is_known = |term| self.view.as_ref().is_some_and(|it| term <= it.seat.term);
        if is_known(sequence >> 32) {
            return self.take_token(sequence);
        }
        self.drop_parked();
        self.token.parked = Some(Parked {
            sequence,
            stream,
            at: self.now,
        });
        self.database.want_look();
        if self.database.state != DatabaseState::Up {
            self.drop_parked();
        }
    }

    /// A look that began at a time has been taken.
    pub(super) fn on_parked(&mut self, began: Instant) {
        let Some(parked) = self.token.parked.filter(|parked| parked.at <= began) else {
            return;
        };
        let term = self.view.as_ref().map_or(0, |view| view.seat.term);
        if parked.sequence >> 32 > term {
            return self.drop_parked();
        }
        self.token.parked = None;
        self.take_token(parked.sequence);
    }

    fn take_token(&mut self, sequence: u64) {
        self.send_back(&Said::TokenAck(sequence));
        if sequence <= self.token.highest || self.is_outrun(sequence) {
            if let Some(predecessor) = &self.inbound.predecessor {
                self.out.drop(predecessor.from, Reason::Duplicate);
            }
            return;
        }
        let sequence = later(sequence, self.lead(sequence)).unwrap_or(sequence);
        self.hold_token(sequence);
        self.out.event(Event::TokenHeld { sequence });
    }

    /// By how much a token that has come is to lead. One that went round alone is ahead of the last by the members: if it is
    /// not there are two, which would follow one another for ever. The coordinator alone lets one of them lead, so that
    /// not both do.
    fn lead(&self, sequence: u64) -> u64 {
        let members = self.view.as_ref().map_or(0, View::len);
        let ahead = sequence.saturating_sub(self.token.highest);
        let are_two = u64::try_from(members).is_ok_and(|members| ahead < members);
        if self.office.is_some() && are_two {
            JUMP
        } else {
            0
        }
    }

    /// This node is the holder, and any other token that it holds or has on the way is forgotten.
    fn hold_token(&mut self, sequence: u64) {
        let until = self.now + self.options.hold;
        if let Some(sequence) = self.token.hold(sequence, until, self.now) {
            self.token_lost(sequence);
        }
        if let Some(office) = &mut self.office {
            office.token_seen();
        }
    }

    /// Whether the rows say that a newer token was used: this one never can be.
    fn is_outrun(&self, sequence: u64) -> bool {
        let used = self.view.as_ref().map(|view| view.sequence);
        used.is_some_and(|used| sequence < used)
    }

    /// Rows were read. A token that nobody can use would go round for ever in a ring without work, and hide that there is
    /// no other.
    pub(super) fn forget_outrun_token(&mut self) {
        if self
            .token
            .held()
            .is_some_and(|it| self.is_outrun(it.sequence))
        {
            self.lose_token();
        }
    }

    pub(super) fn make_token(&mut self, term: u64, is_first: bool) {
        let sequence = term << 32;
        if sequence > self.token.highest && !self.is_outrun(sequence) {
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
        if let Place::Passing { sequence, .. } = self.token.place
            && sequence == acknowledged
        {
            self.token.forget(self.now);
            self.out.event(Event::TokenPassed { sequence });
        }
    }

    pub(super) fn on_pass_due(&mut self) {
        if let Place::Passing { until, .. } = self.token.place
            && until <= self.now
        {
            self.lose_successor(Loss::NotAcknowledged);
        }
    }

    /// Does the next thing with a token that is held.
    pub(super) fn use_token(&mut self) {
        let now = self.now;
        let Some(held) = self.token.held() else {
            return;
        };
        if let Visit::Working(_) = held.visit {
            return;
        }
        let is_leaving = self.leave_by.is_some();
        let is_over = held.visit == Visit::Over;
        let link = self.role.member().map(|member| &member.link);
        let is_up = matches!(link, Some(Link::Up(_)));
        let can_serve = self.database.can_serve() && !is_leaving;
        // Without a successor the token stays, and may be used again.
        let has_work = self.requests.is_waiting() && (!is_over || !is_up);
        let has_listeners = self.requests.has_listeners && !held.is_fed && !is_over;
        if can_serve && (has_work || has_listeners) {
            return self.serve(held.sequence);
        }
        if is_up && (is_over || is_leaving || held.until <= now) {
            self.pass_token(held.sequence);
        }
    }

    fn serve(&mut self, sequence: u64) {
        let requests = self.requests.serve();
        let feed = self.requests.has_listeners;
        let work = Work::Serve {
            sequence,
            requests,
            feed,
        };
        let id = self.database.start(self.now, work);
        if let Some(held) = self.token.held_mut() {
            held.visit = Visit::Working(id);
            held.is_fed |= feed;
        }
    }

    fn pass_token(&mut self, sequence: u64) {
        let Some(sequence) = later(sequence, 1) else {
            return self.lose_token();
        };
        let until = self.now + self.options.ack_timeout;
        if self.send_on(&Said::Token(sequence)) {
            self.token.place = Place::Passing { sequence, until };
        }
    }

    /// When the token has something due.
    pub(super) fn token_due(&self) -> Option<Instant> {
        match self.token.place {
            Place::Away => None,
            Place::Passing { until, .. } => Some(until),
            // What is due already waits for a successor.
            Place::Held(held) => (held.until > self.now).then_some(held.until),
        }
    }

    pub(super) fn on_request(&mut self, request: Request) {
        let until = self.now + self.options.request_timeout;
        if self.leave_by.is_some() {
            self.answer(request.id, Answer::Token);
        } else if !self.requests.push(request, until) {
            self.answer(request.id, Answer::Crowded);
        }
    }

    pub(super) fn on_requests_due(&mut self) {
        let answer = match self.database.state {
            DatabaseState::Up => Answer::Token,
            DatabaseState::Slow | DatabaseState::Gone => Answer::Database,
        };
        while let Some(request) = self.requests.late(self.now) {
            self.answer(request.id, answer);
        }
    }

    pub(super) fn answer(&mut self, request: u64, answer: Answer) {
        self.out.event(Event::Answered { request, answer });
    }

    /// The work of this visit is over, if the token is still here. One that has only read for those who listen is no work:
    /// the token stays for its time, or rings with listeners would never rest.
    fn end_visit(&mut self, job: u64, is_work: bool) -> bool {
        let held = self.token.held_mut();
        let held = held.filter(|held| held.visit == Visit::Working(job));
        let is_here = held.is_some();
        if let Some(held) = held {
            held.visit = if is_work { Visit::Over } else { Visit::Idle };
        }
        is_here
    }

    /// The database has not answered in time: the token goes on without it.
    pub(super) fn give_up_visit(&mut self, job: InHand) {
        self.end_visit(job.id, true);
        self.requests.served();
        if let Work::Serve { requests, .. } = job.work {
            self.answer_all(&requests, Answer::Unknown);
        }
    }

    /// Of a request that only reads nothing can have been written.
    fn answer_all(&mut self, requests: &[Request], answer: Answer) {
        for request in requests {
            let answer = match answer {
                Answer::Unknown if !request.is_post => Answer::Database,
                answer => answer,
            };
            self.answer(request.id, answer);
        }
    }

    /// A visit has an outcome.
    pub(super) fn on_visit(
        &mut self,
        job: u64,
        sequence: u64,
        requests: Vec<Request>,
        outcome: &Outcome,
        answered: &Answered,
    ) {
        if *outcome == Outcome::Done {
            let posts = requests.iter().filter(|request| request.is_post).count();
            self.out.counters.posts += u64::try_from(posts).unwrap_or_default();
        }
        // What comes late was answered.
        if *answered == Answered::Late {
            return;
        }
        let is_here = self.end_visit(job, !requests.is_empty());
        match outcome {
            Outcome::Refused => {
                // A newer token was used.
                self.requests.wait_again(requests);
                self.database.distrust();
                if is_here {
                    self.lose_token();
                }
                return;
            }
            Outcome::Done | Outcome::Rows(_) => {
                self.answer_all(&requests, Answer::Done { sequence });
                self.out.event(Event::Fed);
            }
            Outcome::Failed => self.answer_all(&requests, Answer::Database),
            Outcome::Unknown => self.answer_all(&requests, Answer::Unknown),
        }
        self.requests.served();
    }
}
