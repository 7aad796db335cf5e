//! Every reason to refuse a message, in both directions: the field, its offset and the problem.

use hex_literal::hex;
use ring_codec::andrews::{self, Election};
use ring_codec::ftn::{self, Assignment, Holders, Token};
use ring_codec::jitterbug::{self, Node};
use ring_codec::lab2::{self, Digest, Member};
use ring_codec::{DecodeError, EncodeError, Field, MacAddr, Problem, StreamState, U32};

use crate::corpus;

/// An example with some bytes from `offset` on replaced.
fn damaged(format: &str, seed: &str, offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut message = corpus::seed(format, seed);
    message[offset..offset + bytes.len()].copy_from_slice(bytes);
    message
}

type Row<'a> = (&'a str, usize, &'a [u8], Field, usize, Problem);

/// Each row: the example, the bytes to put at an offset; the field, offset and problem reported.
fn refused(format: &str, rows: &[Row<'_>], error: impl Fn(&[u8]) -> Option<DecodeError>) {
    for &(seed, at, bytes, field, offset, problem) in rows {
        let expected = DecodeError {
            field,
            offset,
            problem,
        };
        let found = error(&damaged(format, seed, at, bytes));
        assert_eq!(found, Some(expected), "{seed} with {bytes:02x?} at {at}");
    }
}

const fn unknown(value: u64) -> Problem {
    Problem::Unknown { value }
}

const fn reserved(value: u64) -> Problem {
    Problem::Reserved { value }
}

const fn illegal(value: i64) -> Problem {
    Problem::Illegal { value }
}

const fn too_large(value: u64, max: u64) -> Problem {
    Problem::TooLarge { value, max }
}

const fn wrong_length(value: u64, expected: u64) -> Problem {
    Problem::WrongLength { value, expected }
}

#[test]
fn lab2() {
    let station = Problem::NotAStation;
    let progress = too_large(1 << 63, lab2::MAX_PROGRESS);
    let half: &[u8] = &hex!("8000000000000000");
    let rows: &[Row<'_>] = &[
        ("leaving", 14, &[0], Field::Kind, 14, unknown(0)),
        ("leaving", 14, &[12], Field::Kind, 14, unknown(12)),
        ("leaving", 15, &[1], Field::Reserved, 15, reserved(1)),
        ("ping", 16, &[0; 6], Field::MessageAuthorMAC, 16, station),
        ("ping", 16, &[0xff; 6], Field::MessageAuthorMAC, 16, station),
        ("ping", 16, &[3], Field::MessageAuthorMAC, 16, station),
        (
            "ping",
            21,
            &[9],
            Field::MessageAuthorMAC,
            16,
            Problem::NotTheSource,
        ),
        (
            "ping",
            11,
            &[9],
            Field::MessageAuthorMAC,
            16,
            Problem::NotTheSource,
        ),
        ("take_token", 22, half, Field::Progress, 22, progress),
        ("token_is_here", 22, half, Field::Progress, 22, progress),
        (
            "token_was_here_recently",
            22,
            half,
            Field::Progress,
            22,
            progress,
        ),
        ("generating_token", 22, half, Field::Progress, 22, progress),
        (
            "take_token",
            52,
            &[4, 1],
            Field::DataLen,
            52,
            too_large(1025, 1024),
        ),
        (
            "ring_members",
            34,
            &[0, 67],
            Field::Count,
            34,
            too_large(67, 66),
        ),
        ("ring_members", 36, &[0; 6], Field::Mac, 36, station),
        ("forget", 22, &[0, 65], Field::Count, 22, too_large(65, 64)),
        ("forget", 30, &[0xff; 6], Field::Mac, 30, station),
        ("ring_members", 58, &[0xff; 6], Field::Mac, 58, station),
    ];
    refused("lab2", rows, |bytes| lab2::Frame::decode(bytes).err());
    let name = |first: u8| illegal(first.into());
    let most = lab2::MAX_STAMPS_PER_FRAME as u64;
    let rows: &[Row<'_>] = &[
        ("stamps", 22, half, Field::Progress, 22, progress),
        ("stamps", 44, &[5], Field::Purpose, 44, illegal(5)),
        (
            "stamps",
            53,
            &[0, 20],
            Field::StampCount,
            53,
            too_large(20, most),
        ),
        ("stamps", 55, &[0], Field::Name, 55, name(0)),
        ("stamps", 55, b" ", Field::Name, 55, name(b' ')),
        ("stamps", 70, &[1], Field::Name, 55, name(b'n')),
        ("stamps", 87, half, Field::Progress, 87, progress),
        ("stamps", 99, &[1], Field::RunnerMAC, 99, station),
        ("stamps", 105, &[4], Field::Outcome, 105, illegal(4)),
    ];
    refused("lab2", rows, |bytes| lab2::Frame::decode(bytes).err());
}

#[test]
fn lab2_reports_the_first_reason_of_several() {
    let mut bytes = damaged("lab2", "take_token", 14, &[77, 1, 1, 0, 0, 0, 0, 0]);
    bytes[22] = 0x80;
    let field = |bytes: &[u8]| lab2::Frame::decode(bytes).unwrap_err().field;
    assert_eq!(field(&bytes), Field::Kind);
    bytes[14] = 1;
    assert_eq!(field(&bytes), Field::Reserved);
    bytes[15] = 0;
    let problem = lab2::Frame::decode(&bytes).unwrap_err().problem;
    assert_eq!(problem, Problem::NotAStation);
    bytes[16] = 2;
    let problem = lab2::Frame::decode(&bytes).unwrap_err().problem;
    assert_eq!(problem, Problem::NotTheSource);
    bytes[21] = 1;
    assert_eq!(field(&bytes), Field::Progress);
}

#[test]
fn lab2_ignores_padding() {
    for format in crate::checks::FORMATS.iter().filter(|f| f.name == "lab2") {
        for (name, bytes) in corpus::seeds(format) {
            let padded = [bytes.as_slice(), &[0xee; 40]].concat();
            let (plain, padded) = (lab2::Frame::decode(&bytes), lab2::Frame::decode(&padded));
            assert_eq!(plain, padded, "{name}");
        }
    }
}

#[test]
fn lab2_the_borders_are_legal() {
    let top = damaged("lab2", "take_token", 22, &hex!("7fffffffffffffff"));
    assert!(lab2::Frame::decode(&top).is_ok());
    let mut full = damaged("lab2", "take_token", 52, &[4, 0]);
    full.resize(54 + 1024, 7);
    assert!(lab2::Frame::decode(&full).is_ok());
    let mut full = damaged("lab2", "ring_members", 34, &[0, 66]);
    full.resize(36 + 66 * 22, 2);
    assert!(lab2::Frame::decode(&full).is_ok());
    assert_eq!(full.len(), lab2::MAX_FRAME_LEN);
    assert_eq!(lab2::MAX_FRAME_LEN, lab2::ETHERNET_HEADER_LEN + 1474);
}

#[test]
fn jitterbug() {
    let min = i64::from(i32::MIN);
    let rows: &[Row<'_>] = &[
        ("tr2", 0, &[0x12], Field::Version, 0, unknown(2)),
        ("tr2", 0, &[0x10], Field::Version, 0, unknown(0)),
        ("tr2", 0, &[0x81], Field::Type, 0, unknown(8)),
        ("tr2", 0, &[0xf1], Field::Type, 0, unknown(15)),
        (
            "tr2",
            0,
            &[0x61],
            Field::Type,
            0,
            Problem::OtherTransport { value: 6 },
        ),
        ("tr2", 1, &[0; 4], Field::TokenId, 1, illegal(0)),
        ("tr1", 1, &[0x80, 0, 0, 0], Field::TokenId, 1, illegal(min)),
    ];
    refused("jitterbug", rows, |bytes| {
        jitterbug::Message::decode_datagram(bytes).err()
    });
    let rows: &[Row<'_>] = &[
        ("tp1", 0, &[0x22], Field::Version, 0, unknown(2)),
        ("tp1", 0, &[0x81], Field::Type, 0, unknown(8)),
        ("tp6", 33, &[4], Field::Flags, 33, reserved(4)),
        (
            "tp1",
            0,
            &[0x01],
            Field::Type,
            0,
            Problem::OtherTransport { value: 0 },
        ),
        (
            "tp1",
            0,
            &[0x11],
            Field::Type,
            0,
            Problem::OtherTransport { value: 1 },
        ),
        ("tp1", 1, &[0; 4], Field::TokenId, 1, illegal(0)),
        ("tp5", 1, &[0x80, 0, 0, 0], Field::TokenId, 1, illegal(min)),
        (
            "tp4",
            1,
            &[0, 1, 0, 1],
            Field::Count,
            1,
            too_large(65_537, 65_536),
        ),
        ("tp4", 5, &[2], Field::Meta, 5, reserved(2)),
        ("tp4", 12, &[0x81], Field::Meta, 12, reserved(0x81)),
    ];
    refused("jitterbug", rows, |bytes| {
        let max = jitterbug::MAX_NODES;
        jitterbug::Message::decode_stream(bytes, StreamState::Ended, max).err()
    });
}

#[test]
fn andrews() {
    let ring = "election_ring_based";
    let candidate = "election_chang_roberts";
    let rows: &[Row<'_>] = &[
        ("join", 0, &[0], Field::Version, 0, unknown(0)),
        ("join", 0, &[2], Field::Version, 0, unknown(2)),
        ("join", 1, &[0], Field::Type, 1, unknown(0)),
        ("join", 1, &[7], Field::Type, 1, unknown(7)),
        ("join", 2, &[0, 1], Field::Reserved, 2, reserved(1)),
        (
            "join",
            8,
            &[0, 1, 0, 1],
            Field::PayloadLen,
            8,
            too_large(65_537, 65_536),
        ),
        ("join", 11, &[1], Field::PayloadLen, 8, wrong_length(1, 0)),
        (
            "successor",
            11,
            &[3],
            Field::PayloadLen,
            8,
            wrong_length(3, 4),
        ),
        (
            "successor",
            11,
            &[5],
            Field::PayloadLen,
            8,
            wrong_length(5, 4),
        ),
        ("token", 11, &[0], Field::PayloadLen, 8, wrong_length(0, 8)),
        (
            "token_ack",
            11,
            &[9],
            Field::PayloadLen,
            8,
            wrong_length(9, 8),
        ),
        (ring, 11, &[3], Field::PayloadLen, 8, wrong_length(3, 4)),
        (ring, 11, &[7], Field::PayloadLen, 8, wrong_length(7, 8)),
        (ring, 19, &[1], Field::PayloadLen, 8, wrong_length(16, 12)),
        (ring, 19, &[3], Field::PayloadLen, 8, wrong_length(16, 20)),
        (
            ring,
            16,
            &[0, 0, 0x3f, 0xff],
            Field::Count,
            16,
            too_large(16_383, 16_382),
        ),
        (ring, 12, &[0], Field::Method, 12, unknown(0)),
        (ring, 12, &[4], Field::Method, 12, unknown(4)),
        (ring, 13, &[0], Field::ElectionType, 13, unknown(0)),
        (ring, 13, &[3], Field::ElectionType, 13, unknown(3)),
        (candidate, 13, &[3], Field::ElectionType, 13, unknown(3)),
        (
            "election_bully",
            13,
            &[4],
            Field::ElectionType,
            13,
            unknown(4),
        ),
        ("election_bully", 15, &[1], Field::Reserved, 14, reserved(1)),
        (
            "election_bully",
            13,
            &[2],
            Field::PayloadLen,
            8,
            wrong_length(4, 8),
        ),
    ];
    refused("andrews", rows, |bytes| {
        andrews::Frame::decode_datagram(bytes).err()
    });
}

#[test]
fn ftn() {
    let fit = Problem::DoesNotFit { bits: 32 };
    let rows: &[Row<'_>] = &[
        ("alive", 0, &[16], Field::Type, 0, illegal(16)),
        ("alive", 0, &[0x7f], Field::Type, 0, illegal(-1)),
        (
            "confirm_long_forms",
            0,
            &[0x81, 0x0b],
            Field::Type,
            0,
            illegal(0x10b),
        ),
        ("transfer", 1, &hex!("b080000000"), Field::From, 1, fit),
        ("login", 5, &[0x40], Field::P, 5, illegal(-64)),
        ("config", 7, &[0x7f], Field::Sstates, 7, illegal(-1)),
        ("config", 8, &[3], Field::Sstate, 8, illegal(3)),
        ("config", 10, &[0x7f], Field::Sstate, 10, illegal(-1)),
        ("request", 16, &[0], Field::Access, 16, illegal(0)),
        ("return", 17, &[4], Field::Flags, 17, illegal(4)),
        (
            "heartbeat",
            5,
            &[0x7f],
            Field::Configuration,
            5,
            illegal(-1),
        ),
        ("heartbeat", 6, &[0x7f], Field::Round, 6, illegal(-1)),
        ("heartbeat", 7, &[3], Field::Sstate, 7, illegal(3)),
        ("part", 7, &[2], Field::Part, 7, illegal(2)),
        ("transfer", 6, &[1], Field::Part, 6, illegal(1)),
        ("transfer", 6, &[0x7f], Field::Part, 6, illegal(-1)),
        ("transfer", 7, &[0], Field::Part, 6, illegal(0)),
        ("transfer", 17, &[2], Field::Access, 17, illegal(2)),
        ("transfer", 17, &[0], Field::Holders, 18, wrong_length(1, 0)),
        ("transfer", 18, &[2], Field::Holders, 18, wrong_length(2, 1)),
        ("transfer", 27, &[1], Field::Holders, 28, wrong_length(0, 1)),
        (
            "transfer",
            27,
            &[0x7f],
            Field::Holders,
            28,
            wrong_length(0, 1),
        ),
    ];
    refused("ftn", rows, |bytes| ftn::Datagram::decode(bytes).err());
}

#[test]
fn a_long_that_needs_more_than_64_bits() {
    let mut bytes = corpus::seed("ftn", "confirm");
    let offset = bytes.len() - 3;
    bytes.truncate(offset);
    bytes.extend(hex!("f1 0000000000000000"));
    let error = ftn::Datagram::decode(&bytes).unwrap_err();
    assert_eq!((error.field, error.offset), (Field::Msgnum, offset));
    assert_eq!(error.problem, Problem::DoesNotFit { bits: 64 });
}

#[test]
fn a_datagram_ends_with_its_message() {
    let trailing = |name, extra| {
        let mut bytes = corpus::seed(name, if name == "jitterbug" { "tr1" } else { "token" });
        if name == "jitterbug" {
            // The terms of TP6 are those that may follow TR1.
            bytes.extend(&corpus::seed(name, "tp6")[1..]);
        }
        let len = bytes.len();
        bytes.extend(vec![0; extra]);
        (len, bytes)
    };
    let (len, bytes) = trailing("jitterbug", 1);
    let error = jitterbug::Message::decode_datagram(&bytes).unwrap_err();
    assert_eq!((error.field, error.offset), (Field::Datagram, len));
    assert_eq!(error.problem, Problem::Trailing { extra: 1 });
    let (len, bytes) = trailing("andrews", 5);
    let error = andrews::Frame::decode_datagram(&bytes).unwrap_err();
    assert_eq!((error.field, error.offset), (Field::Datagram, len));
    assert_eq!(error.problem, Problem::Trailing { extra: 5 });
    for seed in ["confirm", "heartbeat_with_terms"] {
        let mut bytes = corpus::seed("ftn", seed);
        bytes.push(0);
        let error = ftn::Datagram::decode(&bytes).unwrap_err();
        assert_eq!(
            (error.field, error.offset),
            (Field::Datagram, bytes.len() - 1)
        );
        assert_eq!(error.problem, Problem::Trailing { extra: 1 });
    }
}

const AUTHOR: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const DIGEST: Digest = Digest { size: 1, hash: 2 };

/// What encoding this Lab2 message says, which must leave the buffer alone.
fn lab2_refusal(author: MacAddr, message: lab2::Message<'_>) -> EncodeError {
    let frame = lab2::Frame {
        destination: MacAddr::BROADCAST,
        author,
        message,
        profile: None,
        card: None,
    };
    let mut buf = [0xa5; 4096];
    let error = frame.encode(lab2::ETHERTYPE, &mut buf).unwrap_err();
    assert!(buf.iter().all(|b| *b == 0xa5));
    error
}

#[test]
fn lab2_is_not_encoded_if_it_would_be_refused() {
    let illegal = |field| EncodeError::Illegal { field };
    let too_long = |field, len, max| EncodeError::TooLong { field, len, max };
    let token = |progress| lab2::Token {
        progress,
        author: AUTHOR,
        number: 1,
    };
    let take = |progress, data| lab2::Message::TakeToken {
        token: token(progress),
        digest: DIGEST,
        data,
    };
    for nobody in [MacAddr([0; 6]), MacAddr::BROADCAST] {
        let refusal = lab2_refusal(nobody, lab2::Message::Leaving);
        assert_eq!(refusal, illegal(Field::MessageAuthorMAC));
        let members = &[Member {
            mac: nobody,
            ip: lab2::NO_IP,
        }];
        let digest = DIGEST;
        let refusal = lab2_refusal(AUTHOR, lab2::Message::RingMembers { digest, members });
        assert_eq!(refusal, illegal(Field::Mac));
        let members = &[nobody];
        let refusal = lab2_refusal(AUTHOR, lab2::Message::Forget { members });
        assert_eq!(refusal, illegal(Field::Mac));
    }
    let members = &[AUTHOR; 65];
    let refusal = lab2_refusal(AUTHOR, lab2::Message::Forget { members });
    assert_eq!(refusal, too_long(Field::Members, 65, 64));
    let refusal = lab2_refusal(AUTHOR, take(1 << 63, b""));
    assert_eq!(refusal, illegal(Field::Progress));
    let refusal = lab2_refusal(AUTHOR, take(1, &[0; 1025]));
    assert_eq!(refusal, too_long(Field::Data, 1025, 1024));
    let members = &[Member {
        mac: AUTHOR,
        ip: lab2::NO_IP,
    }; 67];
    let digest = DIGEST;
    let refusal = lab2_refusal(AUTHOR, lab2::Message::RingMembers { digest, members });
    assert_eq!(refusal, too_long(Field::Members, 67, 66));
    let frame = lab2::Frame {
        destination: MacAddr::BROADCAST,
        author: AUTHOR,
        message: lab2::Message::Leaving,
        profile: Some(PROFILE),
        card: None,
    };
    let refusal = |frame: lab2::Frame<'_>| frame.encode(lab2::ETHERTYPE, &mut [0; 200]);
    assert_eq!(refusal(frame), Err(illegal(Field::Profile)));
    let question = lab2::Frame {
        message: lab2::Message::WhereIsToken,
        ..frame
    };
    let with = |profile, work| {
        refusal(lab2::Frame {
            profile,
            card: Some(lab2::Card { work, ..CARD }),
            ..question
        })
    };
    assert_eq!(with(None, None), Err(illegal(Field::Card)));
    let never = lab2::Work {
        held: u64::MAX,
        program: "",
    };
    assert_eq!(with(Some(PROFILE), Some(never)), Err(illegal(Field::Held)));
    let program = "x".repeat(65);
    let long = lab2::Work {
        held: 0,
        program: &program,
    };
    let error = with(Some(PROFILE), Some(long));
    assert_eq!(error, Err(too_long(Field::Program, 65, 64)));
}

const CARD: lab2::Card<'_> = lab2::Card {
    version: lab2::Version {
        major: 1,
        minor: 2,
        patch: 3,
    },
    unheard: None,
    work: None,
};

