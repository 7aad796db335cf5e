//! Rules for all datagrams, and datagrams from strangers (D1 to D9).

use std::time::Duration;

use ring_codec::ftn::{Flags, Header, Message};

use super::rig::*;
use crate::Machine;

/// Returns the head of a message among `count` servers.
fn header(from: i32, to: i32, count: usize) -> Header {
    let ssig = servers(count).signature();
    Header { from, to, ssig }
}

#[test]
fn a_datagram_that_does_not_decode_is_dropped_and_counted() {
    let mut rig = Rig::alone();
    let whole = encode(header(0, 0, 1), Message::Alive);
    for bytes in [
        &b""[..],
        b"\xff",
        &whole[..whole.len() - 1],
        &[&whole[..], b"x"].concat(),
    ] {
        assert_eq!(rig.deliver_bytes(client(1), bytes), NONE);
    }
    assert_eq!(rig.drop_count(DropReason::Malformed), 4);
}

#[test]
fn another_ssig_is_dropped_and_reported_once_for_each_of_1024_senders() {
    let mut rig = Rig::alone();
    let mut header = header(0, 0, 1);
    header.ssig ^= 1;
    let bytes = encode(header, Message::Alive);
    for _ in 0..2 {
        for k in 1..=1500 {
            assert_eq!(rig.deliver_bytes(client(k), &bytes), NONE);
        }
    }
    assert_eq!(rig.drop_count(DropReason::Signature), 3000);
    let told = rig
        .events
        .iter()
        .filter(|e| matches!(e, Event::OtherList { .. }));
    assert_eq!(told.count(), 1024);
}

#[test]
fn messages_for_another_server_or_for_clients_are_dropped() {
    let mut rig = Rig::alone();
    let bytes = encode(header(0, 1, 1), Message::Alive);
    let said = rig.deliver_bytes(client(1), &bytes);
    assert_eq!(said, NONE);
    assert_eq!(rig.drop_count(DropReason::NotForMe), 1);
    assert_eq!(rig.send_as(1, 0, Message::Confirm { msgnum: 1 }), NONE);
    assert_eq!(rig.send_as(1, 0, Message::Revoke { name: b"a" }), NONE);
    assert_eq!(rig.drop_count(DropReason::OtherRole), 2);
}

#[test]
fn messages_between_servers_count_only_from_their_listed_address() {
    let mut rig = Rig::leader(3);
    let message = Message::Elect { seq: 0, leader: -1 };
    for (from, at) in [
        (1, server(2)),
        (1, client(1)),
        (0, server(0)),
        (7, server(1)),
    ] {
        let bytes = encode(header(from, 0, 3), message);
        assert_eq!(rig.deliver_bytes(at, &bytes), NONE);
    }
    assert_eq!(rig.drop_count(DropReason::NotAServer), 4);
}

#[test]
fn names_beyond_1_kib_and_data_beyond_32_kib_are_dropped() {
    let mut rig = Rig::alone();
    rig.begin(1);
    let (long, longest) = ("n".repeat(1025), "n".repeat(1024));
    assert_eq!(rig.request(1, 1, &long, X), NONE);
    assert_eq!(rig.request(1, 1, &longest, X).len(), 1);
    let (too_much, much) = ("d".repeat(32 * 1024 + 1), "d".repeat(32 * 1024));
    assert_eq!(rig.update(1, 2, &longest, &too_much), NONE);
    assert_eq!(rig.update(1, 3, &longest, &much), ["CONFIRM 3 to k1"]);
    assert_eq!(rig.drop_count(DropReason::TooLong), 2);
}

/// The answer to a stranger's datagram has at most 26 + n bytes, and goes to the source address of this datagram.
#[test]
fn a_stranger_gets_one_small_config_for_one_datagram() {
    let mut rig = Rig::leader_with(
        32,
        Options {
            max_clients: 1_000,
            ..options()
        },
    );
    let id = rig.begin(1);
    let token = token("a", "");
    let messages = [
        Message::Alive,
        Message::Logout,
        Message::Catalog {
            holdings: [].as_slice().into(),
        },
        request(1, "a", X),
        Message::Return {
            msgnum: 1,
            token,
            flags: Flags::Both,
        },
    ];
    for message in messages {
        for (k, id) in [(2, 12345), (2, id), (2, 0), (2, -1)] {
            let said = rig.send_as(k, id, message);
            assert_eq!(said.len(), 1, "{message:?}");
            assert!(said[0].starts_with("CONFIG") && said[0].ends_with("to nobody at k2"));
            assert!(rig.datagrams[0].1.len() <= 26 + 32);
        }
    }
    assert_eq!(rig.drop_count(DropReason::NoSession), 20);
    // The stranger's messages are no sign of life of the session, and begin no session.
    assert_eq!(rig.snapshot().sessions.len(), 1);
}

/// A router may have translated the client's port, so the server answers to the source address of the LOGIN. If the
/// server sent answers to a host named in `p`, an attacker could misuse the server as a reflector.
#[test]
fn login_is_answered_at_its_source_but_not_if_it_names_a_host() {
    let mut rig = Rig::alone();
    for p in [&b""[..], b"5001", b"198.51.100.1:5001", b":5001 "] {
        assert_eq!(rig.send_as(1, 0, Message::Login { p }), NONE, "{p:?}");
    }
    assert_eq!(rig.drop_count(DropReason::Login), 4);
    let other_port = Message::Login { p: b":40000" };
    assert_eq!(rig.send_as(1, 0, other_port), ["CONFIG 2 R to k1"]);
}

#[test]
fn a_stalled_follower_does_not_serve_because_of_an_old_state_in_its_socket() {
    let mut rig = Rig::follower(1);
    let name = name_of(1, &[R; 3], 0);
    assert_eq!(only(&rig.request(1, 1, &name, X), "GRANT").len(), 1);
    rig.stall(Duration::from_secs(20));
    assert_eq!(rig.request(1, 2, &name, X), NONE);
    // The STATE arrived 19 seconds ago.
    let message = Message::State {
        seq: seq(9, 2),
        leader: 9,
        sstates: [R; 3].as_slice().into(),
        clients: [].as_slice().into(),
    };
    let (bytes, age) = (encode(header(0, 1, 3), message), Duration::from_secs(19));
    rig.input(|machine, now| machine.handle_message(now, server(0), &bytes, age));
    assert!(!rig.snapshot().authority);
}

#[test]
fn announced_numbers_reserve_no_memory_and_arbitrary_bytes_do_not_panic() {
    let mut rig = Rig::follower(1);
    // The datagram announces very many parts, and only one arrives.
    rig.state(12, 1, &[R, D, R], 1);
    rig.state(15, 1, &[R, B, R], 1);
    let said = rig.transfer(0, 15, (0, i32::MAX), &[]);
    assert_eq!(said, ["TRANSFERRED 15 0 to s0"]);
    rig.catalog(1, 15, (4_000_000_000, u32::MAX), 0, &[]);
    assert_eq!(rig.snapshot().state, B);
    // Arbitrary bytes follow a valid head.
    let head = encode(header(0, 1, 3), Message::Alive);
    for kind in 0..=255_u8 {
        for tail in 0..64_u8 {
            let mut bytes = head.clone();
            bytes[0] = kind;
            bytes.extend((0..tail).map(|i| i.wrapping_mul(kind) ^ tail));
            for from in [server(0), client(1)] {
                rig.deliver_bytes(from, &bytes);
            }
        }
    }
}
