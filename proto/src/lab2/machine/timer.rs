//! The timers of the state machine.

use crate::lab2::State;
use crate::timers::TimerKind;

/// The timers. Those that are due together fire in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timer {
    /// End of the lease: an OWNER that could send no heartbeat may have been replaced.
    Lease,
    /// End of the members' promises to an OWNER.
    Grade,
    /// Time to acknowledge a TAKE_TOKEN to the previous holder.
    Acknowledge,
    /// Time to hand the token over. It fires before `Heartbeat`, which is then the successor's to send.
    Handover,
    /// Time to broadcast TOKEN_IS_HERE.
    Heartbeat,
    /// Time to repeat TAKE_TOKEN or to give the member up. It fires after `Heartbeat`, which the offer would overtake.
    Take,
    /// End of WAITER_TIMEOUT.
    Waiter,
    /// End of LOOSER_ANSWER_TIMEOUT, for a LOOSER or a candidate.
    Answer,
    /// Time for a LOOSER to ask again.
    Ask,
    /// Time to repeat WANT_TOKEN.
    Want,
    /// Time for an unfit node to check whether unicast frames arrive.
    Probe,
    /// Time to remove silent members, and to announce removals and small MTUs.
    Members,
    /// Time for a WAITER of a large ring to ask for the members that are missing in its table.
    Compare,
    /// Time to retry a failed write, and to announce whether this node may own the token.
    Store,
    /// Time for the jobs of `once` to ask or announce again.
    Stamps,
}

impl Timer {
    /// Whether the timer keeps running when this state is entered. Other timers belong to the state that is left, or
    /// are set again.
    pub(crate) const fn outlives_entry(self, entered: State) -> bool {
        match self {
            // Work goes on waiting in every state but OWNER.
            Self::Want => !matches!(entered, State::Owner),
            // The token may go on and come back before the previous holder is told.
            Self::Acknowledge | Self::Stamps => matches!(entered, State::Owner | State::Waiter),
            Self::Store | Self::Probe | Self::Members => true,
            Self::Lease
            | Self::Grade
            | Self::Handover
            | Self::Heartbeat
            | Self::Take
            | Self::Waiter
            | Self::Answer
            | Self::Ask
            | Self::Compare => false,
        }
    }
}

pub(crate) const COUNT: usize = 15;

impl TimerKind for Timer {
    const ALL: &'static [Self] = &[
        Self::Lease,
        Self::Grade,
        Self::Acknowledge,
        Self::Handover,
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
