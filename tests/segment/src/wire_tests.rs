use std::time::Duration;

use super::*;

const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0, 0, 0, 0, 2];
const TOKEN: [u8; 18] = [0, 0, 0, 0, 0, 0, 1, 2, 2, 0, 0, 0, 0, 2, 0, 0, 0, 9];
const DIGEST: [u8; 12] = [0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8];
const IP: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1];

fn token() -> Token {
    Token {
        progress: 0x102,
        author: B.into(),
        number: 9,
    }
}

fn digest() -> Digest {
    Digest {
        size: 2,
        hash: 0x0102_0304_0506_0708,
    }
}

fn payload(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    [&[kind, 0][..], &A, &parts.concat()].concat()
}

fn every_message() -> Vec<(Message, Vec<u8>)> {
    let (token, digest, data) = (token(), digest(), b"work".to_vec());
    let tenure: [&[u8]; 4] = [&TOKEN, &DIGEST, &[0, 4], b"work"];
    let (mac, ip) = (B.into(), IP);
    let take = Message::TakeToken {
        token,
        digest,
        data: data.clone(),
    };
    let here = Message::TokenIsHere {
        token,
        digest,
        data,
    };
    let was_here = Message::TokenWasHereRecently { token, holder: mac };
    let members = vec![Member { mac, ip }];
    let message = Message::RingMembers { digest, members };
    let members = vec![A.into(), mac];
    vec![
        (take, payload(1, &tenure)),
        (here, payload(2, &tenure)),
        (Message::Ping { digest, ip }, payload(3, &[&DIGEST, &IP])),
        (was_here, payload(4, &[&TOKEN, &B])),
        (Message::WhereIsToken, payload(5, &[])),
        (Message::GeneratingToken { token }, payload(6, &[&TOKEN])),
        (message, payload(7, &[&DIGEST, &[0, 1], &B, &IP])),
        (Message::WantToken, payload(8, &[])),
        (Message::Leaving, payload(9, &[])),
        (Message::Forget { members }, payload(11, &[&[0, 2], &A, &B])),
    ]
}

fn read(payload: &[u8]) -> Message {
    let bytes = frame(MacAddr::broadcast(), A.into(), ETHERTYPE, payload);
    Seen::read(Duration::ZERO, 0, bytes)
        .expect("a frame")
        .message
}

#[test]
fn every_kind_of_message_is_written_in_the_layout_of_the_document() {
    for (message, bytes) in every_message() {
        assert_eq!(message.payload(A.into()), bytes, "{message:?}");
    }
}

#[test]
fn every_kind_of_message_is_read_back_with_or_without_padding() {
    for (message, mut bytes) in every_message() {
        assert_eq!(read(&bytes), message);
        bytes.resize(1500, 0xee);
        assert_eq!(read(&bytes), message);
    }
}

#[test]
fn every_truncated_message_is_invalid() {
    for (message, bytes) in every_message() {
        for length in 0..bytes.len() {
            assert!(
                matches!(read(&bytes[..length]), Message::Invalid(_)),
                "{message:?} {length}"
            );
        }
    }
}

#[test]
fn messages_that_the_document_forbids_are_invalid() {
    let with = |offset: usize, byte: u8| {
        let mut bytes = every_message()[0].1.clone();
        bytes[offset] = byte;
        read(&bytes)
    };
    for (offset, byte) in [(0, 0), (0, 10), (1, 1), (7, 3), (8, 0x80), (38, 5)] {
        assert!(
            matches!(with(offset, byte), Message::Invalid(_)),
            "byte {byte} at {offset}"
        );
    }
    let group = frame(
        A.into(),
        [3, 0, 0, 0, 0, 1].into(),
        ETHERTYPE,
        &[5, 0, 3, 0, 0, 0, 0, 1],
    );
    let seen = Seen::read(Duration::ZERO, 0, group).expect("a frame");
    assert!(matches!(seen.message, Message::Invalid(_)));
}

