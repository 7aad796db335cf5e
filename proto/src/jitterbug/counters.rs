//! What is counted (`docs/jitterbug.md`, section 11).

use super::Reason;
use crate::counted::counters;

counters! {
    /// Numbers since the start of a node.
    pub struct Counters;
    arrays {
        dropped: Reason::ALL.len(),
    }

    /// TR1 given to the link: restores, announcements and debts.
    tr1_sent,
    /// TR1 that were acted on.
    tr1_received,
    /// TR2 given to the link.
    tr2_sent,
    /// TR2 that were well-formed, whether or not a restore was going on.
    tr2_received,
    /// Restores begun.
    restores,
    /// Restores that made the node leader.
    restores_won,
    /// Tokens taken by a waiter or an orphan.
    taken,
    /// Tokens that came to a leader.
    merged,
    /// Tokens that came to a node that had given a stronger one away.
    absorbed,
    /// Passes whose candidate has the token.
    passes_done,
    /// Passes whose candidate cannot have it.
    passes_failed,
    /// Passes whose candidate may have it.
    passes_unknown,
    /// Passes that were broken off in favour of an inbound one, or because of a stall.
    passes_aborted,
    /// TR1 that said without being asked that the node leads.
    announcements,
    /// Stalls of the loop that cost a leadership or a restore.
    stalls,
    /// Computations begun.
    computes,
    /// Those that left the data as it was.
    compute_failures,
    /// Decisions asked for.
    decisions,
    /// Decisions that were not made, or not asked for since too many waited.
    decide_failures,
    /// Nodes that the lists had no room for.
    nodes_refused,
}

impl Counters {
    /// What was dropped for a reason.
    pub const fn dropped(&self, reason: Reason) -> u64 {
        self.dropped[reason as usize]
    }

    pub(super) const fn note_dropped(&mut self, reason: Reason) {
        self.dropped[reason as usize] += 1;
    }
}
