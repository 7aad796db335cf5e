//! Each check finds its violation.

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Frame, Message, Token};
use ring_proto::lab2::StoredState;

use super::{CLOCK_PROGRESS_MAX, CLOCK_PROGRESS_MIN, Checks, ELECTION_STEP_MAX};
use crate::lab2::Rule;
use crate::lab2::node::EMPTY_STATE;
use crate::lab2::notation::mac;

fn token(progress: u64, author: usize, number: u32) -> Token {
    Token {
        progress,
        author: mac(author),
        number,
    }
}

/// Returns the rules that a sequence of tenures breaks.
fn tenures(tenures: &[(usize, Token)], elsewhere: Option<usize>) -> Vec<Rule> {
    let mut checks = Checks::default();
    let mut last = std::collections::BTreeMap::new();
    for (node, token) in tenures {
        let before = last.insert(*node, *token);
        checks.check_tenure(7, *node, token, before.as_ref(), || elsewhere);
    }
    checks
        .findings
        .violations
        .iter()
        .map(|broken| broken.rule)
        .collect()
}

#[test]
fn tenures_that_grow_break_nothing() {
    let grow = [
        (0, token(5, 0, 1)),
        (1, token(6, 0, 1)),
        (0, token(7, 0, 1)),
        (0, token(9, 0, 2)),
        (1, token(8, 0, 1)),
    ];
    assert_eq!(tenures(&grow, None), []);
}

#[test]
fn a_repeated_identity_is_found_even_after_other_chains() {
    let again = [
        (0, token(5, 0, 1)),
        (1, token(6, 1, 1)),
        (2, token(5, 0, 1)),
    ];
    assert_eq!(tenures(&again, None), [Rule::Identity]);
    assert_eq!(tenures(&again, Some(0)), [Rule::EqualTokens]);
    let back = [(0, token(5, 0, 1)), (1, token(4, 0, 1))];
    assert_eq!(tenures(&back, None), [Rule::Identity]);
}

#[test]
fn tenures_of_a_node_that_go_back_are_found() {
    let back = [(0, token(5, 0, 1)), (0, token(4, 1, 1))];
    assert_eq!(tenures(&back, None), [Rule::Growth]);
}

#[test]
fn exemptions_are_counted_and_not_reported() {
    let mut checks = Checks::default();
    checks.exemptions.on_address_shared(mac(0));
    let shared = token(5, 0, 1);
    checks.check_tenure(7, 1, &shared, None, || None);
    checks.check_tenure(7, 2, &shared, None, || Some(1));
    assert!(checks.use_resource(7, 1, &shared) && checks.use_resource(7, 2, &shared));
    assert_eq!((checks.findings.violations.len(), checks.exempted), (0, 2));
}

#[test]
fn a_resource_refuses_weaker_tokens_and_equal_ones_of_two_nodes_are_found() {
    let mut checks = Checks::default();
    assert!(checks.use_resource(1, 0, &token(5, 0, 1)));
    assert!(!checks.use_resource(2, 1, &token(4, 0, 1)));
    assert!(checks.use_resource(3, 0, &token(5, 0, 1)));
    assert!(checks.findings.violations.is_empty());
    assert!(checks.use_resource(4, 1, &token(5, 0, 1)));
    assert_eq!(checks.findings.violations[0].rule, Rule::Fencing);
}

#[test]
fn a_token_that_is_sent_before_it_is_stored_is_found() {
    let digest = Digest { size: 1, hash: 2 };
    let told = |token: Token, durable: StoredState| {
        let mut checks = Checks::default();
        let message = Message::TokenIsHere {
            token,
            digest,
            data: b"",
            beat: None,
        };
        let frame = Frame {
            destination: MacAddr::BROADCAST,
            author: mac(0),
            message,
            profile: None,
            card: None,
            locks: None,
            preference: 0,
        };
        checks.check_frame(1, 0, &frame, &durable);
        checks.findings.violations.first().map(|broken| broken.rule)
    };
    let stored = |known, my_token_number| StoredState {
        my_token_number,
        known,
        stamp: None,
    };
    let five = token(5, 0, 3);
    assert_eq!(told(five, stored(Some(five), 3)), None);
    assert_eq!(told(five, stored(None, 3)), Some(Rule::Stored));
    assert_eq!(
        told(five, stored(Some(token(4, 0, 3)), 3)),
        Some(Rule::Stored)
    );
    assert_eq!(told(five, stored(Some(five), 2)), Some(Rule::Stored));
    let of_another = token(5, 1, 9);
    assert_eq!(told(of_another, stored(Some(of_another), 0)), None);
}

#[test]
fn a_third_reply_is_found() {
    let replies = |count| {
        let mut checks = Checks::default();
        checks.check_replies(1, 0, count);
        checks.findings.violations.len()
    };
    assert_eq!((replies(2), replies(3)), (0, 1));
}

#[test]
fn tables_out_of_order_or_too_large_are_found() {
    let table = |members| {
        let mut checks = Checks::default();
        checks.check_table(1, 0, members, 4);
        checks.findings.violations.len()
    };
    assert_eq!((table(Some(5)), table(Some(6)), table(None)), (0, 1, 1));
}

/// Returns the rules that an election breaks. The elected node knew the progress `knew`. A different tenure, with the
/// progress `after`, came before the election.
fn rules_broken_by_election(knew: u64, after: u64, progress: u64) -> Vec<Rule> {
    let mut checks = Checks::default();
    checks.check_tenure(7, 1, &token(after, 1, 1), None, || None);
    let durable = StoredState {
        known: Some(token(progress, 0, 1)),
        ..EMPTY_STATE
    };
    checks.check_election(8, 0, knew, &durable);
    checks
        .findings
        .violations
        .iter()
        .map(|broken| broken.rule)
        .collect()
}

#[test]
fn a_clock_takes_a_token_at_most_30_days_beyond_the_strongest_known_one() {
    let (strongest, days) = (CLOCK_PROGRESS_MIN + 7, 30 * 24 * 60 * 60 * 1_000_000_000);
    assert_eq!(
        rules_broken_by_election(CLOCK_PROGRESS_MIN, strongest, strongest + days),
        []
    );
    let far = strongest + days + 2 * ELECTION_STEP_MAX;
    assert_eq!(
        rules_broken_by_election(CLOCK_PROGRESS_MIN, strongest, far),
        [Rule::Clock]
    );
    assert_eq!(rules_broken_by_election(1, strongest, far), []);
    assert_eq!(
        rules_broken_by_election(1, strongest, CLOCK_PROGRESS_MAX + 2 * ELECTION_STEP_MAX),
        [Rule::Clock]
    );
}
