//! Tests of messages in parts, between two peers and from attackers.

use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::{Datagram, Header, Kind, Message};

use super::{
    ACTIVITY_MAX, MESSAGE_MAX, PARTS_MAX, Part, PartOutcome, PartReceiver, PartSender,
    ReceivedPart, TOTAL_MAX,
};
use crate::ftn::{DATAGRAM_BYTES_MAX, PART, RETRY, RETRY_MAX, WINDOW};
use crate::time::Instant;

fn peer(port: u16) -> SocketAddr {
    ([192, 0, 2, 1], port).into()
}

fn at(seconds: u64) -> Instant {
    Instant::from_nanos(seconds * 1_000_000_000)
}

fn message(len: usize, fill: u8) -> Vec<u8> {
    (0..len)
        .map(|at| fill.wrapping_add(at.to_le_bytes()[0]))
        .collect()
}

fn received_part(content: i64, part: i32, parts: i32, bytes: &[u8]) -> ReceivedPart<'_> {
    ReceivedPart {
        content,
        part,
        parts,
        bytes,
    }
}

/// Delivers a part to the receiver, and the receiver's answer to the sender. Returns the next parts, and the message
/// when it is complete.
fn carry(
    outgoing: &mut PartSender,
    incoming: &mut PartReceiver,
    part: Part,
) -> (Vec<Part>, Option<Vec<u8>>) {
    let Some(Message::Part {
        content,
        part,
        parts,
        bytes,
    }) = outgoing.message(peer(1), part)
    else {
        return (Vec::new(), None);
    };
    let piece = received_part(content, part, parts, bytes);
    let took = incoming.take(at(0), at(0), peer(2), piece, PARTS_MAX * PART);
    let came = incoming.arrived_parts(peer(2), content).unwrap();
    let next = outgoing.on_parted(at(0), peer(1), content, &came);
    let whole = match took {
        PartOutcome::Complete { bytes, .. } => Some(bytes),
        PartOutcome::Stored => None,
        PartOutcome::Refused => panic!("the receiver refuses part {part} of {parts}"),
    };
    (next, whole)
}

#[test]
fn a_long_message_is_complete_after_several_windows() {
    let (mut outgoing, mut incoming) = (PartSender::default(), PartReceiver::default());
    outgoing.start(u64::MAX);
    let sent = message(300 * PART + 7, 3);
    let mut flight = outgoing.send(at(0), peer(1), Kind::State, &sent);
    assert_eq!(flight.len(), WINDOW);
    let header = Header {
        from: i32::MAX,
        to: i32::MAX,
        ssig: 8_191,
    };
    let mut whole = None;
    while let Some(part) = flight.pop() {
        let datagram = Datagram::new(header, outgoing.message(peer(1), part).unwrap());
        assert!(datagram.encoded_len() <= DATAGRAM_BYTES_MAX);
        let (next, came) = carry(&mut outgoing, &mut incoming, part);
        flight.extend(next);
        assert!(flight.len() <= WINDOW);
        whole = whole.or(came);
    }
    assert_eq!(whole, Some(sent));
    assert_eq!(outgoing.bytes(), 0);
}

#[test]
fn a_repeated_message_brings_only_the_missing_parts() {
    let (mut outgoing, mut incoming) = (PartSender::default(), PartReceiver::default());
    let sent = message(WINDOW * PART, 9);
    for part in outgoing.send(at(0), peer(1), Kind::Grant, &sent) {
        if part.part % 5 != 2 {
            let (next, _) = carry(&mut outgoing, &mut incoming, part);
            assert_eq!(next, []);
        }
    }
    let again = outgoing.send(at(0), peer(1), Kind::Grant, &sent);
    let numbers: Vec<usize> = again.iter().map(|part| part.part).collect();
    assert_eq!(numbers, [2, 7, 12]);
    let whole = again
        .into_iter()
        .find_map(|part| carry(&mut outgoing, &mut incoming, part).1);
    assert_eq!(whole, Some(sent));
}

