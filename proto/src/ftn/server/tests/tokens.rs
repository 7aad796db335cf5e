//! Tokens: REQUEST, the queue, RETURN, memory and listings (T1 to T8, M, I).

use ring_codec::ftn::Message;

use super::rig::*;
use crate::ftn::server::{PARTY_BYTES, QUEUE_BYTES, SESSION_BYTES, WAITING_REQUEST_BYTES};

/// Returns a server without other servers in its group, with sessions k1 to k5.
fn rig() -> Rig {
    with_memory(usize::MAX)
}

fn with_memory(max_memory: usize) -> Rig {
    let mut rig = Rig::alone_with(Options {
        max_memory: max_memory.saturating_add(5 * SESSION_BYTES),
        ..options()
    });
    for k in 1..=5 {
        rig.begin(k);
    }
    rig
}

#[test]
fn a_free_token_is_granted_and_a_shared_one_to_all_sharers() {
    let mut rig = rig();
    assert_eq!(rig.request(1, 1, "a", S), ["GRANT 1 a= to k1"]);
    assert_eq!(rig.request(2, 1, "a", S), ["GRANT 1 a= to k2"]);
    assert_eq!(rig.request(3, 1, "b", X), ["GRANT 1 b= to k3"]);
    assert_eq!((rig.snapshot().tokens, rig.snapshot().held), (2, 2));
    assert_eq!(rig.server.counters().grants, 3);
}

#[test]
fn a_request_is_granted_once_and_its_repetition_gets_the_same_grant() {
    let mut rig = rig();
    rig.request(1, 5, "a", X);
    rig.update(1, 6, "a", "data");
    assert_eq!(rig.request(1, 5, "a", X), ["GRANT 5 a=data to k1"]);
    assert_eq!(rig.request(1, 4, "a", X), NONE);
    assert_eq!(rig.server.counters().grants, 1);
    assert_eq!(rig.server.counters().duplicates, 1);
}

#[test]
fn a_holder_that_requests_again_is_granted_at_once_if_no_other_is_in_the_way() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    assert_eq!(
        rig.request(1, 2, "a", X),
        ["GRANT 2 a= to k1"],
        "the access is the same"
    );
    rig.request(2, 1, "a", S);
    let said = rig.request(1, 3, "a", S);
    assert_eq!(
        said,
        ["GRANT 3 a= to k1", "GRANT 1 a= to k2"],
        "after a downgrade others may join"
    );
    rig.request(3, 1, "b", S);
    assert_eq!(
        rig.request(3, 2, "b", X),
        ["GRANT 2 b= to k3"],
        "the only holder may upgrade"
    );
    assert_eq!(
        rig.request(4, 1, "b", S),
        ["REVOKE b to k3"],
        "the holder is exclusive"
    );
}

#[test]
fn an_upgrade_waits_for_the_other_holders() {
    let mut rig = rig();
    rig.request(1, 1, "a", S);
    rig.request(2, 1, "a", S);
    assert_eq!(rig.request(1, 2, "a", X), ["REVOKE a to k2"]);
    // Two sharers wait for each other. REVOKE makes one of them return the token.
    assert_eq!(rig.request(2, 2, "a", X), NONE);
    let said = rig.deassign(2, 3, "a");
    assert_eq!(said, ["CONFIRM 3 to k2", "GRANT 2 a= to k1"]);
}

#[test]
fn a_repeated_request_keeps_its_place_unless_its_access_changes() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.request(2, 1, "a", X);
    rig.request(3, 1, "a", X);
    rig.request(2, 7, "a", X);
    rig.request(2, 6, "a", X);
    assert_eq!(rig.drop_count(DropReason::Late), 1);
    let said = rig.deassign(1, 2, "a");
    assert_eq!(said[..2], ["CONFIRM 2 to k1", "GRANT 7 a= to k2"]);
    rig.request(1, 3, "a", S);
    rig.request(3, 2, "a", S);
    assert_eq!(rig.snapshot().waiting, 2);
    let said = rig.deassign(2, 8, "a");
    assert_eq!(
        said,
        ["CONFIRM 8 to k2", "GRANT 3 a= to k1", "GRANT 2 a= to k3"]
    );
}

#[test]
fn no_request_overtakes_the_head_of_the_queue() {
    let mut rig = rig();
    rig.request(1, 1, "a", S);
    rig.request(2, 1, "a", X);
    assert_eq!(
        rig.request(3, 1, "a", S),
        NONE,
        "it waits although it could share"
    );
    rig.request(4, 1, "a", S);
    let said = rig.deassign(1, 2, "a");
    assert_eq!(
        said,
        ["CONFIRM 2 to k1", "GRANT 1 a= to k2", "REVOKE a to k2"]
    );
    let said = rig.deassign(2, 2, "a");
    assert_eq!(
        said,
        ["CONFIRM 2 to k2", "GRANT 1 a= to k3", "GRANT 1 a= to k4"]
    );
}

