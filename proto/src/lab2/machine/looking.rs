//! LOOSER: the token has not been heard of for too long; GENERATING: standing for election.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::election::Search;
use crate::lab2::envelope::Envelope;
use crate::lab2::members::Members;
use crate::lab2::tenure::{Role, Tenure};
use crate::lab2::{Lab2, Reason, State, Trouble};

impl Lab2 {
    /// Asks after LOOSER_TIMEOUT.
    pub(super) fn ask_later(&mut self) {
        self.timer_in(Timer::Ask, self.context.constants().looser_timeout());
    }

    /// It is time to ask, or will be when this node's turn has come.
    pub(super) fn on_question_due(&mut self) {
        if !self.waits_for_turn(Timer::Ask) {
            self.ask();
        }
    }

    /// Broadcasts WHERE_IS_TOKEN; [`on_question_sent`](Self::on_question_sent) goes on when it has left.
    pub(super) fn ask(&mut self) {
        if let Some(search) = self.role.search_mut() {
            search.forget_rival();
            self.timer_in(Timer::Ask, self.context.constants().take_timeout);
            self.fitness.forget_question();
            self.broadcast(Content::WhereIsToken);
        }
    }

    /// The question is out: the answers may take LOOSER_ANSWER_TIMEOUT. One that could not be
    /// sent is asked again in TAKE_TIMEOUT, for silence after no question means nothing.
    pub(super) fn on_question_sent(&mut self) {
        if let Some(search) = self.role.search_mut() {
            search.take_opponent();
            self.await_objections();
            self.ask_later();
        }
    }

    /// Waits for answers for LOOSER_ANSWER_TIMEOUT.
    fn await_objections(&mut self) {
        let within = self.context.constants().looser_answer_timeout();
        self.timer_in(Timer::Answer, within);
    }

    /// Another LOOSER asks what this one was about to ask: that will do for both.
    pub(super) fn overhear_question(&mut self, envelope: Envelope) {
        let soon = self.context.now() + Members::longest_turn(&self.context);
        let about_to_ask = self.out.due(Timer::Ask).is_some_and(|at| at <= soon);
        if envelope.broadcast
            && about_to_ask
            && !self.out.is_set(Timer::Answer)
            && !self.turn().is_zero()
        {
            self.role = Role::Looser(Search::default());
            self.on_question_sent();
        }
    }

    /// There was an answer: no election before the next question.
    pub(super) fn sleep(&mut self) {
        if let Some(search) = self.role.search_mut() {
            search.sleep();
            self.out.stop(Timer::Answer);
        }
    }

    fn turn(&self) -> Duration {
        self.members.turn(&self.context)
    }

    /// Whether what a LOOSER's timer is for waits for this node's turn from now on: the timer is set anew.
    fn waits_for_turn(&mut self, timer: Timer) -> bool {
        let turn = self.turn();
        let Some(search) = self.role.search_mut() else {
            return false;
        };
        if search.has_waited(timer) || turn.is_zero() {
            return false;
        }
        search.wait(timer);
        self.timer_in(timer, turn);
        true
    }

    /// LOOSER_ANSWER_TIMEOUT has passed: a LOOSER stands for election, a candidate is elected.
    pub(super) fn on_no_answer(&mut self) {
        match self.role {
            Role::Looser(_) => self.stand_in_turn(),
            Role::Generating(candidate) => self.generate(candidate),
            Role::Owner(_) | Role::Waiter(_) => {}
        }
    }

    fn stand_in_turn(&mut self) {
        // The next question is for who does not stand, even if it is due as well.
        let until = self.context.now() + self.turn();
        if self.out.due(Timer::Ask).is_some_and(|at| at <= until) {
            self.ask_later();
        }
        if self.owns_nothing() {
            return self.sleep();
        }
        if self.waits_for_turn(Timer::Answer) {
            return;
        }
        let candidate = self.known.candidate(&self.context);
        let search = self.role.search_mut();
        if let Some(rival) = search.and_then(Search::take_opponent) {
            self.broadcast(Content::Standing(candidate, Reason::WeakerCandidate));
            self.send(rival, Content::GeneratingToken(candidate));
        } else {
            self.broadcast(Content::Standing(candidate, Reason::NoAnswer));
        }
    }

    /// A LOOSER hears of an election: it stands too if its candidate is the stronger. In a large ring perhaps many are
    /// stronger: in its turn, unless it is beaten by then.
    pub(super) fn consider_standing(&mut self, rival: MacAddr, theirs: Token) {
        let mine = self.known.candidate(&self.context);
        if self.owns_nothing() || !mine.is_stronger_than(&theirs) {
            self.sleep();
            self.note_beaten(theirs);
        } else if let Some(search) = self.role.search_mut()
            && search.stand_against(rival, mine)
        {
            self.stand_in_turn();
        }
    }

    /// The own candidate is beaten by this one until the next question.
    pub(super) fn note_beaten(&mut self, theirs: Token) {
        if let Some(search) = self.role.search_mut() {
            search.note_beaten(theirs);
        }
    }

    /// The candidate is announced to all: the state changes with it.
    pub(super) fn on_candidacy_sent(&mut self, candidate: Token, reason: Reason) {
        if self.state() == State::Looser {
            self.change(Role::Generating(candidate), reason, Some(candidate));
            self.await_objections();
        }
    }

    /// Nobody objected. The token is known, and stored, before its heartbeat leaves;
    /// [`on_elected_sent`](Self::on_elected_sent) goes on when it has left.
    fn generate(&mut self, candidate: Token) {
        let wall = self.context.clock().wall;
        let (token, ahead) = self.known.generate(wall, candidate);
        if let Some(by) = ahead {
            let trouble = Trouble::ClockAhead { by };
            self.diagnostics
                .note_once(&self.context, &mut self.out, trouble);
        }
        // A token that cannot be sent to all would be elected again and again.
        self.drop_long_data();
        self.learn(token, self.me(), None);
        self.timer_in(Timer::Answer, self.context.constants().take_timeout);
        self.broadcast(Content::Elected(token));
    }

    /// The first heartbeat is out.
    pub(super) fn on_elected_sent(&mut self, token: Token) {
        if self.state() == State::Generating {
            self.begin_tenure(Tenure::of_own(token), Reason::Elected);
            self.on_heartbeat_sent();
            self.plan_pass();
        }
    }
}
