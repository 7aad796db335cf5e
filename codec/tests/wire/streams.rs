//! Tests that the stream decoders distinguish incomplete messages from illegal messages, and report an illegal message
//! at once.

use std::fmt::Debug;

use ring_codec::jitterbug::{self, MAX_NODES, Message, Node};
use ring_codec::{DecodeError, Field, Problem, StreamState, Streamed, andrews};

use crate::corpus;

const OPEN: StreamState = StreamState::Open;

fn tp(bytes: &[u8], max_nodes: u32) -> Result<Streamed<Message<'_>>, DecodeError> {
    Message::decode_stream(bytes, OPEN, max_nodes)
}

fn missing<M: Debug>(streamed: Result<Streamed<M>, DecodeError>) -> usize {
    match streamed.expect("a legal part of a message") {
        Streamed::Incomplete { more } => more,
        whole @ Streamed::Message { .. } => panic!("{whole:?}"),
    }
}

#[test]
fn the_decoder_separates_the_messages_of_a_stream() {
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
fn the_decoder_asks_for_the_bytes_whose_number_it_knows() {
    assert_eq!(missing(tp(&[], MAX_NODES)), 1);
    assert_eq!(missing(tp(&[0x21, 0, 0], MAX_NODES)), 6);
    // Two nodes have at least 7 bytes each. The first one turns out to have 19, and the second one still has at least
    // 7.
    assert_eq!(missing(tp(&[0x51, 0, 0, 0, 2], MAX_NODES)), 14);
    assert_eq!(missing(tp(&[0x51, 0, 0, 0, 2, 1, 0, 0], MAX_NODES)), 16 + 7);
    // A TP5 always waits for another byte or the end.
    assert_eq!(missing(tp(&corpus::seed("jitterbug", "tp5"), MAX_NODES)), 1);

    let ring = corpus::seed("andrews", "election_ring_based");
    let frame = |len: usize| andrews::Frame::decode_stream(&ring[..len], OPEN);
    assert_eq!(missing(frame(0)), 12);
    assert_eq!(missing(frame(11)), 1);
    assert_eq!(missing(frame(12)), 4);
    assert_eq!(missing(frame(20)), 8);
    assert_eq!(missing(frame(27)), 1);
}

#[test]
fn a_stream_that_ends_early_is_an_error_at_the_incomplete_field() {
    let bytes = [0x51, 0, 0, 0, 2, 0, 192, 0];
    let error = Message::decode_stream(&bytes, StreamState::Ended, MAX_NODES).unwrap_err();
    assert_eq!((error.field, error.offset), (Field::Address, 6));
    assert_eq!(error.problem, Problem::Truncated { need: 4, have: 2 });
}

#[test]
fn a_count_above_the_limit_is_an_error_before_the_first_node() {
    let count = |count: u32| [[0x51].as_slice(), &count.to_be_bytes()].concat();
    let refused = |bytes: &[u8], limit| tp(bytes, limit).unwrap_err();

    let error = refused(&count(MAX_NODES + 1), MAX_NODES);
    assert_eq!((error.field, error.offset), (Field::Count, 1));
    let (value, max) = (u64::from(MAX_NODES) + 1, MAX_NODES.into());
    assert_eq!(error.problem, Problem::TooLarge { value, max });
    assert_eq!(missing(tp(&count(MAX_NODES), MAX_NODES)), 7 * 65_536);

    let error = refused(&count(9), 8);
    assert_eq!(error.problem, Problem::TooLarge { value: 9, max: 8 });
    // A caller cannot raise the format's own limit.
    let error = refused(&count(u32::MAX), u32::MAX);
    let value = u32::MAX.into();
    assert_eq!(error.problem, Problem::TooLarge { value, max });
}

#[test]
fn an_illegal_frame_is_an_error_as_soon_as_it_is_illegal() {
    let refused = |bytes: &[u8]| {
        let error = andrews::Frame::decode_stream(bytes, OPEN).unwrap_err();
        (error.field, error.offset, error.problem)
    };
    // A TOKEN that declares 9 bytes of payload.
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
    // The header declares 65,536 bytes of payload for 3 ids. No id has arrived.
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
fn a_long_list_needs_few_decode_calls() {
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
    let (mut have, mut calls) = (0, 0);
    while let Ok(Streamed::Incomplete { more }) = tp(&bytes[..have], MAX_NODES) {
        have += more;
        calls += 1;
        assert!(
            calls < 40,
            "more than 40 calls at {have} of {} bytes",
            bytes.len()
        );
    }
    assert_eq!(have, bytes.len());
    let consumed = have;
    let whole = tp(&bytes, MAX_NODES);
    assert_eq!(whole, Ok(Streamed::Message { message, consumed }));
}

#[test]
fn the_hash_of_a_decoded_list_equals_that_of_its_nodes() {
    let bytes = corpus::seed("jitterbug", "tp4");
    let Ok(Streamed::Message { message, .. }) = tp(&bytes, MAX_NODES) else {
        panic!("TP4 is there");
    };
    let Message::Tp4 { node_list } = message else {
        panic!("{message:?}");
    };
    let nodes: Vec<_> = node_list.iter().collect();
    let list = nodes.as_slice().into();
    assert_eq!(node_list, list);
    let hash = jitterbug::node_list_hash(&node_list);
    assert_eq!(hash, jitterbug::node_list_hash(&list));
    // The page's value, which was computed by hand.
    assert_eq!(hash, 0x3ebb_a578);
}
