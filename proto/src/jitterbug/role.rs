//! The three states, with what ends with each.

use super::State;
use super::restore::Restore;
use super::turn::Turn;
use crate::time::Instant;

/// What a node is.
#[derive(Debug)]
pub(super) enum Role {
    /// It has no ring; without a restore it has no address either.
    Orphan(Option<Restore>),
    /// It waits for the token.
    Waiter(Waiter),
    /// It holds the token.
    Leader(Turn),
}

/// A waiter.
#[derive(Debug)]
pub(super) struct Waiter {
    /// When it becomes an orphan; nothing moves that.
    pub(super) renew_at: Instant,
    /// Whoever wins may not know of it: it answers the first announcement that it hears.
    pub(super) owes: bool,
}

impl Role {
    pub(super) const fn state(&self) -> State {
        match self {
            Self::Orphan(_) => State::Orphan,
            Self::Waiter(_) => State::Waiter,
            Self::Leader(_) => State::Leader,
        }
    }

    pub(super) const fn restore_mut(&mut self) -> Option<&mut Restore> {
        match self {
            Self::Orphan(Some(restore)) => Some(restore),
            _ => None,
        }
    }

    pub(super) const fn turn(&self) -> Option<&Turn> {
        match self {
            Self::Leader(turn) => Some(turn),
            _ => None,
        }
    }

    pub(super) const fn turn_mut(&mut self) -> Option<&mut Turn> {
        match self {
            Self::Leader(turn) => Some(turn),
            _ => None,
        }
    }
}
