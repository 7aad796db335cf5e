//! The rules, excuses, counters and outcome of a run.

use super::settings::FaultKind;
use crate::kernel::stats::{self, counters};
use crate::kernel::violation::{self, texts};

texts! {
    /// A rule. An id such as Q2 names the rule with this id in `docs/token-service/protocol/`. X stands for the losses
    /// X1 to X10.
    #[non_exhaustive]
    Rule {
        Sessions "Q1: a session that was ended has power over a token",
        Exclusion "Q2: two live clients hold one token without sharing it",
        Fencing "Q4: fencing numbers do not grow",
        Stale "Q5: a server serves what it knew before it was DOWN",
        Authority "F1: two leaders have authority at the same time",
        Backwards "S25: a client goes back to an earlier configuration",
        Stranger "Q6: a stranger gets more than it may",
        Panic "Q6: a program crashes",
        Memory "Q6: memory exceeds its limit",
        Update "X: an acknowledged update is lost without a reason",
        OneLeader "Q7: there is not exactly one leader in time",
        Served "Q7: tokens are not served in time",
        Granted "Q8: a request at the head is not granted in time",
        Storm "Q6: the datagrams never end",
        Valid "an invalid datagram is sent",
        Names "TR24: the attacker holds a token that its key does not permit",
        Forgery "a node that requires signatures gets a datagram that no node sent, or gets a datagram twice",
    }
}

texts! {
    /// A reason for which the document allows a broken promise.
    Excuse {
        /// Q = 1, and two servers led when one of the grants was requested (Q3).
        TwoLeaders "two leaders",
        /// At least half of the servers lost their memory within CT (an assumption of the promises).
        MemoryLost "memory of a majority lost",
        /// A state file was lost (an assumption of the promises).
        StateFileLost "state file lost",
        /// The server of the token lost its memory, or was marked DOWN (X1).
        ServerLost "update lost with its server",
        /// A server dropped the token to save memory (X4).
        Dropped "update dropped to save memory",
        /// Q = 1, and a leader that started without any knowledge never met the previous leader
        /// (`docs/appendix/decisions/token-service/094-leader-that-never-met-another.md`).
        Unmet "leader that never met the leader before it",
        /// A server led before it knew all servers, so its quorum was smaller than the quorum of the other servers.
        Unaware "leader with a smaller quorum that has heard no other server",
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
        /// Sessions that became live.
        sessions,
        /// Sessions that were lost.
        lost,
        /// Grants to clients.
        grants,
        /// Grants to the attacker, which has the key of a client.
        attacker_grants,
        /// Confirmed updates.
        updates,
        /// Changes of leadership to a leader that knew the sessions of its predecessor.
        warm,
        /// Changes of leadership to a leader that did not know the sessions of its predecessor.
        cold,
        /// Surveys that ended.
        surveys,
        /// Resets of servers.
        resets,
        /// Tokens whose claims contradict each other.
        conflicts,
    }
    most {}
    longest {
        /// The time from the end of the faults until one server led and all were READY.
        ready_after,
        /// The time from the crash of the leader to the next leader.
        replaced_after,
        /// The time from the crash of the leader until all its tokens were granted again.
        served_after,
    }
}
