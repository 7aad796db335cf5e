//! Tests of encrypted streams.

mod attacks;
mod pair;
mod vectors;

use pair::{Pair, keyring};
use proptest::prelude::*;

use super::{RECORD_DATA_MAX, SecureStream, StreamKeys, StreamState};
use crate::DropReason;

#[test]
fn both_sides_read_the_bytes_and_the_end_of_the_other_side() {
    let mut pair = Pair::new();
    pair.open();
    for (from, text) in [(0, "question"), (1, "answer")] {
        assert_eq!(pair.ends[from].seal(text.as_bytes()), text.len());
        pair.settle();
        assert_eq!(pair.read(1 - from), text.as_bytes());
        assert!(!pair.ends[1 - from].has_ended());
    }
    // The two sides of a stream end independently.
    pair.ends[1].seal_end();
    pair.settle();
    assert!(pair.ends[0].has_ended() && !pair.ends[1].has_ended());
    pair.ends[0].seal(b"late");
    pair.ends[0].seal_end();
    pair.settle();
    assert!(
        !pair.ends[1].has_ended(),
        "the end comes after all the data"
    );
    assert_eq!(pair.read(1), b"late");
    assert!(pair.ends[1].has_ended());
}

#[test]
fn the_responder_is_established_only_after_the_first_record() {
    let mut pair = Pair::new();
    pair.deliver(0);
    assert_eq!(pair.ends[1].state(), StreamState::Handshake);
    pair.deliver(1);
    assert_eq!(pair.ends[0].state(), StreamState::Encrypted);
    assert_eq!(pair.ends[1].state(), StreamState::Handshake);
    pair.deliver(0);
    assert_eq!(pair.ends[1].state(), StreamState::Encrypted);
    let ids = pair.ends.each_ref().map(SecureStream::key_id);
    assert_eq!(ids, [Some(keyring(&[1]).signing_id()); 2]);
}

/// The first key opens a stream, and all keys accept one. Therefore, the keys of a ring can be replaced one after the
/// other.
#[test]
fn each_key_of_the_responder_accepts() {
    for (ids, opens) in [(&[1, 2][..], true), (&[2, 1], true), (&[2], false)] {
        let mut pair = Pair::with([
            StreamKeys::new(&keyring(&[1]), false),
            StreamKeys::new(&keyring(ids), false),
        ]);
        let results = pair.exchange();
        if opens {
            assert_eq!(pair.ends[1].state(), StreamState::Encrypted, "{ids:?}");
        } else {
            assert_eq!(results, [Ok(()), Err(DropReason::UnknownKey)]);
        }
    }
}

#[test]
fn two_keys_with_the_same_id_open_no_stream() {
    let other = pair::keyring_of(&[(1, 9)]);
    let keys = [keyring(&[1]), other].map(|it| StreamKeys::new(&it, true));
    let mut pair = Pair::with(keys);
    assert_eq!(pair.exchange(), [Ok(()), Err(DropReason::WrongMac)]);
}

/// Each case is a step of the rollout of keys: the keys of the initiator and the keys of the responder.
#[test]
fn nodes_get_their_keys_one_after_the_other() {
    let none = StreamKeys::none;
    let accepting = || StreamKeys::new(&keyring(&[1]), true);
    let required = || StreamKeys::new(&keyring(&[1]), false);
    for (keys, expected) in [
        ([none(), none()], Ok(StreamState::Plain)),
        ([accepting(), none()], Ok(StreamState::Plain)),
        ([none(), accepting()], Ok(StreamState::Plain)),
        ([accepting(), accepting()], Ok(StreamState::Encrypted)),
        ([required(), accepting()], Ok(StreamState::Encrypted)),
        ([accepting(), required()], Ok(StreamState::Encrypted)),
        ([required(), required()], Ok(StreamState::Encrypted)),
        (
            [none(), required()],
            Err([Ok(()), Err(DropReason::Unsigned)]),
        ),
        (
            [required(), none()],
            Err([Err(DropReason::Unsigned), Ok(())]),
        ),
    ] {
        let name = format!(
            "{:?}",
            keys.each_ref().map(|it| (it.is_empty(), it.permits(None)))
        );
        let mut pair = Pair::with(keys);
        // Without encryption, the caller writes the data directly to the connection.
        let is_plain = pair.ends[0].state() == StreamState::Plain;
        let results = pair.exchange();
        let first = if is_plain {
            let keys = &pair.keys[1];
            [Ok(()), pair.ends[1].receive(keys, b"plain")]
        } else {
            results
        };
        match expected {
            Err(expected) => assert_eq!(first, expected, "{name}"),
            Ok(state) => {
                assert_eq!(first, [Ok(()), Ok(())], "{name}");
                assert_eq!(
                    pair.ends.each_ref().map(SecureStream::state),
                    [state; 2],
                    "{name}"
                );
                if is_plain {
                    assert_eq!(pair.read(1), b"plain", "{name}");
                }
            }
        }
    }
}

