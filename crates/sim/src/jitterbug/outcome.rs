//! What a run has come to.

use super::settings::FaultKind;
use crate::kernel::stats::{self, counters};
use crate::kernel::violation::{self, texts};

texts! {
    /// What must hold, by its number in section 11 of `docs/jitterbug.md`, where it has one.
    #[non_exhaustive]
    Rule {
        Chain "always 1: a token id has two holders",
        Data "always 2: a node's data goes back",
        Lists "always 3: an entry leaves a list",
        Torn "always 3: a token arrives with part of its data",
        OneLeader "always 4: two leaders use a token on a segment without faults",
        Lease "always 6: a token is used while the lease of a node that does not run lasts",
        Company "always 7: a leader with members gives way to one that was alone",
        Terms "section 1: a node lives by a lease that no node of its ring has",
        Stall "section 5: a leader that stood still does not notice",
        Answers "always 5: a datagram is answered with more than one",
        Memory "always 5: memory is not bounded",
        Panic "always 5: a program crashes",
        Storm "always 5: there is no end to the datagrams",
        Valid "a datagram that is not valid is sent",
        Settled "eventually: there is not exactly one token in time after the faults",
        Replaced "eventually 1: a dead leader is not replaced in time",
        Merged "eventually 2: there is not exactly one token in time after a cut",
        EqualLists "eventually 2: lists are not equal in time",
        Leads "eventually 3: a node does not lead again in time",
    }
}

texts! {
    /// Why something is excused that the page says may happen.
    Excuse {
        /// Two leaders, after loss, a cut or a stall of the network.
        Network "two leaders for the network's faults",
        /// Two restores drew one id.
        EqualIds "id drawn twice",
        /// A stranger gave a token with this id.
        Forged "id forged",
        /// A decision was not made: the received data continues.
        Undecided "data went back without a decision",
        /// A list had no room for a node.
        Full "list full",
        /// Ids began again at the bottom, since a stranger forged one near the top.
        Wrapped "ids began again",
        /// A live node was skipped for its penalties when the cut healed.
        Skipped "node skipped for its penalties",
        /// A node that never answered was taken out of a list.
        Forgotten "node forgotten that never answered",
        /// A pass that the cut had held up ended unknown: the stronger token may be lost, and the weaker one was absorbed.
        Lost "token lost at the end of a cut",
    }
}

/// Something that must not happen, and did.
pub type Violation = violation::Violation<Rule>;

/// What a run has come to.
pub type Outcome = violation::Outcome<Rule, Stats>;

/// Counts of what happened in a run.
pub type Stats = stats::Stats<FaultKind, Excuse, Counters>;

counters! {
    sums {
        /// Restores that were won.
        restores,
        tokens_taken,
        tokens_merged,
        tokens_absorbed,
        passes_done,
        passes_failed,
        passes_unknown,
        passes_aborted,
        /// Stalls that cost a leadership or a restore.
        stalls,
        /// Computations and decisions that programs have done.
        programs_done,
        /// Computations and decisions that programs have failed to do.
        programs_failed,
    }
    most {}
    longest {
        /// From the end of the faults until one token was left for good.
        settled_after,
        /// From the death of a leader to the next one.
        replaced_after,
        /// From the end of a cut until one token was left for good.
        merged_after,
        /// From then until all lists were equal.
        equal_after,
        /// Until every node had led.
        led_after,
    }
}
