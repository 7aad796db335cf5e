//! The search of a LOOSER for the token.

use std::hash::Hash;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use crate::lab2::machine::{Timer, Writer};
use crate::timers::TimerKind;

/// The state of a LOOSER's search for the token.
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Search {
    /// The strongest candidate that beat this node's candidate since this node's last question.
    rival: Option<Token>,
    /// A node with a weaker candidate. When this node's turn comes, it will stand for election against that node.
    opponent: Option<MacAddr>,
    /// The timer that is due and waits for this node's turn.
    delayed_timer: Option<Timer>,
}

impl Search {
    /// Forgets the stronger candidate, because a new question begins a new search.
    pub(crate) fn forget_rival(&mut self) {
        self.rival = None;
    }

    /// Notes that the candidate `theirs` is stronger than this node's candidate. This node remembers the stronger
    /// candidate until the next question.
    pub(crate) fn note_beaten(&mut self, theirs: Token) {
        self.rival = Some(theirs);
    }

    /// Plans to stand for election against a weaker candidate. Does nothing if a stronger candidate beat this node in
    /// this election. Returns whether the caller must stand for election now. If this node already waits for its turn,
    /// the caller does nothing.
    pub(crate) fn stand_against(&mut self, rival: MacAddr, mine: Token) -> bool {
        // If each beaten node stood again against every weaker candidate, an election would cost n² broadcasts.
        let is_unbeaten = self.rival.is_none_or(|it| mine.is_stronger_than(&it));
        if is_unbeaten {
            self.opponent = Some(rival);
        }
        is_unbeaten && self.delayed_timer != Some(Timer::Answer)
    }

    /// Removes and returns the opponent: the node against which this node planned to stand.
    pub(crate) fn take_opponent(&mut self) -> Option<MacAddr> {
        self.opponent.take()
    }

    /// Cancels the election until the next question.
    pub(crate) fn skip_election(&mut self) {
        self.opponent = None;
        // A question that waits for its turn is still to be asked.
        self.delayed_timer = self.delayed_timer.filter(|&timer| timer != Timer::Answer);
    }

    /// Handles a timer that is due. Returns whether the timer waited for this node's turn, which has come now.
    pub(crate) fn take_turn(&mut self, timer: Timer) -> bool {
        self.delayed_timer.take() == Some(timer)
    }

    /// Makes this timer wait until this node's turn.
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