#[test]
fn a_peer_that_has_forgotten_parts_gets_all_of_them_again() {
    let (mut outgoing, mut incoming) = (PartSender::default(), PartReceiver::default());
    let sent = message(3 * PART, 1);
    let parts = outgoing.send(at(0), peer(1), Kind::Grant, &sent);
    carry(&mut outgoing, &mut incoming, parts[0]);
    incoming.forget(peer(2));
    carry(&mut outgoing, &mut incoming, parts[1]);
    let again = outgoing.send(at(0), peer(1), Kind::Grant, &sent);
    let whole = again
        .into_iter()
        .find_map(|part| carry(&mut outgoing, &mut incoming, part).1);
    assert_eq!(whole, Some(sent));
}

#[test]
fn messages_to_a_peer_follow_each_other_and_a_stuck_one_is_dropped() {
    let (mut outgoing, mut incoming) = (PartSender::default(), PartReceiver::default());
    let [first, second] = [1, 2].map(|fill| message(2 * PART, fill));
    let parts = outgoing.send(at(0), peer(1), Kind::Grant, &first);
    assert_eq!(outgoing.send(at(0), peer(1), Kind::Grant, &second), []);
    let (none, _) = carry(&mut outgoing, &mut incoming, parts[0]);
    assert_eq!(none, []);
    let (next, whole) = carry(&mut outgoing, &mut incoming, parts[1]);
    assert_eq!((next.len(), whole), (2, Some(first.clone())));
    // The peer no longer answers.
    assert_eq!(outgoing.send(at(0), peer(1), Kind::Grant, &first), []);
    let later = at(0) + RETRY_MAX;
    let next = outgoing.send(later, peer(1), Kind::Grant, &first);
    assert_eq!(next.len(), 2);
    assert!(outgoing.message(peer(1), next[0]).is_some());
}

#[test]
fn the_newest_state_follows_the_state_that_is_under_way() {
    let (mut outgoing, mut incoming) = (PartSender::default(), PartReceiver::default());
    let rounds: Vec<Vec<u8>> = (0..4).map(|fill| message(2 * PART, fill)).collect();
    let mut flight = outgoing.send(at(0), peer(1), Kind::State, &rounds[0]);
    for round in &rounds[1..] {
        // The STATE under way is sent again instead of the new STATE.
        assert_eq!(outgoing.send(at(0), peer(1), Kind::State, round), flight);
    }
    let mut whole = Vec::new();
    while let Some(part) = flight.pop() {
        let (next, came) = carry(&mut outgoing, &mut incoming, part);
        flight.extend(next);
        whole.extend(came);
    }
    assert_eq!(whole, [rounds[0].clone(), rounds[3].clone()]);
}

#[test]
fn repeated_parts_make_no_second_message() {
    let (mut outgoing, mut incoming) = (PartSender::default(), PartReceiver::default());
    let sent = message(2 * PART, 1);
    let parts = outgoing.send(at(0), peer(1), Kind::Return, &sent);
    let piece = |part: usize| {
        received_part(
            parts[0].content,
            i32::try_from(part).unwrap(),
            2,
            &sent[part * PART..(part + 1) * PART],
        )
    };
    let mut take = |part| incoming.take(at(0), at(0), peer(2), piece(part), MESSAGE_MAX);
    assert_eq!(take(1), PartOutcome::Stored);
    assert!(matches!(take(0), PartOutcome::Complete { bytes, .. } if bytes == sent));
    assert_eq!(
        [take(0), take(1)],
        [PartOutcome::Stored, PartOutcome::Stored]
    );
    assert_eq!(
        incoming.arrived_parts(peer(2), parts[0].content),
        Some(Vec::new())
    );
}

