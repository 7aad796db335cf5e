//! LOOSER: the token has not been heard of for too long; GENERATING: standing for election.

use ring_codec::MacAddr;
use ring_codec::lab2::{MAX_PROGRESS, Token};

use crate::lab2::machine::input::Envelope;
use crate::lab2::machine::outbox::Content;
use crate::lab2::machine::timer::Timer;
use crate::lab2::members::hearing::Probe;
use crate::lab2::tenure::role::{Role, Search, Tenure};
use crate::lab2::{Lab2, Reason};

impl Lab2 {
    /// Enters LOOSER and asks at once.
    pub(crate) fn become_looser(&mut self, reason: Reason) {
        self.enter_looser(reason, self.token());
        self.on_question_due();
    }

    /// A candidate goes back to LOOSER and leaves the others a LOOSER_TIMEOUT to come to an end.
    pub(crate) fn stand_down(&mut self, reason: Reason, token: Token) {
        self.enter_looser(reason, Some(token));
        self.timer_in(Timer::Ask, self.context.constants().looser_timeout());
    }

    pub(crate) fn enter_looser(&mut self, reason: Reason, token: Option<Token>) {
        self.change(Role::Looser(Search::default()), reason, token);
        self.set_owner(None);
    }

    /// It is time to ask, or will be when this node's turn has come.
    pub(crate) fn on_question_due(&mut self) {
        if !self.waits_for_turn(Timer::Ask) {
            self.ask();
        }
    }

    /// Broadcasts WHERE_IS_TOKEN; [`asked`](Self::asked) goes on when it has left.
    pub(crate) fn ask(&mut self) {
        if let Role::Looser(search) = &mut self.role {
            search.rival = None;
            self.timer_in(Timer::Ask, self.context.constants().take_timeout);
            // An answer to this shows only that frames arrive here.
            self.hearing.probe = Probe::None;
            self.broadcast(Content::WhereIsToken);
        }
    }

    /// The question is out: the answers may take LOOSER_ANSWER_TIMEOUT. One that could not be
    /// sent is asked again in TAKE_TIMEOUT, for silence after no question means nothing.
    pub(crate) fn asked(&mut self) {
        if let Role::Looser(search) = &mut self.role {
            search.against = None;
            self.timer_in(
                Timer::Answer,
                self.context.constants().looser_answer_timeout(),
            );
            self.timer_in(Timer::Ask, self.context.constants().looser_timeout());
        }
    }

    /// Another LOOSER asks what this one was about to ask: that will do for both.
    pub(crate) fn overhear_question(&mut self, envelope: Envelope) {
        let soon = self.context.now() + self.longest_turn();
        let about_to_ask = self.out.due(Timer::Ask).is_some_and(|at| at <= soon);
        if envelope.broadcast
            && about_to_ask
            && !self.out.is_set(Timer::Answer)
            && !self.turn().is_zero()
        {
            self.role = Role::Looser(Search::default());
            self.asked();
        }
    }

    /// There was an answer: no election before the next question.
    pub(crate) fn sleep(&mut self) {
        if let Role::Looser(search) = &mut self.role {
            search.against = None;
            search.in_turn = search.in_turn.filter(|&timer| timer != Timer::Answer);
            self.out.stop(Timer::Answer);
        }
    }

    /// LOOSER_ANSWER_TIMEOUT has passed: a LOOSER stands for election, a candidate is elected.
    pub(crate) fn on_no_answer(&mut self) {
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
            self.timer_in(Timer::Ask, self.context.constants().looser_timeout());
        }
        if self.owns_nothing() {
            return self.sleep();
        }
        if self.waits_for_turn(Timer::Answer) {
            return;
        }
        let candidate = self.candidate();
        if let Some(rival) = self.take_opponent() {
            self.broadcast(Content::Standing(candidate, Reason::WeakerCandidate));
            self.send(rival, Content::GeneratingToken(candidate));
        } else {
            self.broadcast(Content::Standing(candidate, Reason::NoAnswer));
        }
    }

    /// A LOOSER hears of an election: it stands too if its candidate is the stronger, unless it
    /// has been beaten in this one: standing again against everyone who is weaker makes an
    /// election cost n² broadcasts.
    pub(crate) fn consider_standing(&mut self, rival: MacAddr, theirs: Token) {
        let mine = self.candidate();
        if self.owns_nothing() || !mine.is_stronger_than(&theirs) {
            self.sleep();
            self.note_beaten(theirs);
        } else if let Role::Looser(search) = &mut self.role
            && search.is_unbeaten(mine)
        {
            // In a large ring perhaps many are stronger: in its turn, unless it is beaten by then.
            search.against = Some(rival);
            if search.in_turn != Some(Timer::Answer) {
                self.stand_in_turn();
            }
        }
    }

    /// The own candidate is beaten by this one until the next question.
    pub(crate) fn note_beaten(&mut self, theirs: Token) {
        if let Role::Looser(search) = &mut self.role {
            search.rival = Some(theirs);
        }
    }

    /// Whom this node was to stand against.
    fn take_opponent(&mut self) -> Option<MacAddr> {
        match &mut self.role {
            Role::Looser(search) => search.against.take(),
            _ => None,
        }
    }

    /// The candidate is announced to all: the state changes with it.
    pub(crate) fn stands(&mut self, candidate: Token, reason: Reason) {
        if matches!(self.role, Role::Looser(_)) {
            self.change(Role::Generating(candidate), reason, Some(candidate));
            self.timer_in(
                Timer::Answer,
                self.context.constants().looser_answer_timeout(),
            );
        }
    }

    /// What this node would generate: (`known.progress` + 1, own MAC, currentMyTokenNumber + 1).
    fn candidate(&self) -> Token {
        Token {
            progress: self
                .known
                .token()
                .map_or(1, |known| (known.progress + 1).min(MAX_PROGRESS)),
            author: self.me(),
            number: self.known.next_number(),
        }
    }

    /// Nobody objected. The token is known, and stored, before its heartbeat leaves;
    /// [`elected`](Self::elected) goes on when it has left.
    fn generate(&mut self, candidate: Token) {
        // It is made again if it could not be sent, as it was: the wall clock may have been set.
        let before = self.known.token();
        let again =
            |known: &Token| known.same_chain(&candidate) && known.progress >= candidate.progress;
        let before = before.filter(again);
        let floor = before.map_or_else(|| self.clock_floor(), |known| known.progress);
        let progress = candidate.progress.max(floor).min(MAX_PROGRESS);
        let token = Token {
            progress,
            ..candidate
        };
        self.known.use_number(candidate.number);
        // A token that cannot be sent to all would be elected again and again.
        self.drop_long_data();
        self.learn(token, self.me(), None);
        self.timer_in(Timer::Answer, self.context.constants().take_timeout);
        self.broadcast(Content::Elected(token));
    }

    /// The first heartbeat is out.
    pub(crate) fn elected(&mut self, token: Token) {
        if matches!(self.role, Role::Generating(_)) {
            self.begin_tenure(Tenure::of_own(token), Reason::Elected);
            self.said_so();
            self.plan_pass();
        }
    }
}
