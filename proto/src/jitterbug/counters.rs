//! The counters of a node (`docs/jitterbug/status.md`, "Status").

use super::Reason;
use crate::counter_macros::counters;

counters! {
    /// Counts since the start of a node.
    pub struct Counters;
    arrays {
        dropped: Reason::ALL.len(),
    }

    /// TR1 that were handed to the link: TR1 of restores, announcements, questions and answers.
    tr1_sent,
    /// Well-formed TR1 of other nodes on the link.
    tr1_received,
    /// TR2 that were handed to the link.
    tr2_sent,
    /// Well-formed TR2 that arrived, with or without a running restore.
    tr2_received,
    /// Restores begun.
    restores,
    /// Restores that made the node leader.
    restores_won,
    /// Tokens that a waiter or an orphan took.
    taken,
    /// Tokens that a leader merged with its token.
    merged,
    /// Tokens that this node absorbed, because a stronger token exists.
    absorbed,
    /// Passes after which the candidate has the token.
    passes_done,
    /// Passes after which the candidate cannot have the token.
    passes_failed,
    /// Passes after which the candidate may have the token.
    passes_unknown,
    /// Passes that were aborted. The cause is a token from another node, a stall, a shutdown or a change of the
    /// network.
    passes_aborted,
    /// Announcements of this node as a leader.
    announcements,
    /// Stalls of the loop that ended a leadership or a restore.
    stalls,
    /// Computations that were started.
    computes,
    /// Computations that left the data unchanged.
    compute_failures,
    /// Decisions between different data, made by this node or by its program.
    decisions,
    /// Decisions that failed, or that were dropped because too many decisions waited.
    decide_failures,
    /// Nodes that were refused because the lists were full.
    nodes_refused,
}

impl Counters {
    /// Returns how many datagrams and exchanges were dropped for this reason.
    pub const fn drop_count(&self, reason: Reason) -> u64 {
        self.dropped[reason as usize]
    }

    pub(super) const fn note_dropped(&mut self, reason: Reason) {
        self.dropped[reason as usize] += 1;
    }
}