/// A holder that does not return the token keeps it during its whole session.
#[test]
fn revoke_is_repeated_as_long_as_the_head_of_the_queue_waits() {
    let mut rig = rig();
    rig.request(1, 1, "a", S);
    rig.request(2, 1, "a", S);
    let said = rig.request(3, 1, "a", X);
    assert_eq!(said, ["REVOKE a to k1", "REVOKE a to k2"]);
    let mut times = Vec::new();
    for ms in 1..=4000 {
        if !only(&rig.pass(MS), "REVOKE").is_empty() {
            times.push(ms);
        }
    }
    assert_eq!(times, [100, 300, 700, 1500, 2500, 3500]);
    rig.deassign(1, 2, "a");
    assert_eq!(only(&rig.pass(HB), "REVOKE"), ["REVOKE a to k2"]);
    rig.deassign(2, 2, "a");
    assert_eq!(only(&rig.pass(5 * HB), "REVOKE"), NONE);
}

#[test]
fn revoke_for_a_new_head_is_sent_at_once() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.request(2, 1, "a", X);
    rig.request(3, 1, "a", X);
    rig.pass(2 * HB);
    let said = rig.deassign(2, 2, "a");
    assert_eq!(said, ["CONFIRM 2 to k2", "REVOKE a to k1"]);
    assert_eq!(only(&rig.pass(RETRY), "REVOKE"), ["REVOKE a to k1"]);
}

#[test]
fn a_request_at_or_below_a_processed_return_is_late() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.deassign(1, 2, "a");
    for m in [1, 2] {
        assert_eq!(rig.request(1, m, "a", X), NONE);
    }
    assert_eq!(rig.snapshot().held, 0);
    assert_eq!(rig.request(1, 3, "a", X), ["GRANT 3 a= to k1"]);
}

#[test]
fn a_late_return_of_an_earlier_hold_does_not_end_a_later_one() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.deassign(1, 2, "a");
    rig.request(1, 3, "a", X);
    let said = rig.update_and_deassign(1, 2, "a", "late");
    assert_eq!(said, ["CONFIRM 2 to k1"]);
    assert_eq!(rig.snapshot().held, 1);
    assert_eq!(rig.request(1, 3, "a", X), ["GRANT 3 a= to k1"]);
    // The rule also applies to a RETURN that was never processed: REQUEST(5) has overtaken RETURN(4).
    rig.request(1, 5, "a", X);
    let said = rig.update_and_deassign(1, 4, "a", "late");
    assert_eq!(said, ["CONFIRM 4 to k1"]);
    assert_eq!(rig.request(1, 5, "a", X), ["GRANT 5 a= to k1"]);
}

#[test]
fn update_and_deassign_are_done_together() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.request(2, 1, "a", X);
    let said = rig.update_and_deassign(1, 2, "a", "data");
    assert_eq!(said, ["CONFIRM 2 to k1", "GRANT 1 a=data to k2"]);
    // A repetition is confirmed and changes nothing.
    rig.update(2, 2, "a", "more");
    let said = rig.update_and_deassign(1, 2, "a", "data");
    assert_eq!(said, ["CONFIRM 2 to k1"]);
    assert_eq!(rig.request(2, 1, "a", X), ["GRANT 1 a=more to k2"]);
    assert_eq!(rig.server.counters().updates, 2);
}

#[test]
fn a_return_of_a_session_that_does_not_hold_the_token_changes_nothing() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    let said = rig.update_and_deassign(2, 1, "a", "mine");
    assert_eq!(said, ["CONFIRM 1 to k2"]);
    assert_eq!(rig.update(2, 2, "unknown", "mine"), ["CONFIRM 2 to k2"]);
    assert_eq!(rig.server.counters().updates_refused, 2);
    assert_eq!(rig.request(1, 1, "a", X), ["GRANT 1 a= to k1"]);
    assert_eq!(rig.snapshot().tokens, 1);
}

/// A RETURN cancels only requests with a lower msgnum.
#[test]
fn deassign_gives_up_a_queued_request() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.request(2, 5, "a", X);
    rig.request(3, 1, "a", X);
    assert_eq!(rig.deassign(2, 4, "a"), ["CONFIRM 4 to k2"]);
    assert_eq!(rig.snapshot().waiting, 2, "the request is not below");
    assert_eq!(rig.deassign(2, 6, "a")[0], "CONFIRM 6 to k2");
    assert_eq!(rig.snapshot().waiting, 1);
    assert_eq!(rig.request(2, 5, "a", X), NONE, "a late REQUEST");
    let said = rig.deassign(1, 2, "a");
    assert_eq!(said, ["CONFIRM 2 to k1", "GRANT 1 a= to k3"]);
    // A holder gives up its upgrade together with the token.
    rig.request(4, 1, "b", S);
    rig.request(5, 1, "b", S);
    rig.request(4, 2, "b", X);
    rig.deassign(4, 3, "b");
    assert_eq!(rig.snapshot().waiting, 0);
}

