//! The rules, excuses, counters and outcome of a run.

use super::settings::FaultKind;
use crate::kernel::stats::{self, counters};
use crate::kernel::violation::{self, texts};

texts! {
    /// A rule. Each id, such as A5, is the id of a rule in `docs/board/protocol/`.
    #[non_exhaustive]
    Rule {
        Order "always: sequence numbers, ordered by post id, decrease, or two nodes use the same number",
        Acknowledged "always: the answer to a post is wrong",
        Cycle "always: the members do not form a cycle",
        Proof "A5: a node that is cut off claims from a live coordinator",
        Beat "A1: a node claims from a coordinator whose beat moves",
        Written "D11: a node considers a database as up that refuses the node's writes",
        Use "T13: a node uses a token that it does not hold",
        Sequence "T5: a node takes a token that is not newer than its last one",
        Answered "P2: a request does not get one answer in time, with a reason",
        Answers "M6: datagrams get too many answers",
        Memory "M6: memory exceeds its limit",
        Panic "M6: a node crashes",
        Storm "M6: the datagrams never end",
        Valid "an invalid datagram is sent",
        Forgery "a node that requires signatures gets a datagram or data that no node sent, or gets them twice",
        Ring "in the end: there is not one ring of all live nodes in time",
        Token "in the end: there is not exactly one token in time",
        Led "in the end: the largest live node is not coordinator in time",
        Calm "in the end: the ring is changed, or a token made, without a fault",
        Round "in the end: a member does not hold the token within a rotation",
        Served "in the end: a post is not acknowledged in time",
        GoesOn "in the end: the token does not move again in time after a crash",
    }
}

texts! {
    /// An event that the document allows.
    Excuse {
        /// A client does not learn whether its post was written.
        Unknown "answered unknown",
        /// A node died before it answered a client's request.
        Died "node died before its answer",
        /// Two nodes held a token at the same time, during faults.
        TwoTokens "two tokens at a time",
        /// The crashed node had the token.
        LostToken "token lost in a crash",
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
        /// Transactions by their outcome.
        jobs_done,
        jobs_refused,
        jobs_failed,
        /// Requests by their answer.
        answers_done,
        answers_token,
        answers_database,
        answers_unknown,
        answers_crowded,
        tokens_held,
        /// Tokens that came back without an acknowledgement.
        tokens_returned,
        tokens_made,
        tokens_lost,
        claims,
        /// Nodes that others removed.
        removals,
        /// Nodes that were inserted.
        joined,
        elections_started,
        elections_won,
        /// Posts in the table.
        posts,
    }
    most {}
    longest {
        /// The time from the end of the faults until one stable ring existed.
        ring_after,
        /// The time from the end of the faults until one stable token existed.
        token_after,
        /// The time until the largest node was the elected coordinator, not only the acting coordinator.
        led_after,
        /// The time from the crash of a node without the token until each other node has had the token once.
        went_on_after,
    }
}
