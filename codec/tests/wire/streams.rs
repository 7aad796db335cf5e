//! Streams: what is not complete is told apart from what is wrong, and wrong is told at once.

use std::fmt::Debug;

use ring_codec::jitterbug::{self, MAX_NODES, Message, Node};
use ring_codec::{DecodeError, Field, Problem, StreamState, Streamed, andrews};

use crate::corpus;

const OPEN: StreamState = StreamState::Open;

fn tp(bytes: &[u8], max_nodes: u32) -> Result<Streamed<Message<'_>>, DecodeError> {
    Message::decode_stream(bytes, OPEN, max_nodes)
}

/// How many bytes are said to be missing.
fn more<M: Debug>(streamed: Result<Streamed<M>, DecodeError>) -> usize {
    match streamed.expect("nothing wrong so far") {
        Streamed::Incomplete { more } => more,
        whole @ Streamed::Message { .. } => panic!("{whole:?}"),
    }
}

#[test]
fn messages_on_one_stream_are_told_apart() {
    let (tp1, tp4) = (
        corpus::seed("jitterbug", "tp1"),
        corpus::seed("jitterbug", "tp4"),
    );
    let bytes = [tp1.as_slice(), &tp4].concat();
    let Ok(Streamed::Message { message, consumed }) = tp(&bytes, MAX_NODES) else {
        panic!("TP1 is there");
    };
    assert!(matches!(message, Message::Tp1 { .. }));
    assert_eq!(consumed, tp1.len());
    let Ok(Streamed::Message { message, consumed }) = tp(&bytes[consumed..], MAX_NODES) else {
        panic!("TP4 is there");
    };
    assert!(matches!(message, Message::Tp4 { .. }));
    assert_eq!(consumed, tp4.len());

    let (token, ack) = (
        corpus::seed("andrews", "token"),
        corpus::seed("andrews", "token_ack"),
    );
    let bytes = [token.as_slice(), &ack].concat();
    let Ok(Streamed::Message { consumed, .. }) = andrews::Frame::decode_stream(&bytes, OPEN) else {
        panic!("TOKEN is there");
    };
    assert_eq!(consumed, token.len());
}

#[test]
fn what_is_missing_is_known_as_soon_as_its_length_is() {
    assert_eq!(more(tp(&[], MAX_NODES)), 1);
    assert_eq!(more(tp(&[0x21, 0, 0], MAX_NODES)), 6);
    // Two nodes of at least 7 bytes; when the first turns out to have 19, the second still has 7.
    assert_eq!(more(tp(&[0x51, 0, 0, 0, 2], MAX_NODES)), 14);
    assert_eq!(more(tp(&[0x51, 0, 0, 0, 2, 1, 0, 0], MAX_NODES)), 16 + 7);
    // A TP5 waits for a byte or the end, whatever it has.
    assert_eq!(more(tp(&corpus::seed("jitterbug", "tp5"), MAX_NODES)), 1);

    let ring = corpus::seed("andrews", "election_ring_based");
    let frame = |len: usize| andrews::Frame::decode_stream(&ring[..len], OPEN);
    assert_eq!(more(frame(0)), 12);
    assert_eq!(more(frame(11)), 1);
    assert_eq!(more(frame(12)), 4);
    assert_eq!(more(frame(20)), 8);
    assert_eq!(more(frame(27)), 1);
}

#[test]
fn a_stream_that_ends_too_soon_is_an_error_at_the_field_that_is_cut() {
    let bytes = [0x51, 0, 0, 0, 2, 0, 192, 0];
    let error = Message::decode_stream(&bytes, StreamState::Ended, MAX_NODES).unwrap_err();
    assert_eq!((error.field, error.offset), (Field::Address, 6));
    assert_eq!(error.problem, Problem::Truncated { need: 4, have: 2 });
}

