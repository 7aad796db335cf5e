//! A LOOSER's search for the token.

use std::hash::Hash;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use crate::lab2::machine::{Timer, Writer};
use crate::timers::TimerKind;

/// State of a LOOSER's search.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Search {
    /// The candidate that has beaten this node's candidate since the last question.
    rival: Option<Token>,
    /// The weaker candidate's node, which this node stands against when its turn comes.
    opponent: Option<MacAddr>,
    /// The timer that only waits for this node's turn.
    delayed_timer: Option<Timer>,
}

impl Search {
    /// Forgets the stronger candidate: a new question begins a new search.
    pub(crate) fn forget_rival(&mut self) {
        self.rival = None;
    }

    /// Notes a stronger candidate, which counts until the next question.
    pub(crate) fn note_beaten(&mut self, theirs: Token) {
        self.rival = Some(theirs);
    }

    /// Plans to stand against a weaker candidate, unless this node was beaten in this election. Returns whether the
    /// caller must stand; a node that already waits for its turn need not.
    pub(crate) fn stand_against(&mut self, rival: MacAddr, mine: Token) -> bool {
        // If each node stood again against every weaker one, an election would cost n² broadcasts.
        let is_unbeaten = self.rival.is_none_or(|it| mine.is_stronger_than(&it));
        if is_unbeaten {
            self.opponent = Some(rival);
        }
        is_unbeaten && self.delayed_timer != Some(Timer::Answer)
    }

    /// Removes and returns the node that this node was to stand against.
    pub(crate) fn take_opponent(&mut self) -> Option<MacAddr> {
        self.opponent.take()
    }

    /// Cancels the election until the next question.
    pub(crate) fn skip_election(&mut self) {
        self.opponent = None;
        self.delayed_timer = self.delayed_timer.filter(|&timer| timer != Timer::Answer);
    }

    /// Handles a timer. Returns whether it was waiting for this node's turn, which has come.
    pub(crate) fn take_turn(&mut self, timer: Timer) -> bool {
        self.delayed_timer.take() == Some(timer)
    }

    /// Delays this timer until this node's turn.
    pub(crate) fn delay_timer(&mut self, timer: Timer) {
        self.delayed_timer = Some(timer);
    }

    pub(crate) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            rival,
            opponent,
            delayed_timer,
        } = self;
        (rival, opponent, delayed_timer.map(TimerKind::index)).hash(writer);
    }
}
