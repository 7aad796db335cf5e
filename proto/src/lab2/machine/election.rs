//! The rules of the states LOOSER and GENERATING. A LOOSER asks for the token, and a node in GENERATING stands for
//! election.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::election::Search;
use crate::lab2::envelope::Envelope;
use crate::lab2::members::Members;
use crate::lab2::tenure::{Role, Tenure};
use crate::lab2::{Diagnostic, Lab2, Reason, State};

impl Lab2 {
    pub(super) fn schedule_question(&mut self) {
        self.timer_in(Timer::Ask, self.context.constants().looser_timeout());
    }

    /// Asks for the token. In a large ring, first waits for this node's turn to ask.
    pub(super) fn on_question_due(&mut self) {
        if !self.wait_for_turn(Timer::Ask) {
            self.ask_for_token();
        }
    }

    /// Broadcasts WHERE_IS_TOKEN. When the link accepts the frame, [`on_question_sent`](Self::on_question_sent)
    /// continues.
    pub(super) fn ask_for_token(&mut self) {
        if let Some(search) = self.role.search_mut() {
            // Candidates of an earlier election may be dead by now.
            search.forget_rival();
            self.timer_in(Timer::Ask, self.context.constants().take_timeout);
            // An answer to this broadcast would look like an answer to the unicast probe.
            self.fitness.forget_question();
            self.broadcast(Content::WhereIsToken);
        }
    }

    /// Starts to wait for answers. Call this function after the question left.
    pub(super) fn on_question_sent(&mut self) {
        if let Some(search) = self.role.search_mut() {
            // The wait begins only here, because silence means nothing before the question has left. A question that
            // could not be sent is repeated after TAKE_TIMEOUT.
            search.take_opponent();
            self.await_answers();
            self.schedule_question();
        }
    }

    fn await_answers(&mut self) {
        let within = self.context.constants().looser_answer_timeout();
        self.timer_in(Timer::Answer, within);
    }

    /// If this node was about to ask, the question of another LOOSER counts as this node's own question.
    pub(super) fn on_question_overheard(&mut self, envelope: Envelope) {
        // If all n members of a large ring asked, they would get 8 n answers.
        let soon = self.context.now() + Members::speaking_delay_max(&self.context);
        let about_to_ask = self.out.due(Timer::Ask).is_some_and(|at| at <= soon);
        if envelope.broadcast
            && about_to_ask
            // A node that has just asked waits for its own answers.
            && !self.out.is_set(Timer::Answer)
            // The first nine members always ask: if each of them relied on another one, no member might ask.
            && !self.speaking_delay().is_zero()
        {
            self.role = Role::Looser(Search::default());
            self.on_question_sent();
        }
    }

    /// Cancels the election until the next question, for example because a member answered.
    pub(super) fn skip_election(&mut self) {
        if let Some(search) = self.role.search_mut() {
            search.skip_election();
            self.out.stop(Timer::Answer);
        }
    }

    fn speaking_delay(&self) -> Duration {
        self.members.speaking_delay(&self.context)
    }

    /// In a large ring, makes a timer of a LOOSER wait until this node's turn. Returns whether the timer must wait.
    fn wait_for_turn(&mut self, timer: Timer) -> bool {
        let turn = self.speaking_delay();
        let Some(search) = self.role.search_mut() else {
            return false;
        };
        // A timer that has already waited for the turn must not wait again, or it would never act.
        if search.take_turn(timer) || turn.is_zero() {
            return false;
        }
        search.delay_timer(timer);
        self.timer_in(timer, turn);
        true
    }

    /// Handles the end of LOOSER_ANSWER_TIMEOUT. A LOOSER then stands for election, and a candidate creates its token.
    pub(super) fn on_answer_timeout(&mut self) {
        match self.role {
            Role::Looser(_) => self.stand_for_election(),
            Role::Generating(candidate) => self.create_token(candidate),
            Role::Owner(_) | Role::Waiter(_) => {}
        }
    }

    fn stand_for_election(&mut self) {
        // A node that stands for election does not ask. So this node postpones a question that is due before its turn.
        let until = self.context.now() + self.speaking_delay();
        if self.out.due(Timer::Ask).is_some_and(|at| at <= until) {
            self.schedule_question();
        }
        // A node that must not own the token asks for the owner, but leaves the election to the other nodes.
        if !self.may_own() {
            return self.skip_election();
        }
        if self.wait_for_turn(Timer::Answer) {
            return;
        }
        let candidate = self.known.candidate(&self.context);
        let search = self.role.search_mut();
        if let Some(rival) = search.and_then(Search::take_opponent) {
            // The broadcast may not reach the rival, so the rival also gets a unicast frame.
            self.broadcast(Content::Candidacy(candidate, Reason::WeakerCandidate));
            self.send(rival, Content::GeneratingToken(candidate));
        } else {
            self.broadcast(Content::Candidacy(candidate, Reason::NoAnswer));
        }
    }

    /// Stands for election if this node's candidate is stronger than `theirs`. If this node's candidate is not
    /// stronger, waits until the next question. In a large ring, the node first waits for its turn, because many nodes
    /// may have a stronger candidate.
    pub(super) fn consider_candidacy(&mut self, rival: MacAddr, theirs: Token) {
        let mine = self.known.candidate(&self.context);
        if !self.may_own() || !mine.is_stronger_than(&theirs) {
            self.skip_election();
            self.note_beaten(theirs);
        } else if let Some(search) = self.role.search_mut()
            && search.stand_against(rival, mine)
        {
            self.stand_for_election();
        }
    }

    pub(super) fn note_beaten(&mut self, theirs: Token) {
        if let Some(search) = self.role.search_mut() {
            search.note_beaten(theirs);
        }
    }

    /// Enters GENERATING. Call this function when the link has accepted the broadcast of the candidate.
    pub(super) fn on_candidacy_sent(&mut self, candidate: Token, reason: Reason) {
        // Before the link reported the frame, a TOKEN_IS_HERE may have made this node WAITER.
        if self.state() == State::Looser {
            self.change_role(Role::Generating(candidate), reason, Some(candidate));
            self.await_answers();
        }
    }

    /// Creates the token of this node's candidate. The members did not object to this candidate. Broadcasts the token.
    /// [`on_first_heartbeat_sent`](Self::on_first_heartbeat_sent) continues when the link accepts the first heartbeat.
    fn create_token(&mut self, candidate: Token) {
        // Only now may the wall clock raise the progress. If it were part of the candidate, the node with the fastest
        // clock would win every election.
        let wall = self.context.clock().wall;
        let (token, ahead) = self.known.create_token(wall, candidate);
        if let Some(by) = ahead {
            let trouble = Diagnostic::ClockAhead { by };
            self.diagnostics
                .note_event(&self.context, &mut self.out, trouble);
        }
        // If the data did not fit an MTU, the first heartbeat would fail, and this node would be elected again and
        // again.
        self.drop_long_data();
        // The token must be stored before its first heartbeat leaves.
        self.learn(token, self.me(), None);
        // If the link refuses the heartbeat, the node repeats it after TAKE_TIMEOUT.
        self.timer_in(Timer::Answer, self.context.constants().take_timeout);
        self.broadcast(Content::FirstHeartbeat(token));
    }

    /// Enters OWNER, because the first heartbeat left.
    pub(super) fn on_first_heartbeat_sent(&mut self, token: Token) {
        if self.state() == State::Generating {
            self.begin_tenure(Tenure::from_minted(token), Reason::Elected);
            self.on_heartbeat_sent();
            self.schedule_handover();
        }
    }
}
