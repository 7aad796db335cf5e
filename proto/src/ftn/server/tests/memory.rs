//! Section 6, "Memory": all that clients can make a server take is counted, and bounded.

use ring_codec::ftn::Message;

use super::rig::*;
use crate::ftn::server::{PARTY_BYTES, QUEUE_BYTES, SESSION_BYTES, TOKEN_BYTES, WAIT_BYTES};

fn with_memory(max_memory: usize) -> Rig {
    Rig::alone_with(Options {
        max_memory,
        ..options()
    })
}

#[test]
fn sessions_and_those_that_wait_or_have_returned_are_counted() {
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
    bytes += PARTY_BYTES + 4 + QUEUE_BYTES + WAIT_BYTES;
    assert_eq!(rig.snapshot().memory_bytes, bytes);
    rig.request(3, 1, "name", X);
    bytes += PARTY_BYTES + 4 + WAIT_BYTES;
    assert_eq!(rig.snapshot().memory_bytes, bytes);
    // Who gives up is remembered for as long as the token is.
    rig.deassign(3, 2, "name");
    bytes -= WAIT_BYTES;
    assert_eq!(rig.snapshot().memory_bytes, bytes);
    rig.say(3, Message::Logout);
    bytes -= PARTY_BYTES + 4 + SESSION_BYTES;
    assert_eq!(rig.snapshot().memory_bytes, bytes);
}

/// Many sessions that wait for many tokens, and give up, take no more than is allowed.
#[test]
fn requests_of_those_that_would_wait_are_refused_when_memory_is_full() {
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
    assert!(rig.dropped(Reason::Memory) > 100);
    assert!(rig.server.counters().refused_memory > 100);
    // Who holds a token goes on, and gets the same answer again.
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
    assert_eq!(rig.dropped(Reason::Full), 1);
    assert_eq!(
        rig.login(1),
        ["CONFIG 2 R to k1"],
        "one that there is goes on"
    );
}

/// The token that is asked for does not go to make room for the one who asks.
#[test]
fn a_free_token_is_not_dropped_for_its_next_holder() {
    let room = TOKEN_BYTES + 2 + PARTY_BYTES;
    let mut rig = with_memory(3 * SESSION_BYTES + room);
    for k in 1..=2 {
        rig.begin(k);
    }
    rig.request(1, 1, "t", X);
    rig.update_and_deassign(1, 2, "t", "v");
    assert_eq!(rig.request(2, 1, "t", X), ["GRANT 1 t=v to k2"]);
}

/// A session in a survey can send parts of its answer without end, each with nothing in it.
#[test]
fn parts_of_an_answer_to_a_survey_are_counted_with_nothing_in_them() {
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
    assert!(rig.dropped(Reason::Memory) > 1_000);
    // They go with the session.
    rig.say(1, Message::Logout);
    assert_eq!(rig.snapshot().memory_bytes, 0);
}

/// Messages in parts had 16 MiB in each direction whatever was allowed.
#[test]
fn messages_in_parts_of_clients_take_an_eighth_of_the_memory_at_most() {
    let max = 8 << 20;
    let mut rig = with_memory(max);
    let data = "d".repeat(crate::ftn::MAX_DATA);
    rig.begin(1);
    for nth in 0..8 {
        let name = format!("t{nth}");
        rig.request(1, 3 * nth + 1, &name, X);
        rig.update_and_deassign(1, 3 * nth + 2, &name, &data);
    }
    // Sessions that acknowledge no part, and send the first part of messages that they never end.
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

/// Clients that fill the room for messages in parts crowded out the leader's lists of sessions.
#[test]
fn clients_do_not_crowd_out_what_servers_send_each_other_in_parts() {
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
        rig.hear_bytes(server(0), piece);
    }
    for k in 1..=40 {
        for nth in 0..2 {
            rig.begin_long(k, nth);
        }
    }
    rig.hear_bytes(server(0), last);
    assert_eq!(rig.snapshot().sessions.len(), 200);
}
