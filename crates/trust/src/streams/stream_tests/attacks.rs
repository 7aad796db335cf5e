//! An attacker changes, cuts, repeats and reflects the bytes of a stream.

use super::pair::{Pair, ends, keyring};
use crate::DropReason;
use crate::streams::{SecureStream, StreamEnds, StreamKeys, StreamState};

/// The bytes of a whole stream: the bytes of the initiator before and after the answer, and the bytes of the responder.
struct Recorded {
    question: Vec<u8>,
    answer: Vec<u8>,
    records: Vec<u8>,
}

fn record() -> Recorded {
    let mut pair = Pair::new();
    let question = pair.deliver(0);
    let answer = pair.deliver(1);
    pair.ends[0].seal(b"some data");
    pair.ends[0].seal_end();
    let records = pair.deliver(0);
    assert_eq!(pair.read(1), b"some data");
    Recorded {
        question,
        answer,
        records,
    }
}

/// Returns a pair that has made the first `steps` steps of the recorded stream.
fn pair_after(steps: usize) -> Pair {
    let mut pair = Pair::new();
    for from in [0, 1].into_iter().take(steps) {
        pair.deliver(from);
    }
    pair
}

fn receive(pair: &mut Pair, to: usize, bytes: &[u8]) -> Result<(), DropReason> {
    pair.ends[to].receive(&pair.keys[to], bytes)
}

#[test]
fn a_changed_handshake_opens_no_stream() {
    let recorded = record();
    for (steps, to, bytes) in [(0, 1, &recorded.question), (1, 0, &recorded.answer)] {
        for at in 0..bytes.len() {
            let mut pair = pair_after(steps);
            let mut changed = bytes.clone();
            // The last byte of a public key contains a bit without a meaning. But the handshake also authenticates this
            // bit.
            changed[at] ^= 0x80;
            let error = receive(&mut pair, to, &changed).expect_err("it is changed");
            assert_eq!(pair.ends[to].state(), StreamState::Failed(error));
            assert_eq!(
                receive(&mut pair, to, bytes),
                Err(error),
                "an error is final"
            );
        }
    }
}

#[test]
fn a_changed_record_ends_the_stream() {
    let Recorded { records, .. } = record();
    for at in 0..records.len() {
        let mut pair = pair_after(2);
        let mut changed = records.clone();
        changed[at] ^= 0x40;
        // If the length was increased, the receiver waits for more bytes, but never returns wrong data.
        let result = receive(&mut pair, 1, &changed);
        let data = pair.read(1);
        assert!(data.is_empty() || data == b"some data", "{at}: {data:?}");
        assert!(!pair.ends[1].has_ended(), "{at}: {result:?}");
    }
}

#[test]
fn a_cut_stream_has_no_end() {
    let recorded = record();
    for len in 0..recorded.question.len() {
        let mut pair = Pair::new();
        assert_eq!(receive(&mut pair, 1, &recorded.question[..len]), Ok(()));
        assert_eq!(pair.ends[1].state(), StreamState::Handshake);
        assert!(pair.ends[1].output().is_empty(), "{len}");
    }
    for len in 0..recorded.answer.len() {
        let mut pair = pair_after(1);
        assert_eq!(receive(&mut pair, 0, &recorded.answer[..len]), Ok(()));
        assert_eq!(pair.ends[0].state(), StreamState::Handshake);
    }
    for len in 0..recorded.records.len() {
        let mut pair = pair_after(2);
        assert_eq!(receive(&mut pair, 1, &recorded.records[..len]), Ok(()));
        pair.read(1);
        assert!(!pair.ends[1].has_ended(), "{len}");
    }
}

/// The responder of a new connection uses a new random number, so recorded records are wrong for it.
#[test]
fn a_repeated_stream_is_never_established() {
    let recorded = record();
    let keys = || StreamKeys::new(&keyring(&[1]), false);
    let mut pair = Pair::seeded([keys(), keys()], [1, 3]);
    assert_eq!(receive(&mut pair, 1, &recorded.question), Ok(()));
    assert_eq!(pair.ends[1].state(), StreamState::Handshake);
    let result = receive(&mut pair, 1, &recorded.records);
    assert_eq!(result, Err(DropReason::WrongMac));
    assert!(pair.read(1).is_empty());
    // The initiator of a new connection does not accept a recorded answer.
    let mut pair = Pair::seeded([keys(), keys()], [3, 2]);
    let result = receive(&mut pair, 0, &recorded.answer);
    assert_eq!(result, Err(DropReason::WrongMac));
}

#[test]
fn a_repeated_or_missing_record_ends_the_stream() {
    let mut pair = Pair::new();
    pair.open();
    pair.ends[0].seal(b"one");
    let first = pair.take(0);
    pair.ends[0].seal(b"two");
    let second = pair.take(0);
    for order in [[&first, &first], [&second, &first]] {
        let mut pair = Pair::new();
        pair.open();
        let results = order.map(|bytes| receive(&mut pair, 1, bytes));
        assert!(results.contains(&Err(DropReason::WrongMac)), "{results:?}");
        let data = pair.read(1);
        assert!(data.is_empty() || data == b"one");
    }
}

#[test]
fn a_reflected_stream_is_refused() {
    let mut pair = Pair::new();
    let question = pair.take(0);
    let result = receive(&mut pair, 0, &question);
    assert_eq!(result, Err(DropReason::WrongMac));
    let mut pair = Pair::new();
    pair.open();
    pair.ends[0].seal(b"data");
    let records = pair.take(0);
    let result = receive(&mut pair, 0, &records);
    assert_eq!(result, Err(DropReason::WrongMac));
}

/// An attacker passes the bytes of a connection on to another node, or to another system with the same key.
#[test]
fn a_handshake_belongs_to_one_connection_of_one_system() {
    let other = |change: fn(&mut StreamEnds)| {
        let mut ends = ends();
        change(&mut ends);
        ends
    };
    for responder in [
        other(|ends| ends.system = "other"),
        other(|ends| ends.initiator.set_port(1)),
        other(|ends| ends.initiator.set_ip([192, 0, 2, 9].into())),
        other(|ends| ends.responder.set_port(1)),
        other(|ends| ends.responder.set_ip([192, 0, 2, 9].into())),
    ] {
        let mut pair = Pair::new();
        pair.ends[1] = SecureStream::responder(responder, [2; 32]);
        let question = pair.take(0);
        let result = receive(&mut pair, 1, &question);
        assert_eq!(result, Err(DropReason::WrongMac), "{responder:?}");
    }
}

#[test]
fn an_attacker_cannot_remove_the_encryption() {
    let mut pair = Pair::new();
    let refusal = b"KEY\x01\0\0\0\0";
    assert_eq!(receive(&mut pair, 0, refusal), Err(DropReason::Unsigned));
    let mut pair = Pair::new();
    assert_eq!(receive(&mut pair, 1, b"\x21"), Err(DropReason::Unsigned));
}

#[test]
fn the_first_record_has_no_data() {
    let mut pair = pair_after(2);
    let first = pair.take(0);
    assert_eq!(first.len(), 2 + 17);
    pair.ends[0].seal(b"data");
    let second = pair.take(0);
    assert!(receive(&mut pair, 1, &second).is_err());
    for len in [0_u16, 16, 16 + 16 * 1024 + 2, u16::MAX] {
        let mut pair = pair_after(2);
        let result = receive(&mut pair, 1, &len.to_be_bytes());
        assert_eq!(result, Err(DropReason::Malformed), "{len}");
    }
}