#[test]
fn lab2_takes_what_is_no_card_for_padding() {
    let bytes = corpus::seed("lab2", "where_is_token_with_card");
    let whole = lab2::Frame::decode(&bytes).unwrap();
    assert!(whole.card.is_some());
    // The mark, a length that is too large, a program without a holder, and text that is not UTF-8.
    let card = bytes.len() - 25 - "backup".len();
    for (at, to) in [
        (card, &b"RGDX"[..]),
        (card + 24, &[65]),
        (card + 24, &[7]),
        (card + 16, &[0xff; 8]),
        (card + 25, &[0xff]),
    ] {
        let bytes = damaged("lab2", "where_is_token_with_card", at, to);
        let frame = lab2::Frame::decode(&bytes).unwrap();
        assert_eq!(
            frame,
            lab2::Frame {
                card: None,
                ..whole
            },
            "at {at}"
        );
    }
    let cut = lab2::Frame::decode(&bytes[..bytes.len() - 1]).unwrap();
    assert_eq!((cut.profile, cut.card), (whole.profile, None));
}

const PROFILE: lab2::Profile = lab2::Profile {
    flags: lab2::Profile::DEAF,
    mtu: 576,
    constants: 1,
    patience: 2,
    shortest: 2,
    take: 3,
    expect: 4,
};

