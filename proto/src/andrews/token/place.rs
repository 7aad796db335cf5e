//! The token at this node (`docs/board/protocol/token.md`, rules T).

use crate::StreamId;
use crate::time::Instant;

/// The amount by which a node raises a token's sequence when it takes the token back. In one rotation, the sequence of
/// a second token grows by less than this amount. So only one of the two tokens remains.
const SEQUENCE_JUMP: u64 = 1 << 16;

/// Returns the sequence after this number of hops, or `None` if the sequence would leave the token's term. Every
/// successor refuses a sequence of the next term until the coordinator makes a token of that term.
const fn add_hops(sequence: u64, hops: u64) -> Option<u64> {
    match sequence.checked_add(hops) {
        Some(later) if later >> 32 == sequence >> 32 => Some(later),
        _ => None,
    }
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// The token is not here.
    Away,
    /// This node holds the token.
    Held(Held),
    /// The token is on its way to the successor, and must not be used.
    Passing {
        sequence: u64,
        /// The time at which this node takes the token back.
        until: Instant,
    },
}

#[derive(Debug, Clone, Copy)]
struct Held {
    sequence: u64,
    /// The time at which the node passes a token without work.
    until: Instant,
    visit: VisitState,
    /// Whether new posts were read for the clients that listen.
    is_fed: bool,
}

/// The use of a held token during one visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VisitState {
    /// No job has used the token.
    Idle,
    /// This job uses the token.
    Working(u64),
    /// The work is done, or the node no longer waits for its end.
    Over,
}

/// A token of an unknown term. A look decides whether the term exists.
#[derive(Debug, Clone, Copy)]
struct Parked {
    sequence: u64,
    stream: StreamId,
    at: Instant,
}

/// The next action of a node with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenUse {
    Nothing,
    Serve,
    Pass,
}

/// The facts that decide the next step with a token.
// The bool fields do not depend on each other.
#[expect(clippy::struct_excessive_bools)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct UseInput {
    /// Whether requests wait.
    pub has_requests: bool,
    /// Whether clients listen for new posts.
    pub has_listeners: bool,
    /// Whether the database may be used.
    pub can_serve: bool,
    /// Whether there is a successor.
    pub can_pass: bool,
    /// Whether the node is shutting down.
    pub is_leaving: bool,
}

#[derive(Debug)]
pub(crate) struct Token {
    /// The largest sequence that this node has held.
    highest: u64,
    place: Place,
    parked: Option<Parked>,
    /// The last time at which this node had the token or learned that another node used it.
    seen: Option<Instant>,
    /// The time at which this node last had the token.
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

    /// Returns the last time at which this node had the token or learned that another node used it.
    pub(crate) const fn last_seen(&self, now: Instant) -> Option<Instant> {
        if self.is_away() { self.seen } else { Some(now) }
    }

    pub(crate) const fn last_here(&self, now: Instant) -> Option<Instant> {
        if self.is_away() { self.here } else { Some(now) }
    }

    pub(crate) const fn note_seen(&mut self, now: Instant) {
        self.seen = Some(now);
    }

