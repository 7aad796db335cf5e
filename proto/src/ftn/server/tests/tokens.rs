//! Section 6: REQUEST, the queue, RETURN, memory, listing.

use ring_codec::ftn::{Access, Message, Token};

use super::rig::*;
use crate::ftn::server::{PARTY_BYTES, QUEUE_BYTES, SESSION_BYTES, WAIT_BYTES};

/// The only server with sessions k1 to k5.
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
fn a_free_token_is_granted_and_a_shared_one_to_all_who_share() {
    let mut rig = rig();
    assert_eq!(rig.request(1, 1, "a", S), ["GRANT 1 a= to k1"]);
    assert_eq!(rig.request(2, 1, "a", S), ["GRANT 1 a= to k2"]);
    assert_eq!(rig.request(3, 1, "b", X), ["GRANT 1 b= to k3"]);
    assert_eq!((rig.snapshot().tokens, rig.snapshot().held), (2, 2));
    assert_eq!(rig.server.counters().grants, 3);
}

/// A holder, m the msgnum of its grant: the same GRANT again; lower: dropped.
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

/// Higher: granted at once if the mode is the same, shared is asked, or it holds alone.
#[test]
fn a_holder_that_asks_again_is_granted_at_once_if_nobody_stands_against_it() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    assert_eq!(
        rig.request(1, 2, "a", X),
        ["GRANT 2 a= to k1"],
        "the same mode"
    );
    rig.request(2, 1, "a", S);
    let said = rig.request(1, 3, "a", S);
    assert_eq!(
        said,
        ["GRANT 3 a= to k1", "GRANT 1 a= to k2"],
        "a downgrade: others may join"
    );
    rig.request(3, 1, "b", S);
    assert_eq!(
        rig.request(3, 2, "b", X),
        ["GRANT 2 b= to k3"],
        "an upgrade of the only holder"
    );
    assert_eq!(
        rig.request(4, 1, "b", S),
        ["REVOKE b to k3"],
        "which is exclusive"
    );
}

/// Else queued: an upgrade of one of several waits for the others, which are asked to return.
#[test]
fn an_upgrade_waits_for_the_other_holders() {
    let mut rig = rig();
    rig.request(1, 1, "a", S);
    rig.request(2, 1, "a", S);
    assert_eq!(rig.request(1, 2, "a", X), ["REVOKE a to k2"]);
    // Two sharers that wait for each other: REVOKE makes the waiting one return.
    assert_eq!(rig.request(2, 2, "a", X), NONE);
    let said = rig.deassign(2, 3, "a");
    assert_eq!(said, ["CONFIRM 3 to k2", "GRANT 2 a= to k1"]);
}

/// Already queued: keeps its place, under the larger msgnum; with another access it goes to the end.
#[test]
fn a_repeated_request_keeps_its_place_unless_it_asks_for_another_access() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.request(2, 1, "a", X);
    rig.request(3, 1, "a", X);
    rig.request(2, 7, "a", X);
    rig.request(2, 6, "a", X);
    assert_eq!(rig.dropped(Reason::Late), 1);
    assert_eq!(
        rig.deassign(1, 2, "a")[..2],
        ["CONFIRM 2 to k1", "GRANT 7 a= to k2"]
    );
    rig.request(1, 3, "a", S);
    rig.request(3, 2, "a", S);
    assert_eq!(rig.snapshot().waiting, 2);
    let said = rig.deassign(2, 8, "a");
    assert_eq!(
        said,
        ["CONFIRM 8 to k2", "GRANT 3 a= to k1", "GRANT 2 a= to k3"]
    );
}

/// Strictly in order. Nobody overtakes the head.
#[test]
fn nobody_overtakes_the_head_of_the_queue() {
    let mut rig = rig();
    rig.request(1, 1, "a", S);
    rig.request(2, 1, "a", X);
    assert_eq!(rig.request(3, 1, "a", S), NONE, "though it could share now");
    rig.request(4, 1, "a", S);
    assert_eq!(
        rig.deassign(1, 2, "a"),
        ["CONFIRM 2 to k1", "GRANT 1 a= to k2", "REVOKE a to k2"]
    );
    let said = rig.deassign(2, 2, "a");
    assert_eq!(
        said,
        ["CONFIRM 2 to k2", "GRANT 1 a= to k3", "GRANT 1 a= to k4"]
    );
}

/// While the head is not granted, REVOKE goes to every other holder, at once and with back-off; a holder that does
/// not return keeps the token as long as its session lives.
#[test]
fn revoke_is_repeated_with_back_off_for_as_long_as_the_head_waits() {
    let mut rig = rig();
    rig.request(1, 1, "a", S);
    rig.request(2, 1, "a", S);
    assert_eq!(
        rig.request(3, 1, "a", X),
        ["REVOKE a to k1", "REVOKE a to k2"]
    );
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

/// What is new starts with RETRY again.
#[test]
fn a_new_head_is_revoked_for_at_once() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.request(2, 1, "a", X);
    rig.request(3, 1, "a", X);
    rig.pass(2 * HB);
    assert_eq!(
        rig.deassign(2, 2, "a"),
        ["CONFIRM 2 to k2", "REVOKE a to k1"]
    );
    assert_eq!(only(&rig.pass(RETRY), "REVOKE"), ["REVOKE a to k1"]);
}

