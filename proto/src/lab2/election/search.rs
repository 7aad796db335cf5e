//! How a LOOSER looks for the token.

use std::hash::Hash;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use crate::lab2::machine::{Timer, Writer};
use crate::timers::TimerKind;

/// What a LOOSER remembers of its search.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Search {
    /// The candidate that has beaten the own one since the last question.
    rival: Option<Token>,
    /// The candidate's holder that this node stands against when its turn has come.
    against: Option<MacAddr>,
    /// The timer that now only waits for this node's turn.
    in_turn: Option<Timer>,
}

impl Search {
    /// It is to ask: who has beaten it before does not count any longer.
    pub(crate) fn forget_rival(&mut self) {
        self.rival = None;
    }

    /// The own candidate is beaten by this one until the next question.
    pub(crate) fn note_beaten(&mut self, theirs: Token) {
        self.rival = Some(theirs);
    }

    /// Stands against a weaker candidate in its turn, unless it was beaten in this election: standing again against
    /// everyone who is weaker makes an election cost n² broadcasts. Returns whether it is to see to that, which it
    /// does not do twice.
    pub(crate) fn stand_against(&mut self, rival: MacAddr, mine: Token) -> bool {
        let is_unbeaten = self.rival.is_none_or(|it| mine.is_stronger_than(&it));
        if is_unbeaten {
            self.against = Some(rival);
        }
        is_unbeaten && self.in_turn != Some(Timer::Answer)
    }

    /// The candidate's holder that this node was to stand against.
    pub(crate) fn take_opponent(&mut self) -> Option<MacAddr> {
        self.against.take()
    }

    /// There was an answer: no election before the next question.
    pub(crate) fn sleep(&mut self) {
        self.against = None;
        self.in_turn = self.in_turn.filter(|&timer| timer != Timer::Answer);
    }

    /// A timer has fired. Returns whether that is for this node's turn, which it has waited for.
    pub(crate) fn has_waited(&mut self, timer: Timer) -> bool {
        self.in_turn.take() == Some(timer)
    }

    /// What a timer is for waits for this node's turn.
    pub(crate) fn wait(&mut self, timer: Timer) {
        self.in_turn = Some(timer);
    }

    pub(crate) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            rival,
            against,
            in_turn,
        } = self;
        (rival, against, in_turn.map(TimerKind::index)).hash(writer);
    }
}