#[test]
fn invalid_parts_are_refused_and_take_no_memory() {
    let mut incoming = PartReceiver::default();
    let mut take = |part, parts, bytes: &[u8]| {
        let piece = received_part(7, part, parts, bytes);
        incoming.take(at(0), at(0), peer(2), piece, MESSAGE_MAX)
    };
    let too_many = i32::try_from(PARTS_MAX).unwrap() + 1;
    for (part, parts) in [
        (0, 1),
        (2, 2),
        (-1, 2),
        (0, too_many),
        (0, i32::MAX),
        (i32::MIN, -1),
    ] {
        assert_eq!(
            take(part, parts, b"x"),
            PartOutcome::Refused,
            "{part} of {parts}"
        );
    }
    assert_eq!(take(0, 2, b""), PartOutcome::Refused);
    // A message that grows beyond the limit is dropped.
    let bytes = [0; PART];
    let refused = (0..40).position(|part| take(part, 40, &bytes) == PartOutcome::Refused);
    assert!(refused.is_some_and(|part| part * PART <= MESSAGE_MAX + PART + 40 * 64));
    assert_eq!(incoming.bytes(), 0);
}

/// An attacker with many addresses fills only its share, and other peers can still complete their messages.
#[test]
fn memory_of_received_parts_is_bounded_over_all_peers() {
    let mut incoming = PartReceiver::default();
    let bytes = [0; PART];
    let attack = |incoming: &mut PartReceiver, now, round: i32| {
        for port in 1..2_000 {
            let piece = received_part(7, round, 32, &bytes);
            incoming.take(now, now, peer(port), piece, MESSAGE_MAX);
            assert!(incoming.bytes() <= TOTAL_MAX + MESSAGE_MAX);
        }
    };
    for round in 0..27 {
        attack(&mut incoming, at(0), round);
    }
    assert!(incoming.bytes() > TOTAL_MAX / 2);
    // A new peer waits until the time of the other peers is over, although they continue to send.
    let mut is_heard = |now| {
        let halves = [0, 1].map(|part| received_part(8, part, 2, &[1; PART]));
        let mut takes = |piece| incoming.take(now, now, peer(5_001), piece, MESSAGE_MAX);
        let is_whole = halves
            .map(&mut takes)
            .into_iter()
            .any(|took| took != PartOutcome::Stored);
        attack(&mut incoming, now, 26);
        is_whole
    };
    let often = Duration::from_millis(500);
    let turns = (1..20).find(|&turns| is_heard(at(0) + turns * often));
    assert_eq!(turns, Some(8), "{ACTIVITY_MAX:?}");
    // After a silence the attack has left no memory in use.
    let piece = received_part(9, 0, 2, b"x");
    incoming.take(
        at(0) + Duration::from_secs(20),
        at(0),
        peer(5_000),
        piece,
        MESSAGE_MAX,
    );
    assert!(incoming.bytes() < 1_000);
}

/// Each message is longer than the memory limit, for example a list of sessions at a server with little memory.
#[test]
fn simultaneous_messages_do_not_evict_each_other() {
    let mut incoming = PartReceiver::with_limit(4 * PART);
    let all: Vec<i32> = (0..10).collect();
    let mut missing = vec![all; 5];
    let (mut now, mut content) = (at(0), 1);
    for _ in 0..20 {
        for part in 0..10 {
            for (port, missing) in (1..).zip(&mut missing) {
                if !missing.contains(&part) {
                    continue;
                }
                // The first peer always has another message, and sends it before the other peers send their messages.
                let number = if port == 1 { content } else { 1 };
                let piece = received_part(number, part, 10, &[0; PART]);
                let took = incoming.take(now, now, peer(port), piece, MESSAGE_MAX);
                if matches!(took, PartOutcome::Complete { .. }) && port == 1 {
                    content += 1;
                } else if matches!(took, PartOutcome::Complete { .. }) {
                    missing.clear();
                }
            }
        }
        now = now + RETRY;
    }
    assert!(missing[1..].iter().all(Vec::is_empty), "{missing:?}");
    assert!(content > 2);
}

#[test]
fn memory_of_sent_messages_is_bounded_over_all_peers() {
    let mut outgoing = PartSender::default();
    for fill in 0..3 {
        let message = message(MESSAGE_MAX, fill);
        for port in 1..700 {
            outgoing.send(at(0), peer(port), Kind::Grant, &message);
            assert!(outgoing.bytes() <= TOTAL_MAX + 10 * MESSAGE_MAX);
        }
    }
    assert!(outgoing.bytes() > TOTAL_MAX / 2);
}
