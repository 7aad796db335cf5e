//! The three states, with what ends with each.

mod pass;
mod restore;
mod round;
mod turn;

use crate::jitterbug::State;
use crate::time::Instant;

pub(crate) use pass::{End, Offered, Pass};
pub(crate) use restore::{Due, Restore};
pub(crate) use round::Round;
pub(crate) use turn::{Given, Step, Turn};

/// What a node is.
#[derive(Debug)]
pub(crate) enum Role {
    /// It has no ring; without a restore it has no address either.
    Orphan(Option<Restore>),
    /// It waits for the token.
    Waiter(Waiter),
    /// It holds the token.
    Leader(Turn),
}

/// A waiter.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// When it becomes an orphan; nothing moves that.
    renew_at: Instant,
    /// Whoever wins may not know of it: it answers the first announcement that it hears.
    owes: bool,
}

impl Waiter {
    pub(crate) const fn new(renew_at: Instant, owes: bool) -> Self {
        Self { renew_at, owes }
    }

    pub(crate) const fn renew_at(&self) -> Instant {
        self.renew_at
    }

    /// Whether it owes an answer; it does not any more.
    pub(crate) const fn pay(&mut self) -> bool {
        std::mem::replace(&mut self.owes, false)
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

    pub(crate) const fn turn_mut(&mut self) -> Option<&mut Turn> {
        match self {
            Self::Leader(turn) => Some(turn),
            _ => None,
        }
    }

    pub(crate) const fn round_mut(&mut self) -> Option<&mut Round> {
        match self {
            Self::Leader(turn) => turn.round_mut(),
            _ => None,
        }
    }

    /// The pass that goes on.
    pub(crate) fn pass(&self) -> Option<&Pass> {
        self.turn()?.pass()
    }

    pub(crate) fn pass_mut(&mut self) -> Option<&mut Pass> {
        self.round_mut()?.pass_mut()
    }

    /// Ends the pass that goes on.
    pub(crate) fn take_pass(&mut self) -> Option<Box<Pass>> {
        self.round_mut()?.take_pass()
    }
}