#[test]
fn a_holder_that_waits_for_an_upgrade_may_update() {
    let mut rig = rig();
    rig.request(1, 1, "a", S);
    rig.request(2, 1, "a", S);
    rig.request(1, 2, "a", X);
    assert_eq!(rig.update(1, 3, "a", "data"), ["CONFIRM 3 to k1"]);
    assert_eq!(rig.snapshot().waiting, 1);
}

/// Duplicates of a grant have the same number.
#[test]
fn fencing_numbers_grow_with_the_grants() {
    let mut rig = rig();
    let mut fence = |k, m| {
        let said = rig.send(k, fence_request(m, "a"));
        let data = said[0].split_once("a=").unwrap().1;
        let (number, data) = data.split_once(' ').unwrap();
        assert!(
            data == format!("data to k{k}") || m == 1 && data == format!(" to k{k}"),
            "{data}"
        );
        rig.update(k, m + 1, "a", "data");
        let again = rig.send(k, fence_request(m, "a"));
        assert!(again[0].contains(&format!("a={number} data")), "{again:?}");
        rig.deassign(k, m + 2, "a");
        number.parse::<u64>().unwrap()
    };
    let numbers = [fence(1, 1), fence(2, 10), fence(1, 20)];
    assert!(numbers.is_sorted() && numbers[0] < numbers[1] && numbers[1] < numbers[2]);
    assert_eq!(
        numbers[0] >> 31,
        2,
        "the configuration's number comes first"
    );
}

#[test]
fn when_memory_is_full_the_free_token_that_is_unused_for_longest_is_dropped() {
    // A second client is involved with the last token as well.
    let mut rig = with_memory(3 * (1 + 256) + 8 + PARTY_BYTES + 1);
    for (m, name) in [(1, "a"), (11, "b")] {
        rig.request(1, m, name, X);
        rig.update_and_deassign(1, m + 1, name, name);
        rig.pass(MS);
    }
    rig.request(1, 21, "c", X);
    // Neither a held token nor the free token that was used last is dropped.
    rig.request(2, 1, "d", X);
    assert_eq!(rig.server.counters().unassigned_dropped, 1);
    assert_eq!(rig.request(3, 1, "b", X), ["GRANT 1 b=b to k3"]);
    assert_eq!(rig.server.counters().refused_memory, 0);
}

#[test]
fn when_memory_is_full_new_names_and_growing_updates_are_dropped() {
    let mut rig = with_memory(2 * (1 + 256) + 8);
    rig.request(1, 1, "a", X);
    rig.request(1, 1, "b", X);
    assert_eq!(rig.request(2, 1, "c", X), NONE);
    assert_eq!(rig.update_and_deassign(1, 2, "a", "123456789"), NONE);
    assert_eq!(
        rig.request(1, 1, "a", X).len(),
        1,
        "the RETURN has no effect"
    );
    assert_eq!(rig.update(1, 3, "a", "12345678"), ["CONFIRM 3 to k1"]);
    assert_eq!(rig.update(1, 4, "a", "1"), ["CONFIRM 4 to k1"]);
    assert_eq!(rig.server.counters().refused_memory, 2);
    assert_eq!(
        rig.request(2, 2, "a", X),
        NONE,
        "a REQUEST that would wait needs memory as well"
    );
}

#[test]
fn a_free_token_without_data_is_forgotten_after_ct() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.deassign(1, 2, "a");
    rig.request(1, 3, "b", X);
    rig.update_and_deassign(1, 4, "b", "data");
    rig.request(1, 5, "c", X);
    for k in 1..=5 {
        rig.pass(CT / 5 - MS);
        rig.send(k, Message::Alive);
        rig.send(1, Message::Alive);
    }
    assert_eq!(rig.snapshot().tokens, 3);
    rig.pass(5 * MS);
    assert_eq!(rig.snapshot().tokens, 2);
}

