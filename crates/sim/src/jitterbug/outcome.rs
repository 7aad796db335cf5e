//! The rules, excuses, counters and outcome of a run.

use super::settings::FaultKind;
use crate::kernel::stats::{self, counters};
use crate::kernel::violation::{self, texts};

texts! {
    /// A rule. An id such as Q4 names the rule with this id in `docs/jitterbug/protocol/`.
    #[non_exhaustive]
    Rule {
        Chain "Q1: a token id has two holders",
        Data "Q2: a node's data goes back",
        Lists "Q3: an entry leaves a list",
        Torn "Q3: a token arrives with part of its data",
        OneLeader "Q4: two leaders use a token on a segment without faults",
        Lease "Q6: a token is used while the lease of a node that does not run lasts",
        Company "Q7: a leader with members gives way to one that was always alone",
        Terms "T6, F2: a node uses a lease that no node of its ring has",
        Stall "S1: a leader does not notice that it was stalled",
        Answers "Q5: a datagram gets more than one answer",
        Memory "Q5: memory exceeds its limit",
        Panic "Q5: a program crashes",
        Storm "Q5: the datagrams never end",
        Valid "an invalid datagram is sent",
        Forgery "a node that requires signatures gets a datagram or data that no node sent, or gets them twice",
        Settled "eventually: there is not exactly one token in time after the faults",
        Replaced "Q8: a dead leader is not replaced in time",
        Merged "Q9: there is not exactly one token in time after a split",
        EqualLists "Q9: lists are not equal in time",
        Leads "Q10: a node does not lead again in time",
    }
}

texts! {
    /// A reason for which the document allows a broken promise.
    Excuse {
        /// Two leaders after loss, a split or a stall of the network.
        Network "two leaders because of the network's faults",
        /// Two restores drew the same random id.
        EqualIds "id drawn twice",
        /// A stranger gave a token with this id.
        Forged "id forged",
        /// A decision failed, so the node continues with the received data.
        Undecided "data went back without a decision",
        /// A full list had no space for a node.
        Full "list full",
        /// Ids began again at 1, because a stranger forged an id near the maximum.
        Wrapped "ids began again",
        /// After the end of a split, a live node was skipped because it had penalties.
        Skipped "node skipped for its penalties",
        /// A node that never answered was removed from a list.
        Forgotten "node forgotten that never answered",
        /// The split held up a pass, and the outcome of this pass is unknown. The stronger token may be lost after the
        /// merge with the weaker token.
        Lost "token lost at the end of a split",
    }
}

/// A broken rule.
pub type Violation = violation::Violation<Rule>;

/// The outcome of a run.
pub type Outcome = violation::Outcome<Rule, Stats>;

/// The counters of a run.
pub type Stats = stats::Stats<FaultKind, Excuse, Counters>;

counters! {
    sums {
        /// Won restores.
        restores,
        tokens_taken,
        tokens_merged,
        tokens_absorbed,
        passes_done,
        passes_failed,
        passes_unknown,
        passes_aborted,
        /// Stalls that ended a leadership or a restore.
        stalls,
        /// The number of successful computations and decisions.
        programs_done,
        /// The number of failed computations and decisions.
        programs_failed,
    }
    most {}
    longest {
        /// The time from the end of the faults until only one token was left.
        settled_after,
        /// The time from the death of a leader to the next leader.
        replaced_after,
        /// The time from the end of a split until only one token was left.
        merged_after,
        /// The time from the moment when only one token was left until all lists were equal.
        equal_after,
        /// The time until every node had led.
        led_after,
    }
}
