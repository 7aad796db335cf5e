//! The token, as far as it is here (`docs/board.md`, section 9).

use crate::StreamId;
use crate::time::Instant;

/// By how much a token that is taken back leads: more than any other can have left behind it in a round.
pub(crate) const JUMP: u64 = 1 << 16;

/// Returns the sequence that is this many hops later. `None`: it would be one of the next term, and as long as the coordinator
/// has not made a token of that term, every successor refuses it.
pub(crate) const fn later(sequence: u64, hops: u64) -> Option<u64> {
    match sequence.checked_add(hops) {
        Some(later) if later >> 32 == sequence >> 32 => Some(later),
        _ => None,
    }
}

/// Where the token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Not here.
    Away,
    /// Here: nobody else has it.
    Held(Held),
    /// On its way to the successor: nothing may be done with it.
    Passing {
        /// The sequence that was sent.
        sequence: u64,
        /// When it is taken back.
        until: Instant,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) sequence: u64,
    /// Without work it is passed then.
    pub(crate) until: Instant,
    pub(crate) visit: Visit,
    /// New posts were read for those who listen.
    pub(crate) is_fed: bool,
}

/// What is done with a token that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visit {
    /// Nothing so far.
    Idle,
    /// This job.
    Working(u64),
    /// The work is done, or not waited for.
    Over,
}

/// A token of an unknown term: a look tells whether there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parked {
    pub(crate) sequence: u64,
    pub(crate) stream: StreamId,
    pub(crate) at: Instant,
}

#[derive(Debug)]
pub(crate) struct Token {
    /// The largest sequence that was held here.
    pub(crate) highest: u64,
    pub(crate) place: Place,
    pub(crate) parked: Option<Parked>,
    /// When it was last here, or used by anybody.
    seen: Option<Instant>,
    /// When it was last here.
    here: Option<Instant>,
}

impl Token {
    pub(crate) const fn new() -> Self {
        Self {
            highest: 0,
            place: Place::Away,
            parked: None,
            seen: None,
            here: None,
        }
    }

    /// When a token was seen last.
    pub(crate) const fn seen(&self, now: Instant) -> Option<Instant> {
        match self.place {
            Place::Away => self.seen,
            Place::Held(_) | Place::Passing { .. } => Some(now),
        }
    }

    /// When a token was here last.
    pub(crate) const fn here(&self, now: Instant) -> Option<Instant> {
        match self.place {
            Place::Away => self.here,
            Place::Held(_) | Place::Passing { .. } => Some(now),
        }
    }

    pub(crate) const fn note_seen(&mut self, now: Instant) {
        self.seen = Some(now);
    }

    pub(crate) const fn held(&self) -> Option<Held> {
        match self.place {
            Place::Held(held) => Some(held),
            _ => None,
        }
    }

    pub(crate) const fn held_mut(&mut self) -> Option<&mut Held> {
        match &mut self.place {
            Place::Held(held) => Some(held),
            _ => None,
        }
    }

    pub(crate) const fn is_passing(&self) -> bool {
        matches!(self.place, Place::Passing { .. })
    }

    /// It is held from now on, instead of any other. Returns the sequence of one that was held.
    pub(crate) fn hold(&mut self, sequence: u64, until: Instant, now: Instant) -> Option<u64> {
        let before = self.held().map(|held| held.sequence);
        self.highest = sequence;
        self.seen = Some(now);
        self.place = Place::Held(Held {
            sequence,
            until,
            visit: Visit::Idle,
            is_fed: false,
        });
        before
    }

    /// Nothing is held or on its way any longer. Returns the sequence of what was.
    pub(crate) fn forget(&mut self, now: Instant) -> Option<u64> {
        (self.seen, self.here) = (self.seen(now), self.here(now));
        match std::mem::replace(&mut self.place, Place::Away) {
            Place::Away => None,
            Place::Held(Held { sequence, .. }) | Place::Passing { sequence, .. } => Some(sequence),
        }
    }

    /// What was on its way is held again, with a lead. Returns its sequence from now on. `None`: its term has no such sequence,
    /// or nothing was on its way.
    pub(crate) fn take_back(&mut self, now: Instant) -> Option<u64> {
        let Place::Passing { sequence, .. } = self.place else {
            return None;
        };
        let sequence = later(sequence, JUMP)?;
        self.hold(sequence, now, now);
        Some(sequence)
    }
}