#[test]
fn the_stronger_token_has_more_progress_then_the_smaller_author_then_the_smaller_number() {
    let base = token();
    let (progress, author, number) = (0x103, A.into(), 8);
    assert!(Token { progress, ..base }.beats(&base));
    assert!(Token { author, ..base }.beats(&base));
    assert!(Token { number, ..base }.beats(&base));
    assert!(!base.beats(&base));
}

#[test]
fn a_table_is_hashed_in_the_order_of_its_macs() {
    let member = |mac: [u8; 6], ip| Member {
        mac: mac.into(),
        ip,
    };
    let (first, second) = (member(A, [0; 16]), member(B, IP));
    assert_eq!(digest_of(&[second, first]), digest_of(&[first, second]));
    // The published XXH3-64 of empty input, with seed 0.
    assert_eq!(
        digest_of(&[]),
        Digest {
            size: 0,
            hash: 0x2d06_8005_38d3_94c2
        }
    );
}

#[test]
fn the_records_of_locks_are_read() {
    let mut record = [0; 147];
    record[..2].copy_from_slice(b"db");
    record[64..70].copy_from_slice(&B);
    record[78..81].copy_from_slice(&[1, 2, 1]);
    let head: [&[u8]; 5] = [&TOKEN, &[0; 7], &[1, 2, 0], &[0; 24], &[0, 1]];
    let locks = |record: &[u8]| read(&payload(12, &[&head.concat(), record]));
    let lock = Lock {
        name: "db".to_owned(),
        member: B.into(),
        mode: 1,
        grade: 2,
        state: 1,
    };
    let (purpose, list) = (2, vec![lock]);
    assert_eq!(
        locks(&record),
        Message::Locks {
            purpose,
            locks: list
        }
    );
    for (at, byte) in [(0, 0), (78, 2), (79, 3), (80, 4)] {
        let mut record = record;
        record[at] = byte;
        assert!(matches!(locks(&record), Message::Invalid(_)), "{at}");
    }
    let question = |len| read(&payload(13, &[&[2], &[1; 8], &vec![0; len]]));
    let from = 0x0101_0101_0101_0101;
    assert_eq!(question(512), Message::LocksQuestion { from });
    assert!(matches!(question(511), Message::Invalid(_)));
}

#[test]
fn a_frame_of_a_survey_has_all_the_entries_that_it_announces() {
    for (kind, head, at, entry) in [
        (14, 14, 12, 6),
        (15, 48, 46, 1),
        (16, 26, 24, 1),
        (17, 22, 20, 29),
    ] {
        let mut body = vec![0; head + entry];
        body[at + 1] = 1;
        assert_eq!(read(&payload(kind, &[&body])), Message::OfSurvey { kind });
        body.pop();
        let short = read(&payload(kind, &[&body]));
        assert!(matches!(short, Message::Invalid(_)), "{kind}");
    }
}

#[test]
fn a_profile_is_found_after_the_body_or_the_trailer() {
    let deaf = |payload: Vec<u8>| {
        let bytes = frame(B.into(), A.into(), ETHERTYPE, &payload);
        let seen = Seen::read(Duration::ZERO, 0, bytes).expect("a frame");
        seen.author_is_deaf()
    };
    let profile = |flags: u8| [b"RGD2", &[flags][..], &[0; 38]].concat();
    let (tenure, beat) = (
        [&TOKEN[..], &DIGEST, &[0, 1, 7]].concat(),
        b"RGD1\0\0\0\x05",
    );
    let promise = [&b"RGD1"[..], &[1; 31]].concat();
    for (kind, parts) in [
        (2, vec![&tenure[..]]),
        (2, vec![&tenure, beat]),
        (3, vec![&DIGEST, &IP]),
        (3, vec![&DIGEST, &IP, &promise]),
        (5, vec![]),
        (6, vec![&TOKEN[..]]),
        (8, vec![]),
    ] {
        let with = |flags| [payload(kind, &parts), profile(flags)].concat();
        assert_eq!(deaf(with(1)), Some(true), "kind {kind}");
        assert_eq!(deaf(with(2)), Some(false), "kind {kind}");
        assert_eq!(deaf(payload(kind, &parts)), None, "kind {kind}");
        let mut short = with(1);
        short.pop();
        assert_eq!(deaf(short), None, "kind {kind}");
    }
}
