//! The machine's timers.

use crate::lab2::State;
use crate::timers::TimerKind;

/// When to do what. Those that are due together fire in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timer {
    /// When an OWNER that could send no heartbeat must assume that it was replaced.
    Lease,
    /// When the members' promises to an OWNER end.
    Grade,
    /// When to tell the previous holder that its TAKE_TOKEN was accepted.
    Acknowledge,
    /// When an OWNER without work is to pass the token on: before a heartbeat, which would be overtaken,
    /// and is the successor's then.
    Pass,
    /// When an OWNER is to broadcast TOKEN_IS_HERE.
    Heartbeat,
    /// When to repeat TAKE_TOKEN, or to give the member up: after a heartbeat, which it would overtake.
    Take,
    /// When a WAITER loses its patience.
    Waiter,
    /// When a LOOSER or a candidate has waited long enough for an answer.
    Answer,
    /// When a LOOSER is to ask again.
    Ask,
    /// When to repeat WANT_TOKEN.
    Want,
    /// When a node from which nobody takes the token is to see whether frames to one alone arrive.
    Probe,
    /// When to remove members that are silent for long, and to tell all.
    Members,
    /// When a WAITER of a large ring is to ask for what its table lacks.
    Compare,
    /// When to try again to store what could not be, and to tell the others.
    Store,
    /// When to ask again who knows of which runs.
    Stamps,
}

impl Timer {
    /// Whether it runs on when a state is entered. All others are stopped then, for they belong to the state
    /// that is left, or are set anew.
    pub(crate) const fn outlives_entry(self, entered: State) -> bool {
        match self {
            // What is wanted goes on being wanted, by whoever does not have it.
            Self::Want => !matches!(entered, State::Owner),
            // The token may go on, and come back, before the previous holder is told.
            Self::Acknowledge | Self::Stamps => matches!(entered, State::Owner | State::Waiter),
            Self::Store | Self::Probe | Self::Members => true,
            Self::Lease
            | Self::Grade
            | Self::Pass
            | Self::Heartbeat
            | Self::Take
            | Self::Waiter
            | Self::Answer
            | Self::Ask
            | Self::Compare => false,
        }
    }
}

/// How many timers there are.
pub(crate) const COUNT: usize = 15;

impl TimerKind for Timer {
    const ALL: &'static [Self] = &[
        Self::Lease,
        Self::Grade,
        Self::Acknowledge,
        Self::Pass,
        Self::Heartbeat,
        Self::Take,
        Self::Waiter,
        Self::Answer,
        Self::Ask,
        Self::Want,
        Self::Probe,
        Self::Members,
        Self::Compare,
        Self::Store,
        Self::Stamps,
    ];

    fn index(self) -> usize {
        self as usize
    }
}