#[test]
fn a_count_above_the_limit_is_wrong_before_a_node_has_come() {
    let count = |count: u32| [[0x51].as_slice(), &count.to_be_bytes()].concat();
    let refused = |bytes: &[u8], limit| tp(bytes, limit).unwrap_err();

    let error = refused(&count(MAX_NODES + 1), MAX_NODES);
    assert_eq!((error.field, error.offset), (Field::Count, 1));
    let (value, max) = (u64::from(MAX_NODES) + 1, MAX_NODES.into());
    assert_eq!(error.problem, Problem::TooLarge { value, max });
    assert_eq!(more(tp(&count(MAX_NODES), MAX_NODES)), 7 * 65_536);

    let error = refused(&count(9), 8);
    assert_eq!(error.problem, Problem::TooLarge { value: 9, max: 8 });
    // No caller gets past the format's own limit.
    let error = refused(&count(u32::MAX), u32::MAX);
    let value = u32::MAX.into();
    assert_eq!(error.problem, Problem::TooLarge { value, max });
}

#[test]
fn a_frame_that_cannot_become_legal_is_wrong_at_the_byte_that_makes_it_so() {
    let refused = |bytes: &[u8]| {
        let error = andrews::Frame::decode_stream(bytes, OPEN).unwrap_err();
        (error.field, error.offset, error.problem)
    };
    // TOKEN, 9 bytes of payload, none of them here.
    let nine = [1, 4, 0, 0, 0, 0, 0, 2, 0, 0, 0, 9];
    let problem = Problem::WrongLength {
        value: 9,
        expected: 8,
    };
    let mut token = nine.to_vec();
    token.extend([0; 8]);
    assert_eq!(refused(&token), (Field::PayloadLen, 8, problem));
    let seven = [1, 4, 0, 0, 0, 0, 0, 2, 0, 0, 0, 7];
    let problem = Problem::WrongLength {
        value: 7,
        expected: 8,
    };
    assert_eq!(refused(&seven), (Field::PayloadLen, 8, problem));
    // 65,536 bytes of payload for 3 ids, none of them here.
    let mut ring = corpus::seed("andrews", "election_ring_based")[..20].to_vec();
    ring[8..12].copy_from_slice(&65_536_u32.to_be_bytes());
    ring[16..20].copy_from_slice(&3_u32.to_be_bytes());
    let problem = Problem::WrongLength {
        value: 65_536,
        expected: 20,
    };
    assert_eq!(refused(&ring), (Field::PayloadLen, 8, problem));
}

#[test]
fn a_list_that_comes_byte_by_byte_is_walked_a_few_times_only() {
    let nodes: Vec<_> = (0..MAX_NODES)
        .map(|i| Node {
            ip: std::net::Ipv6Addr::from(u128::from(i)).into(),
            port: 1,
        })
        .collect();
    let message = Message::Tp4 {
        node_list: nodes.as_slice().into(),
    };
    let mut bytes = vec![0; message.encoded_len()];
    message.encode(&mut bytes).unwrap();
    let (mut have, mut walks) = (0, 0);
    while let Ok(Streamed::Incomplete { more }) = tp(&bytes[..have], MAX_NODES) {
        have += more;
        walks += 1;
        assert!(walks < 40, "at {have} of {} bytes", bytes.len());
    }
    assert_eq!(have, bytes.len());
    let consumed = have;
    let whole = tp(&bytes, MAX_NODES);
    assert_eq!(whole, Ok(Streamed::Message { message, consumed }));
}

#[test]
fn a_list_is_hashed_as_its_bytes_wherever_it_lies() {
    let bytes = corpus::seed("jitterbug", "tp4");
    let Ok(Streamed::Message { message, .. }) = tp(&bytes, MAX_NODES) else {
        panic!("TP4 is there");
    };
    let Message::Tp4 { node_list } = message else {
        panic!("{message:?}");
    };
    let nodes: Vec<_> = node_list.iter().collect();
    let given = nodes.as_slice().into();
    assert_eq!(node_list, given);
    let hash = jitterbug::node_list_hash(&node_list);
    assert_eq!(hash, jitterbug::node_list_hash(&given));
    // Worked out by hand for the page.
    assert_eq!(hash, 0x3ebb_a578);
}
