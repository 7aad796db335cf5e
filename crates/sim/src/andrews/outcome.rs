//! What a run has come to.

use super::settings::FaultKind;
use crate::kernel::stats::{self, counters};
use crate::kernel::violation::{self, texts};

texts! {
    /// What must hold, by its place in section 12 of `docs/board.md`.
    #[non_exhaustive]
    Rule {
        Order "always: sequences of posts decrease, or two nodes have used one",
        Acknowledged "always: what is answered of a post is not so",
        Cycle "always: the members are no cycle",
        Proof "section 6: a node that is cut off claims from a coordinator that lives",
        Beat "section 6: a node claims from a coordinator whose beat moves",
        Written "section 7: a database that refuses what a node writes is up to it",
        Use "section 9: a node uses a token that it does not hold",
        Sequence "section 9: a node takes a token that is no newer than it had",
        Answered "section 10: a request has not one answer, with a reason, in time",
        Answers "section 11: datagrams are answered with more than there should be",
        Memory "section 11: memory is not bounded",
        Panic "section 11: a node crashes",
        Storm "section 11: there is no end to the datagrams",
        Valid "a datagram that is not valid is sent",
        Ring "in the end: there is not one ring of all live nodes in time",
        Token "in the end: there is not exactly one token in time",
        Led "in the end: the largest live node is not coordinator in time",
        Calm "in the end: the ring is changed, or a token made, though nothing goes wrong",
        Round "in the end: a member does not hold the token in a round",
        Served "in the end: a post is not acknowledged in time",
        GoesOn "in the end: the token does not go on in time after a crash",
    }
}

texts! {
    /// What the page says may happen.
    Excuse {
        /// A client does not know whether its post was written.
        Unknown "answered unknown",
        /// The node has died with a client's request.
        Died "node died before its answer",
        /// Two nodes held a token at a time, while things went wrong.
        TwoTokens "two tokens at a time",
        /// The token was with the node that has crashed.
        LostToken "token lost in a crash",
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
        /// Nodes that were put in.
        joined,
        elections_started,
        elections_won,
        /// Posts in the table.
        posts,
    }
    most {}
    longest {
        /// From the end of the faults until there was one ring for good.
        ring_after,
        /// Until there was one token for good.
        token_after,
        /// Until the largest was coordinator, not acting.
        led_after,
        /// From the crash of a node that has not the token until all others had it.
        went_on_after,
    }
}