/// REQUEST at or below a RETURN of this session for it that was acted on: late, dropped.
#[test]
fn a_late_request_takes_the_token_for_nobody() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.deassign(1, 2, "a");
    for m in [1, 2] {
        assert_eq!(rig.request(1, m, "a", X), NONE);
    }
    assert_eq!(rig.snapshot().held, 0);
    assert_eq!(rig.request(1, 3, "a", X), ["GRANT 3 a= to k1"]);
}

/// A late RETURN of an earlier hold ends no later one: it is not above its grant.
#[test]
fn a_late_return_of_an_earlier_hold_ends_no_later_one() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.deassign(1, 2, "a");
    rig.request(1, 3, "a", X);
    assert_eq!(
        rig.update_and_deassign(1, 2, "a", "late"),
        ["CONFIRM 2 to k1"]
    );
    assert_eq!(rig.snapshot().held, 1);
    assert_eq!(rig.request(1, 3, "a", X), ["GRANT 3 a= to k1"]);
    // Nor does one that was never acted on: REQUEST(5) has overtaken RETURN(4).
    rig.request(1, 5, "a", X);
    assert_eq!(
        rig.update_and_deassign(1, 4, "a", "late"),
        ["CONFIRM 4 to k1"]
    );
    assert_eq!(rig.request(1, 5, "a", X), ["GRANT 5 a= to k1"]);
}

/// UPDATE and DEASSIGN are done together, then CONFIRM.
#[test]
fn update_and_deassign_are_done_together() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.request(2, 1, "a", X);
    let said = rig.update_and_deassign(1, 2, "a", "data");
    assert_eq!(said, ["CONFIRM 2 to k1", "GRANT 1 a=data to k2"]);
    // Repeated, it is confirmed and changes nothing.
    rig.update(2, 2, "a", "more");
    assert_eq!(
        rig.update_and_deassign(1, 2, "a", "data"),
        ["CONFIRM 2 to k1"]
    );
    assert_eq!(rig.request(2, 1, "a", X), ["GRANT 1 a=more to k2"]);
    assert_eq!(rig.server.counters().updates, 2);
}

/// From one that does not hold it: CONFIRM, nothing is changed; UPDATEs of non-holders are counted.
#[test]
fn who_does_not_hold_a_token_changes_nothing() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    assert_eq!(
        rig.update_and_deassign(2, 1, "a", "mine"),
        ["CONFIRM 1 to k2"]
    );
    assert_eq!(rig.update(2, 2, "unknown", "mine"), ["CONFIRM 2 to k2"]);
    assert_eq!(rig.server.counters().updates_refused, 2);
    assert_eq!(rig.request(1, 1, "a", X), ["GRANT 1 a= to k1"]);
    assert_eq!(rig.snapshot().tokens, 1);
}

/// DEASSIGN also cancels this session's queued requests below m, holder or not.
#[test]
fn deassign_gives_up_a_request() {
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    rig.request(2, 5, "a", X);
    rig.request(3, 1, "a", X);
    assert_eq!(rig.deassign(2, 4, "a"), ["CONFIRM 4 to k2"]);
    assert_eq!(rig.snapshot().waiting, 2, "it is not below");
    assert_eq!(rig.deassign(2, 6, "a")[0], "CONFIRM 6 to k2");
    assert_eq!(rig.snapshot().waiting, 1);
    assert_eq!(rig.request(2, 5, "a", X), NONE, "a late REQUEST");
    assert_eq!(
        rig.deassign(1, 2, "a"),
        ["CONFIRM 2 to k1", "GRANT 1 a= to k3"]
    );
    // A holder gives up its upgrade with what it holds.
    rig.request(4, 1, "b", S);
    rig.request(5, 1, "b", S);
    rig.request(4, 2, "b", X);
    rig.deassign(4, 3, "b");
    assert_eq!(rig.snapshot().waiting, 0);
}

/// An UPDATE by a holder that waits for an upgrade changes the data and nothing else.
#[test]
fn a_holder_that_waits_for_an_upgrade_may_update() {
    let mut rig = rig();
    rig.request(1, 1, "a", S);
    rig.request(2, 1, "a", S);
    rig.request(1, 2, "a", X);
    assert_eq!(rig.update(1, 3, "a", "data"), ["CONFIRM 3 to k1"]);
    assert_eq!(rig.snapshot().waiting, 1);
}

