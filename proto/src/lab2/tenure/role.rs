//! The four states with what belongs to each.

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use crate::lab2::State;
use crate::lab2::machine::timer::Timer;
use crate::lab2::members::hearing::Refusals;
use crate::lab2::members::silence::Failing;
use crate::time::Instant;

#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::large_enum_variant,
    reason = "a machine has one, in its place: a tenure in a box would be an allocation a hop"
)]
pub(crate) enum Role {
    Owner(Tenure),
    Waiter(Wait),
    Looser(Search),
    /// With the candidate.
    Generating(Token),
}

impl Role {
    pub(crate) const fn state(&self) -> State {
        match self {
            Self::Owner(_) => State::Owner,
            Self::Waiter(_) => State::Waiter,
            Self::Looser(_) => State::Looser,
            Self::Generating(_) => State::Generating,
        }
    }
}

impl Role {
    /// The tenure, unless its token is offered to another.
    pub(crate) const fn unoffered(&self) -> Option<&Tenure> {
        match self {
            Self::Owner(tenure) if tenure.offer.is_none() => Some(tenure),
            _ => None,
        }
    }

    /// The token that is offered to another.
    pub(crate) const fn offer(&self) -> Option<Offer> {
        match self {
            Self::Owner(tenure) => tenure.offer,
            _ => None,
        }
    }

    /// The acknowledgement that somebody waits for of what it has handed over. A WAITER may owe it still: the
    /// token has gone on before it was due.
    pub(crate) const fn unacknowledged(&self) -> Option<Owed> {
        match self {
            Self::Owner(tenure) => tenure.owed(),
            Self::Waiter(Wait { unacknowledged }) => *unacknowledged,
            Self::Looser(_) | Self::Generating(_) => None,
        }
    }

    /// The same, for which nobody waits any longer.
    pub(crate) fn take_unacknowledged(&mut self) -> Option<Owed> {
        let owed = self.unacknowledged();
        match self {
            Self::Owner(Tenure { unacknowledged, .. }) => *unacknowledged = None,
            Self::Waiter(Wait { unacknowledged }) => *unacknowledged = None,
            Self::Looser(_) | Self::Generating(_) => {}
        }
        owed
    }

    /// What a WAITER has left that was this.
    pub(crate) const fn to_waiter(self) -> Self {
        Self::Waiter(Wait {
            unacknowledged: self.unacknowledged(),
        })
    }
}

/// An acknowledgement that was put off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owed {
    pub(crate) to: MacAddr,
    /// After that it is too late; `None`: it was told otherwise before.
    pub(crate) by: Option<Instant>,
}

/// What a WAITER has left of its tenure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    /// The acknowledgement that the previous holder waits for.
    pub(crate) unacknowledged: Option<Owed>,
}

/// How a LOOSER looks for the token.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Search {
    /// The candidate that has beaten the own one since the last question.
    pub(crate) rival: Option<Token>,
    /// The candidate's holder that this node stands against when its turn has come.
    pub(crate) against: Option<MacAddr>,
    /// The timer that now only waits for this node's turn.
    pub(crate) in_turn: Option<Timer>,
}

impl Search {
    /// Whether no candidate is known that is as strong as this one.
    pub(crate) fn is_unbeaten(&self, candidate: Token) -> bool {
        self.rival
            .is_none_or(|rival| candidate.is_stronger_than(&rival))
    }
}