#[test]
fn lab2_reads_a_profile_behind_a_trailer_and_where_there_is_none() {
    for seed in [
        "token_is_here",
        "token_is_here_with_beat",
        "ping",
        "ping_with_promise",
    ] {
        let bytes = corpus::seed("lab2", seed);
        let plain = lab2::Frame::decode(&bytes).unwrap();
        assert_eq!(plain.profile, None, "{seed}");
        let frame = lab2::Frame {
            profile: Some(PROFILE),
            ..plain
        };
        let mut buf = [0xa5; lab2::MAX_FRAME_LEN];
        let len = frame.encode(lab2::ETHERTYPE, &mut buf).unwrap();
        assert_eq!(
            buf[..bytes.len()],
            bytes,
            "{seed}: what was there stays in place"
        );
        let read = lab2::Frame::decode(&buf[..len]).unwrap();
        assert_eq!(read, frame, "{seed}");
        assert!(read.profile.unwrap().is_deaf());
        let cut = lab2::Frame::decode(&buf[..len - 1]).unwrap();
        assert_eq!(cut, plain, "{seed}: a profile that is cut is padding");
    }
}

#[test]
fn lab2_reads_no_profile_behind_other_messages() {
    let profile = corpus::seed("lab2", "where_is_token_with_profile")[22..].to_vec();
    for seed in [
        "take_token",
        "token_was_here_recently",
        "ring_members",
        "leaving",
    ] {
        let bytes = [corpus::seed("lab2", seed), profile.clone()].concat();
        assert_eq!(lab2::Frame::decode(&bytes).unwrap().profile, None, "{seed}");
    }
}