#[test]
fn the_snapshot_counts_tokens_holders_waiting_requests_and_bytes() {
    let mut rig = rig();
    rig.request(1, 1, "abc", X);
    rig.update(1, 2, "abc", "12345");
    rig.request(2, 1, "abc", X);
    let snapshot = rig.snapshot();
    assert_eq!(
        (snapshot.tokens, snapshot.held, snapshot.waiting),
        (1, 1, 1)
    );
    let waits = PARTY_BYTES + 3 + QUEUE_BYTES + WAITING_REQUEST_BYTES;
    let bytes = 5 * SESSION_BYTES + 256 + 3 + 5 + waits;
    assert_eq!(snapshot.memory_bytes, bytes);
    for k in 1..=5 {
        rig.send(k, Message::Logout);
    }
    let snapshot = rig.snapshot();
    assert_eq!((snapshot.held, snapshot.waiting), (0, 0));
}

#[test]
fn a_listing_names_holders_and_waiting_sessions_of_each_token() {
    let mut rig = rig();
    let said = rig.list(1, 9, b"");
    assert_eq!(said, [r#"GRANT 9 ={"next":null,"tokens":[]} to k1"#]);
    rig.request(1, 1, "ab", S);
    rig.update(1, 2, "ab", "data");
    rig.request(2, 1, "ab", X);
    rig.request(3, 1, "c", X);
    rig.request(4, 1, "d", X);
    rig.deassign(4, 2, "d");
    assert_eq!(rig.introduce(1, r#"say "hi" \"#), NONE);
    let [one, two, three] = [1, 2, 3].map(|k| rig.id(k));
    let [first, third] = [1, 3].map(client);
    let program = format!(r#"{{"session":{one},"address":"{first}","program":"say \"hi\" \\"}}"#);
    let other = format!(r#"{{"session":{three},"address":"{third}"}}"#);
    let expected = [
        format!(
            r#"{{"name":"6162","access":1,"holders":[{one}],"waiting":[{two}],"bytes":4,"programs":[{program}]}}"#
        ),
        format!(
            r#"{{"name":"63","access":-1,"holders":[{three}],"waiting":[],"bytes":0,"programs":[{other}]}}"#
        ),
        r#"{"name":"64","access":0,"holders":[],"waiting":[],"bytes":0,"programs":[]}"#.to_owned(),
    ];
    let all = expected.join(",");
    assert_eq!(
        rig.list(1, 9, b""),
        [format!(
            r#"GRANT 9 ={{"next":null,"tokens":[{all}]}} to k1"#
        )]
    );
    let rest = expected[1..].join(",");
    assert_eq!(
        rig.list(1, 10, b"ab"),
        [format!(
            r#"GRANT 10 ={{"next":null,"tokens":[{rest}]}} to k1"#
        )]
    );
    assert_eq!(rig.snapshot().tokens, 3);
}

#[test]
fn an_introduction_is_checked_and_ends_with_its_session() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    let is_named = |rig: &mut Rig| rig.list(2, 9, b"")[0].contains("program\":\"");
    for text in [&"x".repeat(97), "two\nlines"] {
        rig.introduce(1, text);
        assert!(!is_named(&mut rig), "{text:?}");
    }
    rig.introduce(1, "backup");
    assert!(is_named(&mut rig));
    rig.send(1, Message::Logout);
    assert!(!is_named(&mut rig));
}

/// With a quorum below a majority, both sides of a split may grant the same token.
#[test]
fn a_listing_names_a_quorum_that_is_no_majority() {
    for (quorum, said) in [
        (1, r#"{"next":null,"tokens":[],"quorum":1}"#),
        (2, r#"{"next":null,"tokens":[]}"#),
    ] {
        let options = Options {
            quorum,
            ..options()
        };
        let rig = Rig::start(3, 0, options, Durable::default());
        assert_eq!(rig.server.page(rig.now.monotonic, b""), said);
    }
}

/// A page has at most about 1 KiB.
#[test]
fn the_pages_of_a_listing_name_each_token_once_in_order() {
    let mut rig = rig();
    for (m, i) in (1..).zip(0..300) {
        rig.request(1 + i % 5, m, &format!("token{:03}", i * 7 % 300), S);
    }
    let (mut after, mut names) = (Vec::new(), Vec::new());
    loop {
        let said = rig.list(1, 1, &after);
        assert!(said[0].len() < 1200);
        let entries = said[0].split("\"name\":\"").skip(1);
        names.extend(entries.map(|entry| entry[..16].to_owned()));
        let Some((_, rest)) = said[0].split_once("\"next\":\"") else {
            break;
        };
        let digits = rest.split_once('"').unwrap().0.as_bytes().chunks(2);
        let byte = |hex: &[u8]| u8::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap();
        after = digits.map(byte).collect();
    }
    assert_eq!(names.len(), 300);
    assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn a_server_that_does_not_serve_sends_no_listing() {
    let mut rig = Rig::follower(1);
    rig.pass(ST * 3 / 4);
    assert_eq!(rig.list(1, 1, b""), NONE);
}