/// What an OWNER holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tenure {
    pub(crate) token: Token,
    /// The strongest token that was known when this one was taken; `None` if it was made here.
    pub(crate) known_before: Option<Token>,
    /// The progress that it is offered with, once that was decided.
    pub(crate) next_progress: Option<u64>,
    /// The TAKE_TOKEN that could not be sent.
    pub(crate) unsent: Option<Unsent>,
    /// From the first TAKE_TOKEN to the end of the hand-over.
    pub(crate) offer: Option<Offer>,
    /// The previous holder, while it waits for an acknowledgement.
    pub(crate) unacknowledged: Option<MacAddr>,
    /// Whether its taking was acknowledged in time.
    pub(crate) ack: AckState,
    /// Hand-overs that have failed in a row.
    pub(crate) failing: Option<Failing>,
    /// Hand-overs that have failed since one has not, or an author was there again.
    pub(crate) refusals: Option<Refusals>,
    /// When the token goes on if there is no work for it then. Work does not put it off: who does not hear
    /// that others want the token would keep it as long as somebody here works again and again.
    pub(crate) rests_until: Instant,
    /// Who had it before; `None` if it was made here.
    pub(crate) giver: Option<MacAddr>,
    /// The member that was offered the token before its turn, since it was passed over.
    pub(crate) ahead: Option<MacAddr>,
    /// After whom a round goes on that waits for objections.
    pub(crate) interrupted: Option<MacAddr>,
    /// A program may have worked under the token, here or at an earlier holder.
    pub(crate) is_used: bool,
}

impl Tenure {
    /// That of a token which was made here.
    pub(crate) const fn of_own(token: Token) -> Self {
        Self {
            rests_until: Instant::from_nanos(0),
            giver: None,
            ahead: None,
            interrupted: None,
            is_used: false,
            token,
            known_before: None,
            next_progress: None,
            unsent: None,
            offer: None,
            unacknowledged: None,
            ack: AckState::Settled,
            failing: None,
            refusals: None,
        }
    }

    /// That of a token which was taken from its previous holder.
    pub(crate) const fn of_taken(
        token: Token,
        known_before: Option<Token>,
        giver: MacAddr,
        answered_by: Instant,
    ) -> Self {
        Self {
            known_before,
            ack: AckState::Due(answered_by),
            unacknowledged: Some(giver),
            giver: Some(giver),
            is_used: true,
            ..Self::of_own(token)
        }
    }

    /// The acknowledgement that the previous holder waits for.
    const fn owed(&self) -> Option<Owed> {
        let Some(to) = self.unacknowledged else {
            return None;
        };
        let by = match self.ack {
            AckState::Due(by) | AckState::Sent(by) => Some(by),
            AckState::Settled | AckState::Unsure(_) => None,
        };
        Some(Owed { to, by })
    }

    /// It goes on with a token that was made here.
    pub(crate) const fn renewed(&self, token: Token, ack: AckState) -> Self {
        Self {
            unacknowledged: self.unacknowledged,
            ack,
            failing: self.failing,
            refusals: self.refusals,
            rests_until: self.rests_until,
            giver: self.giver,
            is_used: self.is_used,
            ..Self::of_own(token)
        }
    }
}

/// The first acknowledgement of an offer that was taken.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AckState {
    /// It has left in time, or none is asked for.
    Settled,
    /// It, or what tells the giver as well, is to leave by then: its giver may have given this node up after
    /// that.
    Due(Instant),
    /// It was accepted for sending; when it has left is not known yet.
    Sent(Instant),
    /// It left too late, or not at all: the token may be outdated, and nobody relies on it.
    Unsure(Announced),
}

/// Whether the others know who holds a token that its owner is unsure of, so that they may object.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Announced {
    No,
    /// The broadcast was accepted for sending; when it has left is not known yet.
    Leaving,
    /// It had left by then.
    At(Instant),
}

/// An offer that the interface refuses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unsent {
    pub(crate) to: MacAddr,
    /// How often in a row.
    pub(crate) times: u32,
    /// When it was refused last.
    pub(crate) at: Instant,
}

/// A hand-over under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    pub(crate) to: MacAddr,
    pub(crate) token: Token,
    /// How many TAKE_TOKEN were accepted for sending.
    pub(crate) attempts: u32,
    /// When the first one was.
    pub(crate) since: Instant,
    /// The last one was just now, and by when it has left is not known yet.
    pub(crate) departs: bool,
}