/// REQUEST's data may be `fence`: one number for one grant, also in duplicates, and a later grant has a larger one.
#[test]
fn fencing_numbers_grow_with_the_grants() {
    let mut rig = rig();
    let mut fence = |k, m| {
        let token = Token {
            name: b"a",
            data: b"fence",
        };
        let access = Access::Exclusive;
        let said = rig.say(
            k,
            Message::Request {
                msgnum: m,
                token,
                access,
            },
        );
        let data = said[0].split_once("a=").unwrap().1;
        let (number, data) = data.split_once(' ').unwrap();
        assert!(
            data == format!("data to k{k}") || m == 1 && data == format!(" to k{k}"),
            "{data}"
        );
        rig.update(k, m + 1, "a", "data");
        let again = rig.say(
            k,
            Message::Request {
                msgnum: m,
                token,
                access,
            },
        );
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

/// Of memory: what is neither held nor awaited goes, longest unused first.
#[test]
fn free_tokens_go_for_want_of_memory_the_longest_unused_first() {
    // The last one is another client's as well.
    let mut rig = with_memory(3 * (1 + 256) + 8 + PARTY_BYTES + 1);
    for (m, name) in [(1, "a"), (11, "b")] {
        rig.request(1, m, name, X);
        rig.update_and_deassign(1, m + 1, name, name);
        rig.pass(MS);
    }
    rig.request(1, 21, "c", X);
    // Neither the one that is held goes, nor the one used last.
    rig.request(2, 1, "d", X);
    assert_eq!(rig.server.counters().unassigned_dropped, 1);
    assert_eq!(rig.request(3, 1, "b", X), ["GRANT 1 b=b to k3"]);
    assert_eq!(rig.server.counters().refused_memory, 0);
}

/// If that is not enough, REQUESTs for new names and growing UPDATEs are dropped.
#[test]
fn new_names_and_growing_updates_are_dropped_when_memory_is_full() {
    let mut rig = with_memory(2 * (1 + 256) + 8);
    rig.request(1, 1, "a", X);
    rig.request(1, 1, "b", X);
    assert_eq!(rig.request(2, 1, "c", X), NONE);
    assert_eq!(rig.update_and_deassign(1, 2, "a", "123456789"), NONE);
    assert_eq!(rig.request(1, 1, "a", X).len(), 1, "it is not done in part");
    assert_eq!(rig.update(1, 3, "a", "12345678"), ["CONFIRM 3 to k1"]);
    assert_eq!(rig.update(1, 4, "a", "1"), ["CONFIRM 4 to k1"]);
    assert_eq!(rig.server.counters().refused_memory, 2);
    assert_eq!(
        rig.request(2, 2, "a", X),
        NONE,
        "who would wait needs memory as well"
    );
}

/// A free token without data is forgotten after CT.
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
        rig.say(k, Message::Alive);
        rig.say(1, Message::Alive);
    }
    assert_eq!(rig.snapshot().tokens, 3);
    rig.pass(5 * MS);
    assert_eq!(rig.snapshot().tokens, 2);
}

#[test]
fn counts_and_bytes_are_those_of_the_tokens_there_are() {
    let mut rig = rig();
    rig.request(1, 1, "abc", X);
    rig.update(1, 2, "abc", "12345");
    rig.request(2, 1, "abc", X);
    let snapshot = rig.snapshot();
    assert_eq!(
        (snapshot.tokens, snapshot.held, snapshot.waiting),
        (1, 1, 1)
    );
    let waits = PARTY_BYTES + 3 + QUEUE_BYTES + WAIT_BYTES;
    let bytes = 5 * SESSION_BYTES + 256 + 3 + 5 + waits;
    assert_eq!(snapshot.memory_bytes, bytes);
    for k in 1..=5 {
        rig.say(k, Message::Logout);
    }
    let snapshot = rig.snapshot();
    assert_eq!((snapshot.held, snapshot.waiting), (0, 0));
}

/// A page: `next`, and of each token name, access, holders, waiting and bytes. It assigns nothing.
#[test]
fn a_listing_says_who_holds_and_who_waits() {
    let mut rig = rig();
    assert_eq!(
        rig.list(1, 9, b""),
        [r#"GRANT 9 ={"next":null,"tokens":[]} to k1"#]
    );
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
    let expected = [
        format!(
            r#"{{"name":"6162","access":1,"holders":[{one}],"waiting":[{two}],"bytes":4,"programs":[{program}]}}"#
        ),
        format!(
            r#"{{"name":"63","access":-1,"holders":[{three}],"waiting":[],"bytes":0,"programs":[{{"session":{three},"address":"{third}"}}]}}"#
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
fn a_text_that_is_too_long_or_moves_the_cursor_introduces_nobody_and_a_session_takes_its_own_along()
{
    let mut rig = rig();
    rig.request(1, 1, "a", X);
    let is_named = |rig: &mut Rig| rig.list(2, 9, b"")[0].contains("program\":\"");
    for text in [&"x".repeat(97), "two\nlines"] {
        rig.introduce(1, text);
        assert!(!is_named(&mut rig), "{text:?}");
    }
    rig.introduce(1, "backup");
    assert!(is_named(&mut rig));
    rig.say(1, Message::Logout);
    assert!(!is_named(&mut rig));
}

/// Both sides of a cut may grant the same token then.
#[test]
fn a_listing_says_a_quorum_that_is_no_majority() {
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

/// At most about 1 KiB, names in order, at most 16 holders; `next` leads to the following page.
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
fn who_does_not_serve_lists_nothing() {
    let mut rig = Rig::follower(1);
    rig.pass(ST * 3 / 4);
    assert_eq!(rig.list(1, 1, b""), NONE);
}
