//! The timers of the state machine.

use crate::lab2::State;
use crate::timers::TimerKind;

/// The timers. If several timers are due at the same time, they fire in the order of this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Timer {
    /// End of the lease. Time at which other members may replace an OWNER that could send no heartbeat during its
    /// lease.
    Lease,
    /// Time at which the members' promises to an OWNER end.
    Grade,
    /// Time to acknowledge a TAKE_TOKEN to the previous holder.
    Acknowledge,
    /// Time to hand the token over. This timer fires before `Heartbeat`, because after a handover the successor sends
    /// the heartbeat.
    Handover,
    /// Time to broadcast TOKEN_IS_HERE.
    Heartbeat,
    /// Time at which the node repeats TAKE_TOKEN, or counts the handover as failed. This timer fires after `Heartbeat`,
    /// because a heartbeat after the offer would be outdated.
    Take,
    /// End of WAITER_TIMEOUT.
    Waiter,
    /// End of LOOSER_ANSWER_TIMEOUT, for a LOOSER or a candidate.
    Answer,
    /// Time at which a LOOSER asks again.
    Ask,
    /// Time to repeat WANT_TOKEN.
    Want,
    /// Time for an unfit node to check whether unicast frames arrive.
    Probe,
    /// Time to remove silent members, and to announce removals and small MTUs.
    Members,
    /// Time for a WAITER of a large ring to ask for the members that are missing in its table.
    Compare,
    /// Time at which the node retries a failed write and announces whether it may own the token.
    Store,
    /// Time at which the jobs of `once` ask or announce again.
    Stamps,
    /// Time at which the named locks next have something to do.
    Locks,
    /// Time at which a survey next has something to do.
    Survey,
}

impl Timer {
    /// Whether the timer keeps running when the node enters this state. The other timers belong to the previous state,
    /// or are set again.
    pub(crate) const fn outlives_entry(self, entered: State) -> bool {
        match self {
            // Work waits for the token in every state but OWNER.
            Self::Want => !matches!(entered, State::Owner),
            // The token may move on before the acknowledgement or an announcement of stamps has left.
            Self::Acknowledge | Self::Stamps => matches!(entered, State::Owner | State::Waiter),
            // These duties do not depend on the state.
            Self::Store | Self::Probe | Self::Members | Self::Locks | Self::Survey => true,
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

pub(crate) const COUNT: usize = 17;

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
        Self::Locks,
        Self::Survey,
    ];

    fn index(self) -> usize {
        self as usize
    }
}
