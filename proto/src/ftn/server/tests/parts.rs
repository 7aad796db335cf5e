//! Messages in parts at a server (P1 to P15).

use std::collections::VecDeque;
use std::time::Duration;

use ring_codec::ftn::{Flags, Header, Message};

use super::rig::*;
use crate::Machine;
use crate::ftn::{DATA_BYTES_MAX, DATAGRAM_BYTES_MAX};

fn header(rig: &Rig, from: i32) -> Header {
    Header {
        from,
        to: i32::try_from(rig.snapshot().index).unwrap(),
        ssig: servers(rig.snapshot().states.len()).signature(),
    }
}

fn update(data: &str) -> Message<'_> {
    Message::Return {
        msgnum: 2,
        token: token("t", data),
        flags: Flags::Update,
    }
}

/// Fragments can be dropped, so no datagram is longer than LONGEST (1,232 bytes).
#[test]
fn data_of_every_length_travel_in_short_datagrams() {
    for len in [1_100, 1_300, 8_000, 20_000, DATA_BYTES_MAX] {
        let mut rig = Rig::alone();
        rig.begin(1);
        rig.begin(2);
        rig.request(1, 1, "t", X);
        let data = "d".repeat(len);
        let id = rig.id(1);
        let whole = encode(header(&rig, id), update(&data));
        let sent = if whole.len() > DATAGRAM_BYTES_MAX {
            pieces(header(&rig, id), update(&data))
        } else {
            vec![whole]
        };
        let mut said = Vec::new();
        for piece in &sent {
            assert!(piece.len() <= DATAGRAM_BYTES_MAX);
            said.extend(rig.deliver_bytes(client(1), piece));
        }
        assert_eq!(only(&said, "CONFIRM"), ["CONFIRM 2 to k1"], "{len} bytes");
        rig.deassign(1, 3, "t");
        // The rig checks the length of datagrams and assembles parts.
        let granted = rig.request(2, 1, "t", X);
        assert_eq!(granted, [format!("GRANT 1 t={data} to k2")]);
        assert!(rig.snapshot().parts_bytes < 4_096);
    }
}

#[test]
fn parts_of_a_stranger_take_no_memory_and_get_one_config_each() {
    let mut rig = Rig::alone();
    let data = "d".repeat(20_000);
    for piece in pieces(header(&rig, 1 << 21), update(&data)) {
        let said = rig.deliver_bytes(client(7), &piece);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("CONFIG") && said[0].contains("nobody"));
    }
    assert_eq!(rig.snapshot().parts_bytes, 0);
    assert!(rig.drop_count(DropReason::NoSession) > 10);
}

#[test]
fn the_parts_of_a_session_end_with_it() {
    let mut rig = Rig::alone();
    rig.begin(1);
    let data = "d".repeat(20_000);
    let id = rig.id(1);
    rig.deliver_bytes(client(1), &pieces(header(&rig, id), update(&data))[3]);
    assert!(rig.snapshot().parts_bytes > crate::ftn::PART);
    rig.send(1, Message::Logout);
    assert_eq!(rig.snapshot().parts_bytes, 0);
}

#[test]
fn a_list_of_600_sessions_travels_in_parts() {
    let options = quorum(1);
    let mut leader = Rig::start(2, 0, options, Durable::default());
    leader.pass(ST);
    let mut follower = Rig::start(2, 1, options, Durable::default());
    for k in 1..=600 {
        leader.begin(k);
    }
    let mut under_way = VecDeque::new();
    let mut buf = [0; DATAGRAM_BYTES_MAX];
    for _ in 0..4 {
        leader.stall(HB);
        leader.server.handle_timeout(leader.now);
        follower.stall(HB);
        loop {
            while let Some(sent) = leader.server.poll_transmit(&mut buf) {
                if sent.to == server(1) {
                    under_way.push_back((0, buf[..sent.len].to_vec()));
                }
            }
            while let Some(sent) = follower.server.poll_transmit(&mut buf) {
                if sent.to == server(0) {
                    under_way.push_back((1, buf[..sent.len].to_vec()));
                }
            }
            let Some((from, bytes)) = under_way.pop_front() else {
                break;
            };
            let (rig, from) = if from == 0 {
                (&mut follower, server(0))
            } else {
                (&mut leader, server(1))
            };
            rig.server
                .handle_message(rig.now, from, &bytes, Duration::ZERO);
            while rig.server.poll_durable().is_some() {
                rig.server.handle_stored(rig.now, crate::StoreOutcome::Done);
            }
        }
    }
    assert_eq!(follower.role(), RoleKind::Follower);
    assert_eq!(follower.snapshot().sessions.len(), 600);
    assert!(leader.snapshot().parts_bytes + follower.snapshot().parts_bytes < 4_096);
    follower.command(Command::ShutDown);
}

#[test]
fn a_part_in_parts_is_dropped() {
    let mut rig = Rig::alone();
    rig.begin(1);
    let id = rig.id(1);
    let bytes = [0; 2_000];
    let nested = Message::Part {
        content: 1,
        part: 0,
        parts: 2,
        bytes: &bytes,
    };
    let before = rig.drop_count(DropReason::Malformed);
    for piece in pieces(header(&rig, id), nested) {
        rig.deliver_bytes(client(1), &piece);
    }
    assert_eq!(rig.drop_count(DropReason::Malformed), before + 1);
}
