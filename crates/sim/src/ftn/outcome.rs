//! What a run has come to.

use super::settings::FaultKind;
use crate::kernel::stats::{self, counters};
use crate::kernel::violation::{self, texts};

texts! {
    /// What must hold, by its number in section 7 of `docs/ftn.md`, where it has one.
    #[non_exhaustive]
    Rule {
        Sessions "promise 1: a session that was ended has power over a token",
        Exclusion "promise 2: two live clients hold one token and do not share it",
        Fencing "promise 4: fencing numbers do not grow",
        Stale "promise 5: a server serves what it knew before it was DOWN",
        Authority "section 4: two leaders have authority at the same time",
        Backwards "section 5: a client goes back to an earlier configuration",
        Stranger "promise 6: a stranger gets more than it may",
        Panic "promise 6: a program crashes",
        Memory "promise 6: memory is not bounded",
        Update "section 8: an acknowledged update is lost without a reason",
        OneLeader "promise 7: there is not exactly one leader in time",
        Served "promise 7: tokens are not served in time",
        Granted "promise 8: a request at the head is not granted in time",
        Storm "promise 6: there is no end to the datagrams",
        Valid "a datagram that is not valid is sent",
    }
}

texts! {
    /// Why something is excused that the page says may happen.
    Excuse {
        /// Q = 1, and two servers led while one of the grants was asked for (7.3).
        TwoLeaders "two leaders",
        /// Half of the servers or more lost their memory within CT (section 7, "Assumed").
        MemoryLost "memory of a majority lost",
        /// A state file was lost (section 7, "Assumed").
        StateFileLost "state file lost",
        /// The server of the token lost its memory, or was marked DOWN (section 8).
        ServerLost "update lost with its server",
        /// The token went for want of memory (section 8).
        Dropped "update dropped for want of memory",
        /// Q = 1, and a leader that knew nothing never met the one before it (`docs/ftn.md`).
        Unmet "leader that never met the one before",
        /// A server with a smaller quorum than the others led before it had heard of them.
        Unaware "leader with a smaller quorum that has heard no other",
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
        /// Sessions that became live.
        sessions,
        /// Sessions that were lost.
        lost,
        /// Grants that clients took.
        grants,
        /// Updates that were confirmed.
        updates,
        /// How often a server took the lead, knowing its predecessor's sessions.
        warm,
        /// How often a server took the lead without knowing them.
        cold,
        /// Surveys that ended.
        surveys,
        /// How often a server had to forget.
        resets,
        /// Tokens that were claimed in ways that exclude each other.
        conflicts,
    }
    most {}
    longest {
        /// From the end of the faults until one server led and all were READY.
        ready_after,
        /// From the crash of the leader to the next.
        replaced_after,
        /// From the crash of the leader until all its tokens were granted anew.
        served_after,
    }
}