#[test]
fn lab2_flags_of_a_profile_that_are_not_known_are_kept() {
    let bytes = damaged("lab2", "where_is_token_with_profile", 26, &[0x80]);
    let profile = lab2::Frame::decode(&bytes).unwrap().profile.unwrap();
    assert_eq!((profile.flags, profile.is_deaf()), (0x80, false));
}

#[test]
fn the_others_are_not_encoded_if_they_would_be_refused() {
    let mut buf = vec![0; 1 << 20];
    let (len, max) = (65_537, 65_536);
    let node = Node {
        ip: [192, 0, 2, 1].into(),
        port: 1,
    };
    let nodes = vec![node; len];
    let node_list = nodes.as_slice().into();
    let message = jitterbug::Message::Tp4 { node_list };
    let field = Field::NodeList;
    let too_long = EncodeError::TooLong { field, len, max };
    assert_eq!(message.encode(&mut buf), Err(too_long));

    let (len, max) = (16_383, 16_382);
    let ids = &vec![U32::new(1); len];
    let election = Election::RingBased { ids };
    let message = andrews::Message::CoordinatorElection { election };
    let frame = andrews::Frame { src_id: 1, message };
    let field = Field::Ids;
    let too_long = EncodeError::TooLong { field, len, max };
    assert_eq!(frame.encode(&mut buf), Err(too_long));

    let header = ftn::Header {
        from: 0,
        to: 1,
        ssig: 2,
    };
    let nobody = [Assignment {
        token: Token {
            name: b"t",
            data: b"",
        },
        holders: Holders::Shared((&[]).into()),
    }];
    for (part, parts, assignments, field) in [
        (0, 1, &nobody[..], Field::Holders),
        (1, 1, &[], Field::Part),
        (-1, 1, &[], Field::Part),
        (0, 0, &[], Field::Part),
    ] {
        let message = ftn::Message::Transfer {
            msgnum: 1,
            part,
            parts,
            assignments: assignments.into(),
        };
        let refusal = ftn::Datagram::new(header, message).encode(&mut buf);
        assert_eq!(refusal, Err(EncodeError::Illegal { field }));
    }
    assert!(buf.iter().all(|b| *b == 0));
}

#[test]
fn errors_read_as_sentences() {
    let bytes = damaged("lab2", "take_token", 52, &[4, 1]);
    let error = lab2::Frame::decode(&bytes).unwrap_err().to_string();
    assert_eq!(error, "dataLen at offset 52: 1025 is above 1024");
    let error = lab2::Frame::decode(&bytes[..40]).unwrap_err().to_string();
    assert_eq!(error, "ringSize at offset 40: needs 4 bytes, has 0");
}
