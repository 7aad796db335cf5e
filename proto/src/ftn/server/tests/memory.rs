//! The memory that clients use is counted and limited (M1 to M7).

use ring_codec::ftn::Message;

use super::rig::*;
use crate::ftn::server::{
    PARTY_BYTES, QUEUE_BYTES, SESSION_BYTES, TOKEN_BYTES, WAITING_REQUEST_BYTES,
};

fn with_memory(max_memory: usize) -> Rig {
    Rig::alone_with(Options {
        max_memory,
        ..options()
    })
}

#[test]
fn sessions_and_their_involvement_with_tokens_are_counted() {
    let mut rig = with_memory(1 << 20);
    for k in 1..=3 {
        rig.begin(k);
    }
    let mut bytes = 3 * SESSION_BYTES;
    assert_eq!(rig.snapshot().memory_bytes, bytes);
    rig.request(1, 1, "name", X);
    bytes += TOKEN_BYTES + 4;
    assert_eq!(rig.snapshot().memory_bytes, bytes);
    rig.request(2, 1, "name", X);
    bytes += PARTY_BYTES + 4 + QUEUE_BYTES + WAITING_REQUEST_BYTES;
    assert_eq!(rig.snapshot().memory_bytes, bytes);
    rig.request(3, 1, "name", X);
    bytes += PARTY_BYTES + 4 + WAITING_REQUEST_BYTES;
    assert_eq!(rig.snapshot().memory_bytes, bytes);
    // A session that gives up is remembered as long as the token exists.
    rig.deassign(3, 2, "name");
    bytes -= WAITING_REQUEST_BYTES;
    assert_eq!(rig.snapshot().memory_bytes, bytes);
    rig.send(3, Message::Logout);
    bytes -= PARTY_BYTES + 4 + SESSION_BYTES;
    assert_eq!(rig.snapshot().memory_bytes, bytes);
}

#[test]
fn requests_that_would_wait_are_refused_when_memory_is_full() {
    let max = 64 << 10;
    let mut rig = with_memory(max);
    for k in 1..=40 {
        rig.begin(k);
    }
    for (m, nth) in (1..).zip(0..40) {
        let name = format!("t{nth}");
        rig.request(1, m, &name, X);
        for k in 2..=40 {
            rig.request(k, 2 * m, &name, X);
            if k % 2 == 0 {
                rig.deassign(k, 2 * m + 1, &name);
            }
            assert!(rig.snapshot().memory_bytes <= max);
        }
    }
    assert!(rig.drop_count(DropReason::Memory) > 100);
    assert!(rig.server.counters().refused_memory > 100);
    // A holder keeps its token, and receives the same answer again.
    assert_eq!(rig.request(1, 1, "t0", X), ["GRANT 1 t0= to k1"]);
}

#[test]
fn a_session_begins_only_if_there_is_memory_for_it() {
    let mut rig = with_memory(4 * SESSION_BYTES);
    for k in 1..=3 {
        rig.begin(k);
    }
    rig.request(1, 1, "t", X);
    assert_eq!(rig.login(4), ["CONFIG 2 R to nobody at k4"]);
    assert_eq!(rig.drop_count(DropReason::Full), 1);
    assert_eq!(
        rig.login(1),
        ["CONFIG 2 R to k1"],
        "a session that exists continues"
    );
}

#[test]
fn a_requested_token_is_not_dropped_to_make_room_for_its_holder() {
    let room = TOKEN_BYTES + 2 + PARTY_BYTES;
    let mut rig = with_memory(3 * SESSION_BYTES + room);
    for k in 1..=2 {
        rig.begin(k);
    }
    rig.request(1, 1, "t", X);
    rig.update_and_deassign(1, 2, "t", "v");
    assert_eq!(rig.request(2, 1, "t", X), ["GRANT 1 t=v to k2"]);
}

/// An answer of a session may consist of many empty parts.
#[test]
fn empty_parts_of_an_answer_to_a_survey_are_counted() {
    let max = 64 << 10;
    let mut rig = Rig::start(
        1,
        0,
        Options {
            max_memory: max,
            ..Options::default()
        },
        Durable::default(),
    );
    rig.pass(HB);
    rig.renew(1, 7);
    for part in 0..20_000 {
        rig.catalog(1, 1, (part, u32::MAX), 0, &[]);
    }
    let taken = rig.snapshot().memory_bytes;
    assert!((max..=max + (64 << 10)).contains(&taken), "{taken}");
    assert!(rig.drop_count(DropReason::Memory) > 1_000);
    // These parts are removed with the session.
    rig.send(1, Message::Logout);
    assert_eq!(rig.snapshot().memory_bytes, 0);
}

#[test]
fn messages_in_parts_of_clients_use_at_most_an_eighth_of_the_memory() {
    let max = 8 << 20;
    let mut rig = with_memory(max);
    let data = "d".repeat(crate::ftn::DATA_BYTES_MAX);
    rig.begin(1);
    for nth in 0..8 {
        let name = format!("t{nth}");
        rig.request(1, 3 * nth + 1, &name, X);
        rig.update_and_deassign(1, 3 * nth + 2, &name, &data);
    }
    // These sessions acknowledge no part. They send the first parts of messages that they never complete.
    rig.acknowledges_parts = false;
    for k in 2..=80 {
        rig.begin(k);
        for nth in 0..8 {
            rig.request(k, nth + 1, &format!("t{nth}"), S);
            rig.begin_long(k, nth + 20);
        }
        let parts = rig.snapshot().parts_bytes;
        assert!(parts <= max / 8 + (512 << 10), "{parts} bytes");
    }
    assert!(rig.snapshot().parts_bytes > max / 16);
}

#[test]
fn clients_do_not_crowd_out_parts_between_servers() {
    let mut rig = Rig::follower_with(
        40,
        Options {
            max_memory: 1 << 20,
            ..options()
        },
    );
    let pieces = rig.state_in_parts(9, 2, &[R; 3], 200);
    let (last, first) = pieces.split_last().unwrap();
    for piece in first {
        rig.deliver_bytes(server(0), piece);
    }
    for k in 1..=40 {
        for nth in 0..2 {
            rig.begin_long(k, nth);
        }
    }
    rig.deliver_bytes(server(0), last);
    assert_eq!(rig.snapshot().sessions.len(), 200);
}
