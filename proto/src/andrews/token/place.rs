//! The token, as far as it is here (`docs/board.md`, section 9).

use crate::StreamId;
use crate::time::Instant;

/// By how much a token that is taken back leads: more than any other can have left behind it in a round.
const JUMP: u64 = 1 << 16;

/// Returns the sequence that is this many hops later. `None`: it would be one of the next term, and as long as the coordinator
/// has not made a token of that term, every successor refuses it.
const fn later(sequence: u64, hops: u64) -> Option<u64> {
    match sequence.checked_add(hops) {
        Some(later) if later >> 32 == sequence >> 32 => Some(later),
        _ => None,
    }
}

/// Where the token is.
#[derive(Debug, Clone, Copy)]
enum Place {
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

#[derive(Debug, Clone, Copy)]
struct Held {
    sequence: u64,
    /// Without work it is passed then.
    until: Instant,
    visit: Visit,
    /// New posts were read for those who listen.
    is_fed: bool,
}

/// What is done with a token that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    /// Nothing so far.
    Idle,
    /// This job.
    Working(u64),
    /// The work is done, or not waited for.
    Over,
}

/// A token of an unknown term: a look tells whether there is one.
#[derive(Debug, Clone, Copy)]
struct Parked {
    sequence: u64,
    stream: StreamId,
    at: Instant,
}

/// What is to be done with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Nothing,
    Serve,
    Pass,
}

/// What decides on the next use of a token.
// Five questions that have nothing to do with each other.
#[expect(clippy::struct_excessive_bools)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    /// Requests wait.
    pub has_requests: bool,
    /// New posts are read for those who listen.
    pub has_listeners: bool,
    /// The database may be used.
    pub can_serve: bool,
    /// There is a successor.
    pub can_pass: bool,
    /// The node is to end.
    pub is_leaving: bool,
}

#[derive(Debug)]
pub(crate) struct Token {
    /// The largest sequence that was held here.
    highest: u64,
    place: Place,
    parked: Option<Parked>,
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

    pub(crate) const fn highest(&self) -> u64 {
        self.highest
    }

    /// When a token was seen last.
    pub(crate) const fn seen(&self, now: Instant) -> Option<Instant> {
        if self.is_away() { self.seen } else { Some(now) }
    }

    /// When a token was here last.
    pub(crate) const fn here(&self, now: Instant) -> Option<Instant> {
        if self.is_away() { self.here } else { Some(now) }
    }

    pub(crate) const fn note_seen(&mut self, now: Instant) {
        self.seen = Some(now);
    }

    /// The sequence of a token that is held.
    pub(crate) const fn held(&self) -> Option<u64> {
        match self.place {
            Place::Held(held) => Some(held.sequence),
            _ => None,
        }
    }

    const fn held_mut(&mut self) -> Option<&mut Held> {
        match &mut self.place {
            Place::Held(held) => Some(held),
            _ => None,
        }
    }

    pub(crate) const fn is_away(&self) -> bool {
        matches!(self.place, Place::Away)
    }

    pub(crate) const fn is_passing(&self) -> bool {
        matches!(self.place, Place::Passing { .. })
    }

    /// The job that uses a token that is held.
    pub(crate) const fn job(&self) -> Option<u64> {
        match self.place {
            Place::Held(Held {
                visit: Visit::Working(job),
                ..
            }) => Some(job),
            _ => None,
        }
    }

    /// Whether what is here goes with the highest sequence: a held token has it, one on its way is a hop later.
    pub(crate) fn is_newest(&self) -> bool {
        match self.place {
            Place::Away => true,
            Place::Held(held) => held.sequence == self.highest,
            Place::Passing { sequence, .. } => later(self.highest, 1) == Some(sequence),
        }
    }

    /// The sequence with which a token that has come is held. One that went round alone is ahead of the last by the members: if
    /// it is not there are two, which would follow one another for ever. Only the coordinator lets one of them lead, so that
    /// not both do.
    pub(crate) fn taken(&self, sequence: u64, members: usize, is_coordinator: bool) -> u64 {
        let ahead = sequence.saturating_sub(self.highest);
        let are_two = u64::try_from(members).is_ok_and(|members| ahead < members);
        let lead = if is_coordinator && are_two { JUMP } else { 0 };
        later(sequence, lead).unwrap_or(sequence)
    }