/// After the refusal, the initiator continues without encryption on the same connection.
#[test]
fn bytes_after_a_refused_handshake_are_not_lost() {
    let keys = StreamKeys::new(&keyring(&[1]), true);
    let mut pair = Pair::with([keys, StreamKeys::none()]);
    pair.settle();
    for (to, text) in [(1, b"to the responder"), (0, b"to the initiator")] {
        let (keys, end) = (&pair.keys[to], &mut pair.ends[to]);
        end.receive(keys, text).expect("it is not encrypted");
        assert_eq!(pair.read(to), text);
    }
}

#[test]
fn a_stream_without_encryption_may_begin_with_any_other_bytes() {
    for bytes in [&b"x"[..], b"KEX", b"KEY\x02 and more"] {
        let mut pair = Pair::with([StreamKeys::none(), StreamKeys::none()]);
        let (keys, end) = (&pair.keys[1], &mut pair.ends[1]);
        for byte in bytes {
            end.receive(keys, &[*byte]).expect("it is not encrypted");
        }
        assert_eq!(end.state(), StreamState::Plain);
        assert_eq!(pair.read(1), bytes);
    }
}

#[test]
fn bytes_after_the_end_do_not_count() {
    let mut pair = Pair::new();
    pair.open();
    pair.ends[0].seal(b"data");
    pair.ends[0].seal_end();
    pair.ends[0].seal(b"more");
    assert_eq!(pair.exchange(), [Ok(()), Ok(())]);
    assert_eq!(pair.read(1), b"data");
    assert!(pair.ends[1].has_ended());
}

#[test]
fn a_record_holds_a_limited_number_of_bytes() {
    let mut pair = Pair::new();
    pair.open();
    let long = vec![7; RECORD_DATA_MAX + 1];
    assert_eq!(pair.ends[0].seal(&long), RECORD_DATA_MAX);
    assert_eq!(pair.ends[0].seal(&long[RECORD_DATA_MAX..]), 1);
    pair.settle();
    assert_eq!(pair.read(1), long);
}

#[test]
fn debug_shows_neither_keys_nor_data() {
    let mut pair = Pair::new();
    pair.open();
    pair.ends[0].seal(b"secret");
    pair.settle();
    let text = format!("{:?}", pair.ends[1]);
    assert_eq!(text, "SecureStream { state: Encrypted, key: Some(1), .. }");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Delivers all bytes in pieces of random lengths, down to one byte.
    #[test]
    fn the_pieces_of_the_connection_do_not_matter(
        parts in prop::collection::vec(0_usize..70_000, 1..6),
        pieces in prop::collection::vec(1_usize..3000, 1..40),
    ) {
        let mut pair = Pair::new();
        let mut pieces = pieces.into_iter().cycle();
        let mut expected = Vec::new();
        pair.open_in_pieces(&mut pieces);
        for (at, len) in (1..).zip(parts) {
            let mut bytes = &vec![at; len][..];
            expected.extend_from_slice(bytes);
            while !bytes.is_empty() {
                bytes = &bytes[pair.ends[0].seal(bytes)..];
            }
        }
        pair.ends[0].seal_end();
        pair.deliver_in_pieces(0, &mut pieces);
        prop_assert_eq!(pair.read(1), expected);
        prop_assert!(pair.ends[1].has_ended());
    }
}
