//! The key and the text of every reason. If a new reason has no key and no text here, the code does not compile.

use ring_proto::lab2::{DropReason, Reason};

macro_rules! texts {
    ($(#[$doc:meta])* $table:ident, $text:ident, $reason:ident {
        $($variant:ident => $key:literal, $words:literal;)*
    }) => {
        $(#[$doc])*
        pub const $table: &[$reason] = &[$($reason::$variant),*];

        /// Returns the counter's key and the log's text of a reason.
        #[must_use]
        pub const fn $text(reason: $reason) -> (&'static str, &'static str) {
            match reason {
                $($reason::$variant => ($key, $words),)*
            }
        }
    };
}

texts! {
    /// All reasons for a change of state.
    REASONS, reason, Reason {
        TokenTaken => "token_taken", "took the token";
        TokenHandedOver => "token_handed_over", "handed the token over";
        TokenHeard => "token_heard", "heard of the token";
        StrongerToken => "stronger_token", "met a stronger token and destroyed its own";
        BetterBackedOwner => "outranked", "gave way to an owner that members confirm";
        WaiterTimeout => "waiter_timeout", "heard nothing of the token for WAITER_TIMEOUT";
        NoAnswer => "no_answer", "no member knows a token: this node stands for election";
        WeakerCandidate => "weaker_candidate", "stands for election against a weaker candidate";
        StrongerCandidate => "stronger_candidate", "gave way to a stronger candidate";
        TokenWasHere => "token_was_here", "another member knows a token: this node waits for it";
        Elected => "elected", "elected, generated a new token";
        LeaseExpired => "lease_expired",
            "sent no heartbeat for WAITER_TIMEOUT, destroyed its token";
        LinkLost => "link_lost", "lost the interface";
        Paused => "paused", "was paused, gave up the election";
        NotStored => "not_stored", "cannot store its state, lost the token";
        NoTaker => "nobody_takes", "gave the token up, because no member takes it from this node";
        Apart => "apart", "its times differ too much from the ring's, gave up the token";
    }
}

texts! {
    /// All reasons for dropping a received frame.
    DROP_REASONS, drop_reason, DropReason {
        Truncated => "truncated", "shorter than its kind needs";
        UnknownKind => "unknown_kind", "of unknown kind";
        Reserved => "reserved", "its reserved byte is not 0";
        ProgressTooLarge => "progress_too_large", "its progress is 2^63 or more";
        AuthorNotAStation => "author_not_a_station", "its author is a group address or all zero";
        AuthorNotSource => "author_not_source", "its author is not its Ethernet source";
        DataTooLong => "data_too_long", "its data is longer than 1,024 bytes";
        TooManyMembers => "too_many_members", "it holds more than 66 members";
        MemberNotAStation => "member_not_a_station", "it lists a group address or all zero as a member";
        OwnFrame => "own_frame", "its source is this node's MAC";
        NotAStamp => "not_a_stamp", "one of its stamps or its purpose is invalid";
        NotALock => "not_a_lock", "one of its lock records or its purpose is invalid";
        NotASurvey => "not_a_survey", "one of its values about a survey is invalid";
        NotForUs => "not_for_us", "addressed to another node";
        BroadcastTakeToken => "broadcast_take_token", "a broadcast TAKE_TOKEN";
        StaleOffer => "stale_offer", "an offer older than TAKE_TIMEOUT";
        NotListening => "not_listening", "the interface is down, or ringd is shutting down";
        AuthorDeaf => "author_deaf", "its author hears no member";
    }
}

#[cfg(test)]
mod tests {
    use super::{DROP_REASONS, REASONS, drop_reason, reason};
    use std::collections::BTreeSet;

    #[test]
    fn keys_are_unique_and_fit_for_json() {
        let mut keys: Vec<_> = REASONS.iter().map(|&r| reason(r).0).collect();
        let drops: Vec<_> = DROP_REASONS.iter().map(|&r| drop_reason(r).0).collect();
        for list in [&keys, &drops] {
            assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), list.len());
        }
        keys.extend(drops);
        for key in keys {
            assert!(
                key.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
                "{key}"
            );
        }
    }

    #[test]
    fn the_tables_have_the_order_of_the_enums() {
        assert!(REASONS.iter().enumerate().all(|(at, &r)| r as usize == at));
        assert!(
            DROP_REASONS
                .iter()
                .enumerate()
                .all(|(at, &r)| r as usize == at)
        );
    }
}
