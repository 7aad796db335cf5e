//! The rules, the counters and the outcome of a run.

use std::convert::Infallible;

use super::settings::FaultKind;
use crate::kernel::stats::{self, counters};
use crate::kernel::violation::{self, texts};

texts! {
    /// A rule, and its number among the promises in `docs/reference/lab2/promises.md`, if the rule is a promise.
    #[non_exhaustive]
    Rule {
        EqualTokens "invariant 1: two nodes hold equal tokens",
        OneOwner "invariant 2: there is not exactly one owner in time",
        Served "invariant 3: a member that requests the token does not get it in time",
        Replaced "invariant 4: a dead owner is not replaced in time",
        Broadcasts "invariant 4: replacing an owner costs too many broadcasts",
        EqualTables "invariant 5: the tables do not become equal",
        Identity "invariant 6: the identity of a tenure is used twice",
        Growth "invariant 6: a node's tenures go back",
        Fencing "invariant 6: a resource accepts tokens that go back",
        Replies "invariant 7: a frame gets more than two answers",
        Table "invariant 7: a member table is out of order or too large",
        Panic "invariant 7: a node crashes",
        Storm "invariant 7: there is no end to the frames",
        Quorum "two nodes have a quorum at the same time",
        Rested "the idle token does not rest with the highest preference",
        Kept "a node that has a quorum loses its token to another",
        Lease "two applications rely on a token at the same time",
        Once "a job is run twice in its period",
        TwoHolders "two programs have a lock of the same name at the same time",
        LockStored "a program gets a named lock before a majority has stored it",
        LockRemoved "an owner removes a named lock on which a program relies",
        LockOrder "a program gets a named lock before a program with a smaller ticket",
        LockFence "the fencing token of a named lock does not grow",
        LockServed "a program does not get a named lock in time",
        LockTables "the tables of named locks do not become empty and equal",
        LockFrames "a ring without named locks sends frames about them",
        SurveyEnds "a survey does not end by its deadline",
        Clock "a wrong clock moves the token too far",
        Trouble "a node reports a trouble that is over",
        Stored "a node reports a token that it has not stored",
        Valid "a frame that is not valid is sent",
        Forgery "a node that requires signatures gets a frame that no node sent, or gets a frame twice",
    }
}

/// A broken rule.
pub type Violation = violation::Violation<Rule>;

/// The outcome of a run.
pub type Outcome = violation::Outcome<Rule, Stats>;

/// The counters of a run. Lab2 counts exemptions, but does not record their reasons.
pub type Stats = stats::Stats<FaultKind, Infallible, Counters>;

counters! {
    sums {
        /// Elections that a node won.
        elections,
        /// Tenures of all nodes.
        tenures,
        /// Tenures with a quorum.
        quorums,
        failed_hand_overs,
        /// Reports that a member is silent.
        silent,
        /// Reports that a member is forgotten.
        forgotten,
        /// OWNERs that gave up the token because they could send no heartbeat.
        expired_leases,
        /// Pieces of work under a token.
        jobs,
        /// Runs of jobs under `ringctl once`.
        runs,
        /// Named locks that programs got.
        locks,
        /// Pieces of work that the fenced resource refused because the token was outdated.
        fenced,
        /// The number of broken rules that a fault excused.
        exempted,
    }
    most {
        /// The maximum number of tenures that a member had to wait for the token after the faults.
        tenures_waited,
    }
    longest {
        /// The time of the end of the faults.
        calm_at,
        /// The time from the end of the faults until only one owner was left.
        one_owner_after,
        /// The time from the end of the faults until all tables were equal.
        tables_equal_after,
        /// The time from the death of the owner to the next owner.
        replaced_after,
    }
}
