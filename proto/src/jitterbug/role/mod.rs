//! The three states. Each state holds the data that the node drops at the end of the state. Start with `turn.rs` for a
//! leader.

mod candidate_round;
mod pass;
mod restore;
mod turn;

use crate::jitterbug::State;
use crate::time::Instant;

pub(crate) use candidate_round::CandidateRound;
pub(crate) use pass::{OfferedToken, Pass, PassEnd};
pub(crate) use restore::{Restore, RestoreAction};
pub(crate) use turn::{Turn, TurnInput, TurnStep};

#[derive(Debug)]
pub(crate) enum Role {
    /// The node is in no ring. A node without an address runs no restore.
    Orphan(Option<Restore>),
    /// The node waits for the token.
    Waiter(Waiter),
    /// The node holds the token.
    Leader(Turn),
}

#[derive(Debug)]
pub(crate) struct Waiter {
    /// The time at which the node becomes an orphan. No event changes this time.
    renew_at: Instant,
    /// Whether this node must send a TR1 to the new leader, because the new leader perhaps does not know this node.
    /// Such a node answers the first announcement that it hears with the TR1.
    owes_tr1: bool,
}

impl Waiter {
    pub(crate) const fn new(renew_at: Instant, owes_tr1: bool) -> Self {
        Self { renew_at, owes_tr1 }
    }

    pub(crate) const fn renew_at(&self) -> Instant {
        self.renew_at
    }

    /// Whether the waiter still has to send a TR1 to the new leader. Returns `true` only once.
    pub(crate) const fn take_debt(&mut self) -> bool {
        std::mem::replace(&mut self.owes_tr1, false)
    }
}

impl Role {
    pub(crate) const fn state(&self) -> State {
        match self {
            Self::Orphan(_) => State::Orphan,
            Self::Waiter(_) => State::Waiter,
            Self::Leader(_) => State::Leader,
        }
    }

    pub(crate) const fn restore(&self) -> Option<&Restore> {
        match self {
            Self::Orphan(Some(restore)) => Some(restore),
            _ => None,
        }
    }

    pub(crate) const fn restore_mut(&mut self) -> Option<&mut Restore> {
        match self {
            Self::Orphan(Some(restore)) => Some(restore),
            _ => None,
        }
    }

    pub(crate) const fn turn(&self) -> Option<&Turn> {
        match self {
            Self::Leader(turn) => Some(turn),
            _ => None,
        }
    }

    pub(crate) const fn round(&self) -> Option<&CandidateRound> {
        match self {
            Self::Leader(turn) => turn.round(),
            _ => None,
        }
    }

    pub(crate) const fn turn_mut(&mut self) -> Option<&mut Turn> {
        match self {
            Self::Leader(turn) => Some(turn),
            _ => None,
        }
    }

    pub(crate) const fn round_mut(&mut self) -> Option<&mut CandidateRound> {
        match self {
            Self::Leader(turn) => turn.round_mut(),
            _ => None,
        }
    }

    pub(crate) fn pass(&self) -> Option<&Pass> {
        self.turn()?.pass()
    }

    pub(crate) fn pass_mut(&mut self) -> Option<&mut Pass> {
        self.round_mut()?.pass_mut()
    }

    /// Removes and returns the running pass.
    pub(crate) fn take_pass(&mut self) -> Option<Box<Pass>> {
        self.round_mut()?.take_pass()
    }
}