    pub(crate) const fn held_sequence(&self) -> Option<u64> {
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

    pub(crate) const fn job(&self) -> Option<u64> {
        match self.place {
            Place::Held(Held {
                visit: VisitState::Working(job),
                ..
            }) => Some(job),
            _ => None,
        }
    }

    /// Whether this node's token is the newest token. A held token is the newest token if its sequence is the highest.
    /// A token on its way is the newest token if its sequence is the highest sequence plus one.
    pub(crate) fn is_newest(&self) -> bool {
        match self.place {
            Place::Away => true,
            Place::Held(held) => held.sequence == self.highest,
            Place::Passing { sequence, .. } => add_hops(self.highest, 1) == Some(sequence),
        }
    }

    /// Returns the sequence that this node gives to an arriving token.
    pub(crate) fn sequence_on_arrival(
        &self,
        sequence: u64,
        members: usize,
        is_coordinator: bool,
    ) -> u64 {
        // The only token of a ring comes back with a sequence that is larger by the number of members. A smaller
        // difference means two tokens, which would follow each other indefinitely. Only the coordinator gives one of
        // the tokens a lead. If two nodes did this, the distance between the tokens would not change.
        let ahead = sequence.saturating_sub(self.highest);
        let are_two = u64::try_from(members).is_ok_and(|members| ahead < members);
        let lead = if is_coordinator && are_two {
            SEQUENCE_JUMP
        } else {
            0
        };
        add_hops(sequence, lead).unwrap_or(sequence)
    }

    /// Makes this node the holder of the token. If this node already held a token, returns the sequence of that earlier
    /// token.
    pub(crate) fn hold(&mut self, sequence: u64, until: Instant, now: Instant) -> Option<u64> {
        let before = self.held_sequence();
        // Every older token is a duplicate from now on, even after this token has left.
        self.highest = sequence;
        self.seen = Some(now);
        self.place = Place::Held(Held {
            sequence,
            until,
            visit: VisitState::Idle,
            is_fed: false,
        });
        before
    }

    /// Discards the token that is held or on its way. Returns its sequence.
    pub(crate) fn forget(&mut self, now: Instant) -> Option<u64> {
        (self.seen, self.here) = (self.last_seen(now), self.last_here(now));
        match std::mem::replace(&mut self.place, Place::Away) {
            Place::Away => None,
            Place::Held(Held { sequence, .. }) | Place::Passing { sequence, .. } => Some(sequence),
        }
    }

    pub(crate) fn next_use(&self, demand: UseInput, now: Instant) -> TokenUse {
        let Place::Held(held) = self.place else {
            return TokenUse::Nothing;
        };
        // The token stays while its job runs. Otherwise the next node could use a newer token first, and the job would
        // be refused.
        if let VisitState::Working(_) = held.visit {
            return TokenUse::Nothing;
        }
        let is_over = held.visit == VisitState::Over;
        // Without a successor the token cannot leave, so it may serve more requests.
        let has_work = demand.has_requests && (!is_over || !demand.can_pass);
        let has_listeners = demand.has_listeners && !held.is_fed && !is_over;
        if demand.can_serve && !demand.is_leaving && (has_work || has_listeners) {
            return TokenUse::Serve;
        }
        if demand.can_pass && (is_over || demand.is_leaving || held.until <= now) {
            return TokenUse::Pass;
        }
        TokenUse::Nothing
    }

    pub(crate) const fn begin_visit(&mut self, job: u64, is_fed: bool) {
        if let Some(held) = self.held_mut() {
            held.visit = VisitState::Working(job);
            held.is_fed |= is_fed;
        }
    }

    /// Ends the work of a visit. Returns whether the token is still at this node.
    pub(crate) fn end_visit(&mut self, job: u64, is_work: bool) -> bool {
        let held = self.held_mut();
        let held = held.filter(|held| held.visit == VisitState::Working(job));
        let is_here = held.is_some();
        if let Some(held) = held {
            // Reading for listeners does not count as work. Otherwise a ring with listeners would pass the token on
            // without a pause.
            held.visit = if is_work {
                VisitState::Over
            } else {
                VisitState::Idle
            };
        }
        is_here
    }

    /// Returns the sequence for the next pass of the token, or `None` if the term has no further sequence.
    pub(crate) fn next_hop(&self) -> Option<u64> {
        add_hops(self.held_sequence()?, 1)
    }

    pub(crate) const fn on_passed(&mut self, sequence: u64, until: Instant) {
        self.place = Place::Passing { sequence, until };
    }

    /// Handles an acknowledgement. Returns whether the acknowledgement is for the token that is on its way.
    pub(crate) fn on_acknowledged(&mut self, acknowledged: u64, now: Instant) -> bool {
        // Other acknowledgements belong to earlier passes.
        let is_acknowledged =
            matches!(self.place, Place::Passing { sequence, .. } if sequence == acknowledged);
        if is_acknowledged {
            self.forget(now);
        }
        is_acknowledged
    }

    pub(crate) fn is_pass_late(&self, now: Instant) -> bool {
        matches!(self.place, Place::Passing { until, .. } if until <= now)
    }

    /// Takes back a token that is on its way, and raises its sequence by `SEQUENCE_JUMP`. Returns the new sequence.
    /// Returns `None` if no token is on its way, or if the new sequence would be outside the term.
    pub(crate) fn take_back(&mut self, now: Instant) -> Option<u64> {
        let Place::Passing { sequence, .. } = self.place else {
            return None;
        };
        let sequence = add_hops(sequence, SEQUENCE_JUMP)?;
        // The token has already been held here, so it leaves at once.
        self.hold(sequence, now, now);
        Some(sequence)
    }

    /// Returns the time of the token's next timeout.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        match self.place {
            Place::Away => None,
            Place::Passing { until, .. } => Some(until),
            // A token whose hold is over waits for a successor, so it needs no timer.
            Place::Held(held) => (held.until > now).then_some(held.until),
        }
    }

    /// Keeps a token of an unknown term until a look decides about it.
    pub(crate) const fn park(&mut self, sequence: u64, stream: StreamId, at: Instant) {
        self.parked = Some(Parked {
            sequence,
            stream,
            at,
        });
    }

    /// Returns the connection on which the parked token arrived.
    pub(crate) fn parked_stream(&self) -> Option<StreamId> {
        self.parked.map(|parked| parked.stream)
    }

    /// If the parked token arrived before the look, returns the token's sequence. The look began at `began`.
    pub(crate) fn parked_before(&self, began: Instant) -> Option<u64> {
        // A look that began earlier may be older than the token's term.
        let parked = self.parked.filter(|parked| parked.at <= began);
        parked.map(|parked| parked.sequence)
    }

    /// Forgets the parked token. Returns whether there was a parked token.
    pub(crate) const fn unpark(&mut self) -> bool {
        self.parked.take().is_some()
    }
}

#[cfg(test)]
impl Token {
    pub(crate) const fn spoil(&mut self) {
        self.highest += 1;
    }
}