    /// It is held from now on, instead of any other. Returns the sequence of one that was held.
    pub(crate) fn hold(&mut self, sequence: u64, until: Instant, now: Instant) -> Option<u64> {
        let before = self.held();
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

    /// What is to be done with it.
    pub(crate) fn next_use(&self, demand: Demand, now: Instant) -> Use {
        let Place::Held(held) = self.place else {
            return Use::Nothing;
        };
        if let Visit::Working(_) = held.visit {
            return Use::Nothing;
        }
        let is_over = held.visit == Visit::Over;
        // Without a successor the token stays, and may be used again.
        let has_work = demand.has_requests && (!is_over || !demand.can_pass);
        let has_listeners = demand.has_listeners && !held.is_fed && !is_over;
        if demand.can_serve && !demand.is_leaving && (has_work || has_listeners) {
            return Use::Serve;
        }
        if demand.can_pass && (is_over || demand.is_leaving || held.until <= now) {
            return Use::Pass;
        }
        Use::Nothing
    }

    pub(crate) const fn begin_visit(&mut self, job: u64, is_fed: bool) {
        if let Some(held) = self.held_mut() {
            held.visit = Visit::Working(job);
            held.is_fed |= is_fed;
        }
    }

    /// The work of this visit is over, if the token is still here. One that has only read for those who listen is no work:
    /// the token stays for its time, or rings with listeners would never rest.
    pub(crate) fn end_visit(&mut self, job: u64, is_work: bool) -> bool {
        let held = self.held_mut();
        let held = held.filter(|held| held.visit == Visit::Working(job));
        let is_here = held.is_some();
        if let Some(held) = held {
            held.visit = if is_work { Visit::Over } else { Visit::Idle };
        }
        is_here
    }

    /// The sequence with which a token that is held is passed, if its term has one.
    pub(crate) fn next_hop(&self) -> Option<u64> {
        later(self.held()?, 1)
    }

    pub(crate) const fn on_passed(&mut self, sequence: u64, until: Instant) {
        self.place = Place::Passing { sequence, until };
    }

    /// The successor has one. Returns whether it is the one on its way.
    pub(crate) fn on_acknowledged(&mut self, acknowledged: u64, now: Instant) -> bool {
        let is_it =
            matches!(self.place, Place::Passing { sequence, .. } if sequence == acknowledged);
        if is_it {
            self.forget(now);
        }
        is_it
    }

    pub(crate) fn is_pass_late(&self, now: Instant) -> bool {
        matches!(self.place, Place::Passing { until, .. } if until <= now)
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

    /// When the token has something due.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        match self.place {
            Place::Away => None,
            Place::Passing { until, .. } => Some(until),
            // What is due already waits for a successor.
            Place::Held(held) => (held.until > now).then_some(held.until),
        }
    }

    /// One of an unknown term has come over a connection.
    pub(crate) const fn park(&mut self, sequence: u64, stream: StreamId, at: Instant) {
        self.parked = Some(Parked {
            sequence,
            stream,
            at,
        });
    }

    /// The connection that a parked token came over.
    pub(crate) fn parked_from(&self) -> Option<StreamId> {
        self.parked.map(|parked| parked.stream)
    }

    /// The sequence of a token that was parked before a look began.
    pub(crate) fn parked_before(&self, began: Instant) -> Option<u64> {
        let parked = self.parked.filter(|parked| parked.at <= began);
        parked.map(|parked| parked.sequence)
    }

    /// Forgets a parked token. Returns whether there was one.
    pub(crate) const fn unpark(&mut self) -> bool {
        self.parked.take().is_some()
    }
}

#[cfg(test)]
impl Token {
    /// Makes it contradict itself.
    pub(crate) const fn spoil(&mut self) {
        self.highest += 1;
    }
}
