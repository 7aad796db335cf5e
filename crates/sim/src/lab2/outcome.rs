//! What a run has come to.

use std::convert::Infallible;

use super::settings::FaultKind;
use crate::kernel::stats::{self, counters};
use crate::kernel::violation::{self, texts};

texts! {
    /// What must hold, by its number in `docs/protocol.md`, section 5, where it has one.
    #[non_exhaustive]
    Rule {
        EqualTokens "invariant 1: two nodes hold equal tokens",
        OneOwner "invariant 2: there is not exactly one owner in time",
        Served "invariant 3: a member that wants the token is not served in time",
        Replaced "invariant 4: a dead owner is not replaced in time",
        Broadcasts "invariant 4: replacing an owner costs too many broadcasts",
        EqualTables "invariant 5: the tables do not become equal",
        Identity "invariant 6: the identity of a tenure is used twice",
        Growth "invariant 6: a node's tenures go back",
        Fencing "invariant 6: a resource accepts tokens that go back",
        Replies "invariant 7: a frame is answered with more than two",
        Table "invariant 7: a member table is out of order or too large",
        Panic "invariant 7: a node crashes",
        Storm "invariant 7: there is no end to the frames",
        Quorum "two nodes have a quorum at the same time",
        Kept "a node that has a quorum loses its token to another",
        Lease "two applications rely on a token at the same time",
        Once "a job is run twice in its period",
        Clock "a wrong clock takes the token too far",
        Trouble "a trouble is told of that is over",
        Stored "a token is told of that is not stored",
        Valid "a frame that is not valid is sent",
    }
}

/// Something that must not happen, and did.
pub type Violation = violation::Violation<Rule>;

/// What a run has come to.
pub type Outcome = violation::Outcome<Rule, Stats>;

/// Counts of what happened in a run; nothing is excused for a reason.
pub type Stats = stats::Stats<FaultKind, Infallible, Counters>;

counters! {
    sums {
        /// How often a node was elected.
        elections,
        /// Tenures that began, whoever's.
        tenures,
        /// Tenures that had a quorum.
        quorums,
        failed_hand_overs,
        /// How often a node said that a member is silent.
        silent,
        /// How often a node said that a member is forgotten.
        forgotten,
        /// OWNERs that gave up because they could send no heartbeat.
        expired_leases,
        /// Work that was begun with a token.
        jobs,
        /// Jobs that were begun, to run once in a period.
        runs,
        /// Work that a fenced resource refused: the token was outdated.
        fenced,
        /// Invariants that a fault voids by nature, and that were broken so.
        exempted,
    }
    most {
        /// The most tenures that a member that wanted the token had to wait after the faults.
        tenures_waited,
    }
    longest {
        /// When the last fault ended, from the beginning.
        calm_at,
        /// From the end of the faults until one owner was left for good.
        one_owner_after,
        /// From the end of the faults until all tables were equal.
        tables_equal_after,
        /// From the death of the owner to the next.
        replaced_after,
    }
}
