//! Tests each reason why the decoder or the encoder refuses a message: the field, its offset and the problem.

use hex_literal::hex;
use ring_codec::andrews::{self, Election};
use ring_codec::ftn::{self, Assignment, Holders, Token};
use ring_codec::jitterbug::{self, Node};
use ring_codec::lab2::{self, Digest, Member};
use ring_codec::{DecodeError, EncodeError, Field, MacAddr, Problem, StreamState, U32, U64};

use crate::corpus;

/// Returns an example with the bytes at `offset` replaced.
fn change_bytes(format: &str, seed: &str, offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut message = corpus::seed(format, seed);
    message[offset..offset + bytes.len()].copy_from_slice(bytes);
    message
}

/// Checks the reported errors. A row contains the name of an example, an offset, and the bytes for this place. A row
/// also has the expected field, offset and problem.
fn check_refusals(format: &str, rows: &str, error: impl Fn(&[u8]) -> Option<DecodeError>) {
    for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let [seed, at, bytes, expected] = *row.splitn(4, ' ').collect::<Vec<_>>() else {
            panic!("{row}");
        };
        let digits = (0..bytes.len()).step_by(2).map(|at| &bytes[at..at + 2]);
        let bytes: Vec<u8> = digits
            .map(|digits| u8::from_str_radix(digits, 16).unwrap())
            .collect();
        let found = error(&change_bytes(format, seed, at.parse().unwrap(), &bytes)).expect(row);
        let found = format!("{:?} {} {:?}", found.field, found.offset, found.problem);
        let expected = expected
            .replace("2^63 - 1", &i64::MAX.to_string())
            .replace("2^63", &(1_u64 << 63).to_string());
        assert_eq!(found, expected, "{row}");
    }
}

#[test]
fn lab2() {
    let rows = "
        leaving 14 00 Kind 14 Unknown { value: 0 }
        leaving 14 12 Kind 14 Unknown { value: 18 }
        leaving 15 01 Reserved 15 Reserved { value: 1 }
        ping 16 000000000000 MessageAuthorMAC 16 NotUnicast
        ping 16 ffffffffffff MessageAuthorMAC 16 NotUnicast
        ping 16 03 MessageAuthorMAC 16 NotUnicast
        ping 21 09 MessageAuthorMAC 16 NotTheSource
        ping 11 09 MessageAuthorMAC 16 NotTheSource
        take_token 22 8000000000000000 Progress 22 TooLarge { value: 9223372036854775808, max: 9223372036854775807 }
        token_is_here 22 8000000000000000 Progress 22 TooLarge { value: 9223372036854775808, max: 9223372036854775807 }
        token_was_here_recently 22 8000000000000000 Progress 22 TooLarge { value: 2^63, max: 2^63 - 1 }
        generating_token 22 8000000000000000 Progress 22 TooLarge { value: 2^63, max: 2^63 - 1 }
        take_token 52 0401 DataLen 52 TooLarge { value: 1025, max: 1024 }
        ring_members 34 0043 Count 34 TooLarge { value: 67, max: 66 }
        ring_members 36 000000000000 Mac 36 NotUnicast
        forget 22 0041 Count 22 TooLarge { value: 65, max: 64 }
        forget 30 ffffffffffff Mac 30 NotUnicast
        ring_members 58 ffffffffffff Mac 58 NotUnicast
        stamps 22 8000000000000000 Progress 22 TooLarge { value: 9223372036854775808, max: 9223372036854775807 }
        stamps 44 05 Purpose 44 Illegal { value: 5 }
        stamps 53 0014 StampCount 53 TooLarge { value: 20, max: 19 }
        stamps 55 00 Name 55 Illegal { value: 0 }
        stamps 55 20 Name 55 Illegal { value: 32 }
        stamps 70 01 Name 55 Illegal { value: 110 }
        stamps 87 8000000000000000 Progress 87 TooLarge { value: 9223372036854775808, max: 9223372036854775807 }
        stamps 99 01 RunnerMAC 99 NotUnicast
        stamps 105 04 Outcome 105 Illegal { value: 4 }
        locks 22 8000000000000000 Progress 22 TooLarge { value: 2^63, max: 2^63 - 1 }
        locks 48 07 LocksPurpose 48 Illegal { value: 7 }
        locks 49 03 Grade 49 Illegal { value: 3 }
        locks 74 000a LockCount 74 TooLarge { value: 10, max: 9 }
        locks 76 00 LockName 76 Illegal { value: 0 }
        locks 76 20 LockName 76 Illegal { value: 32 }
        locks 139 01 LockName 76 Illegal { value: 100 }
        locks 140 000000000000 MemberMAC 140 NotUnicast
        locks 140 01 MemberMAC 140 NotUnicast
        locks 154 02 Mode 154 Illegal { value: 2 }
        locks 155 03 Grade 155 Illegal { value: 3 }
        locks 156 04 State 156 Illegal { value: 4 }
        locks 165 8000000000000000 Progress 165 TooLarge { value: 2^63, max: 2^63 - 1 }
        locks 199 ff Program 199 Illegal { value: 255 }
        locks_question 22 03 Grade 22 Illegal { value: 3 }
        locks 222 01 Program 199 Illegal { value: 98 }
        survey 30 02 SurveyPurpose 30 Illegal { value: 2 }
        survey 31 41 Probes 31 TooLarge { value: 65, max: 64 }
        survey 32 1f41 Span 32 TooLarge { value: 8001, max: 8000 }
        survey 34 0041 Count 34 TooLarge { value: 65, max: 64 }
        survey 42 01 Mac 42 NotUnicast
        report 62 04 NodeState 62 Illegal { value: 4 }
        report 63 03 NodeGrade 63 Illegal { value: 3 }
        report 64 03 Health 64 Illegal { value: 3 }
        report 65 02 Busy 65 Illegal { value: 2 }
        report 66 03 RequiredGrade 66 Illegal { value: 3 }
        report 68 41 HolderLen 68 TooLarge { value: 65, max: 64 }
        report 69 02bd TroublesLen 69 TooLarge { value: 701, max: 700 }
        report 54 ffffffffffffffff HolderLen 68 Illegal { value: 6 }
        report 71 ff HolderName 71 Illegal { value: 255 }
        report 77 1b Troubles 77 Illegal { value: 27 }
        report 77 ff Troubles 77 Illegal { value: 255 }
        probe 22 01 SurveyorMAC 22 NotUnicast
        probe 36 40 Number 36 Illegal { value: 64 }
        probe 37 02 IsAnswer 37 Illegal { value: 2 }
        probe 46 05a1 PaddingLen 46 TooLarge { value: 1441, max: 1440 }
        measures 42 0031 RowCount 42 TooLarge { value: 49, max: 48 }
        measures 44 000000000000 PeerMAC 44 NotUnicast
    ";
    check_refusals("lab2", rows, |bytes| lab2::Frame::decode(bytes).err());
}

#[test]
fn lab2_reports_the_first_reason_of_several() {
    let mut bytes = change_bytes("lab2", "take_token", 14, &[77, 1, 1, 0, 0, 0, 0, 0]);
    bytes[22] = 0x80;
    let field = |bytes: &[u8]| lab2::Frame::decode(bytes).unwrap_err().field;
    assert_eq!(field(&bytes), Field::Kind);
    bytes[14] = 1;
    assert_eq!(field(&bytes), Field::Reserved);
    bytes[15] = 0;
    let problem = lab2::Frame::decode(&bytes).unwrap_err().problem;
    assert_eq!(problem, Problem::NotUnicast);
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
fn lab2_accepts_the_limits() {
    let top = change_bytes("lab2", "take_token", 22, &hex!("7fffffffffffffff"));
    assert!(lab2::Frame::decode(&top).is_ok());
    let mut full = change_bytes("lab2", "take_token", 52, &[4, 0]);
    full.resize(54 + 1024, 7);
    assert!(lab2::Frame::decode(&full).is_ok());
    let mut full = change_bytes("lab2", "ring_members", 34, &[0, 66]);
    full.resize(36 + 66 * 22, 2);
    assert!(lab2::Frame::decode(&full).is_ok());
    assert_eq!(full.len(), lab2::FRAME_LEN_MAX);
    assert_eq!(lab2::FRAME_LEN_MAX, lab2::ETHERNET_HEADER_LEN + 1474);
}

#[test]
fn jitterbug() {
    let rows = "
        tr2 0 12 Version 0 Unknown { value: 2 }
        tr2 0 10 Version 0 Unknown { value: 0 }
        tr2 0 81 Type 0 Unknown { value: 8 }
        tr2 0 f1 Type 0 Unknown { value: 15 }
        tr2 0 61 Type 0 OtherTransport { value: 6 }
        tr2 1 00000000 TokenId 1 Illegal { value: 0 }
        tr1 1 80000000 TokenId 1 Illegal { value: -2147483648 }
    ";
    check_refusals("jitterbug", rows, |bytes| {
        jitterbug::Message::decode_datagram(bytes).err()
    });
    let rows = "
        tp1 0 22 Version 0 Unknown { value: 2 }
        tp1 0 81 Type 0 Unknown { value: 8 }
        tp6 33 04 Flags 33 Reserved { value: 4 }
        tp1 0 01 Type 0 OtherTransport { value: 0 }
        tp1 0 11 Type 0 OtherTransport { value: 1 }
        tp1 1 00000000 TokenId 1 Illegal { value: 0 }
        tp5 1 80000000 TokenId 1 Illegal { value: -2147483648 }
        tp4 1 00010001 Count 1 TooLarge { value: 65537, max: 65536 }
        tp4 5 02 Meta 5 Reserved { value: 2 }
        tp4 12 81 Meta 12 Reserved { value: 129 }
    ";
    check_refusals("jitterbug", rows, |bytes| {
        let max = jitterbug::MAX_NODES;
        jitterbug::Message::decode_stream(bytes, StreamState::Ended, max).err()
    });
}

#[test]
fn andrews() {
    let rows = "
        join 0 00 Version 0 Unknown { value: 0 }
        join 0 02 Version 0 Unknown { value: 2 }
        join 1 00 Type 1 Unknown { value: 0 }
        join 1 07 Type 1 Unknown { value: 7 }
        join 2 0001 Reserved 2 Reserved { value: 1 }
        join 8 00010001 PayloadLen 8 TooLarge { value: 65537, max: 65536 }
        join 11 01 PayloadLen 8 WrongLength { value: 1, expected: 0 }
        successor 11 03 PayloadLen 8 WrongLength { value: 3, expected: 4 }
        successor 11 05 PayloadLen 8 WrongLength { value: 5, expected: 4 }
        token 11 00 PayloadLen 8 WrongLength { value: 0, expected: 8 }
        token_ack 11 09 PayloadLen 8 WrongLength { value: 9, expected: 8 }
        election_ring_based 11 03 PayloadLen 8 WrongLength { value: 3, expected: 4 }
        election_ring_based 11 07 PayloadLen 8 WrongLength { value: 7, expected: 8 }
        election_ring_based 19 01 PayloadLen 8 WrongLength { value: 16, expected: 12 }
        election_ring_based 19 03 PayloadLen 8 WrongLength { value: 16, expected: 20 }
        election_ring_based 16 00003fff Count 16 TooLarge { value: 16383, max: 16382 }
        election_ring_based 12 00 Method 12 Unknown { value: 0 }
        election_ring_based 12 04 Method 12 Unknown { value: 4 }
        election_ring_based 13 00 ElectionType 13 Unknown { value: 0 }
        election_ring_based 13 03 ElectionType 13 Unknown { value: 3 }
        election_chang_roberts 13 03 ElectionType 13 Unknown { value: 3 }
        election_bully 13 04 ElectionType 13 Unknown { value: 4 }
        election_bully 15 01 Reserved 14 Reserved { value: 1 }
        election_bully 13 02 PayloadLen 8 WrongLength { value: 4, expected: 8 }
    ";
    check_refusals("andrews", rows, |bytes| {
        andrews::Frame::decode_datagram(bytes).err()
    });
}

#[test]
fn ftn() {
    let rows = "
        alive 0 10 Type 0 Illegal { value: 16 }
        alive 0 7f Type 0 Illegal { value: -1 }
        confirm_long_forms 0 810b Type 0 Illegal { value: 267 }
        transfer 1 b080000000 From 1 DoesNotFit { bits: 32 }
        login 5 40 P 5 Illegal { value: -64 }
        config 7 7f Sstates 7 Illegal { value: -1 }
        config 8 03 Sstate 8 Illegal { value: 3 }
        config 10 7f Sstate 10 Illegal { value: -1 }
        request 16 00 Access 16 Illegal { value: 0 }
        return 17 04 Flags 17 Illegal { value: 4 }
        heartbeat 5 7f Configuration 5 Illegal { value: -1 }
        heartbeat 6 7f Round 6 Illegal { value: -1 }
        heartbeat 7 03 Sstate 7 Illegal { value: 3 }
        part 7 02 Part 7 Illegal { value: 2 }
        transfer 6 01 Part 6 Illegal { value: 1 }
        transfer 6 7f Part 6 Illegal { value: -1 }
        transfer 7 00 Part 6 Illegal { value: 0 }
        transfer 17 02 Access 17 Illegal { value: 2 }
        transfer 17 00 Holders 18 WrongLength { value: 1, expected: 0 }
        transfer 18 02 Holders 18 WrongLength { value: 2, expected: 1 }
        transfer 27 01 Holders 28 WrongLength { value: 0, expected: 1 }
        transfer 27 7f Holders 28 WrongLength { value: 0, expected: 1 }
    ";
    check_refusals("ftn", rows, |bytes| ftn::Datagram::decode(bytes).err());
}

#[test]
fn a_long_of_more_than_64_bits_is_an_error() {
    let mut bytes = corpus::seed("ftn", "confirm");
    let offset = bytes.len() - 3;
    bytes.truncate(offset);
    bytes.extend(hex!("f1 0000000000000000"));
    let error = ftn::Datagram::decode(&bytes).unwrap_err();
    assert_eq!((error.field, error.offset), (Field::Msgnum, offset));
    assert_eq!(error.problem, Problem::DoesNotFit { bits: 64 });
}

#[test]
fn bytes_after_the_message_of_a_datagram_are_an_error() {
    let with_extra_bytes = |name, extra| {
        let mut bytes = corpus::seed(name, if name == "jitterbug" { "tr1" } else { "token" });
        if name == "jitterbug" {
            // The terms after a TR1 have the same format as those in TP6.
            bytes.extend(&corpus::seed(name, "tp6")[1..]);
        }
        let len = bytes.len();
        bytes.extend(vec![0; extra]);
        (len, bytes)
    };
    let (len, bytes) = with_extra_bytes("jitterbug", 1);
    let error = jitterbug::Message::decode_datagram(&bytes).unwrap_err();
    assert_eq!((error.field, error.offset), (Field::Datagram, len));
    assert_eq!(error.problem, Problem::Trailing { extra: 1 });
    let (len, bytes) = with_extra_bytes("andrews", 5);
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

/// Returns the encoder's error for this Lab2 message. The encoder must not change the buffer.
fn lab2_refusal(author: MacAddr, message: lab2::Message<'_>) -> EncodeError {
    let frame = lab2::Frame {
        destination: MacAddr::BROADCAST,
        author,
        message,
        profile: None,
        card: None,
        locks: None,
        preference: 0,
    };
    let mut buf = [0xa5; 4096];
    let error = frame.encode(lab2::ETHERTYPE, &mut buf).unwrap_err();
    assert!(buf.iter().all(|b| *b == 0xa5));
    error
}

#[test]
fn lab2_encoder_refuses_what_the_decoder_refuses() {
    let illegal = |field| EncodeError::Illegal { field };
    let too_long = |field, len, max| EncodeError::TooLong { field, len, max };
    let token = |progress| lab2::Token {
        progress,
        author: AUTHOR,
        number: 1,
    };
    let take_token = |progress, data| lab2::Message::TakeToken {
        token: token(progress),
        digest: DIGEST,
        data,
    };
    for no_station in [MacAddr([0; 6]), MacAddr::BROADCAST] {
        let refusal = lab2_refusal(no_station, lab2::Message::Leaving);
        assert_eq!(refusal, illegal(Field::MessageAuthorMAC));
        let members = &[Member {
            mac: no_station,
            ip: lab2::NO_IP,
        }];
        let digest = DIGEST;
        let refusal = lab2_refusal(AUTHOR, lab2::Message::RingMembers { digest, members });
        assert_eq!(refusal, illegal(Field::Mac));
        let members = &[no_station];
        let refusal = lab2_refusal(AUTHOR, lab2::Message::Forget { members });
        assert_eq!(refusal, illegal(Field::Mac));
    }
    let members = &[AUTHOR; 65];
    let refusal = lab2_refusal(AUTHOR, lab2::Message::Forget { members });
    assert_eq!(refusal, too_long(Field::Members, 65, 64));
    let refusal = lab2_refusal(AUTHOR, take_token(1 << 63, b""));
    assert_eq!(refusal, illegal(Field::Progress));
    let refusal = lab2_refusal(AUTHOR, take_token(1, &[0; 1025]));
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
        locks: None,
        preference: 0,
    };
    let refusal = |frame: lab2::Frame<'_>| frame.encode(lab2::ETHERTYPE, &mut [0; 200]);
    assert_eq!(refusal(frame), Err(illegal(Field::Profile)));
    let question = lab2::Frame {
        message: lab2::Message::WhereIsToken,
        ..frame
    };
    let card_refusal = |profile, work| {
        refusal(lab2::Frame {
            profile,
            card: Some(lab2::Card { work, ..CARD }),
            ..question
        })
    };
    assert_eq!(card_refusal(None, None), Err(illegal(Field::Card)));
    let illegal_work = lab2::Work {
        held: u64::MAX,
        program: "",
    };
    assert_eq!(
        card_refusal(Some(PROFILE), Some(illegal_work)),
        Err(illegal(Field::Held))
    );
    let program = "x".repeat(65);
    let long = lab2::Work {
        held: 0,
        program: &program,
    };
    let error = card_refusal(Some(PROFILE), Some(long));
    assert_eq!(error, Err(too_long(Field::Program, 65, 64)));
    let name_refusal = |name| {
        refusal(lab2::Frame {
            profile: Some(PROFILE),
            card: Some(lab2::Card {
                host_name: Some(name),
                ..CARD
            }),
            ..question
        })
    };
    assert_eq!(
        name_refusal(&program),
        Err(too_long(Field::HostName, 65, 64))
    );
    for name in ["", "a b", "a\u{1b}[2J", "b\u{fc}ro"] {
        assert_eq!(name_refusal(name), Err(illegal(Field::HostName)), "{name}");
    }
    let with_standing = lab2::Frame {
        locks: Some(STANDING),
        ..question
    };
    assert_eq!(refusal(with_standing), Err(illegal(Field::Standing)));
}

#[test]
fn lab2_encoder_refuses_illegal_surveys() {
    let illegal = |field| EncodeError::Illegal { field };
    let too_long = |field, len, max| EncodeError::TooLong { field, len, max };
    let refused = |message| lab2_refusal(AUTHOR, message);
    let survey = |probes, span, members| {
        refused(lab2::Message::Survey {
            serial: 1,
            purpose: lab2::SurveyPurpose::Report,
            probes,
            span,
            members,
        })
    };
    assert_eq!(survey(65, 0, &[]), illegal(Field::Probes));
    assert_eq!(survey(0, 8001, &[]), illegal(Field::Span));
    let error = survey(0, 0, &[AUTHOR; 65]);
    assert_eq!(error, too_long(Field::Members, 65, 64));
    assert_eq!(survey(0, 0, &[MacAddr::BROADCAST]), illegal(Field::Mac));
    let probe = |surveyor, number, padding| {
        refused(lab2::Message::Probe {
            surveyor,
            serial: 1,
            number,
            is_answer: false,
            sent_at: 0,
            padding,
        })
    };
    let error = probe(MacAddr::BROADCAST, 0, &[]);
    assert_eq!(error, illegal(Field::SurveyorMAC));
    assert_eq!(probe(AUTHOR, 64, &[]), illegal(Field::Number));
    let error = probe(AUTHOR, 0, &[0; 1441]);
    assert_eq!(error, too_long(Field::Padding, 1441, 1440));
    let seed = corpus::seed("lab2", "measures");
    let lab2::Message::Measures { measures, .. } = lab2::Frame::decode(&seed).unwrap().message
    else {
        panic!("measures");
    };
    let group = lab2::Measure {
        peer: MacAddr::BROADCAST,
        ..measures[0]
    };
    for (rows, error) in [
        (&[group][..], illegal(Field::PeerMAC)),
        (&[measures[0]; 49], too_long(Field::Measures, 49, 48)),
    ] {
        let message = lab2::Message::Measures {
            serial: 1,
            lateness: 0,
            large_len: 0,
            broadcasts_sent: 0,
            rows: 0,
            measures: rows,
        };
        assert_eq!(refused(message), error);
    }
}

#[test]
fn lab2_encoder_refuses_illegal_reports() {
    let illegal = |field| EncodeError::Illegal { field };
    let too_long = |field, len, max| EncodeError::TooLong { field, len, max };
    let seed = corpus::seed("lab2", "report");
    let lab2::Message::Report { serial, report } = lab2::Frame::decode(&seed).unwrap().message
    else {
        panic!("report");
    };
    let long = "x".repeat(701);
    let work = |held, program| Some(lab2::Work { held, program });
    for (report, error) in [
        (
            lab2::NodeReport { state: 4, ..report },
            illegal(Field::NodeState),
        ),
        (
            lab2::NodeReport { grade: 3, ..report },
            illegal(Field::NodeGrade),
        ),
        (
            lab2::NodeReport {
                health: 3,
                ..report
            },
            illegal(Field::Health),
        ),
        (
            lab2::NodeReport {
                required_grade: 3,
                ..report
            },
            illegal(Field::RequiredGrade),
        ),
        (
            lab2::NodeReport {
                holder: work(u64::MAX, ""),
                ..report
            },
            illegal(Field::Held),
        ),
        (
            lab2::NodeReport {
                holder: work(1, &long[..65]),
                ..report
            },
            too_long(Field::HolderName, 65, 64),
        ),
        (
            lab2::NodeReport {
                troubles: &long,
                ..report
            },
            too_long(Field::Troubles, 701, 700),
        ),
        (
            lab2::NodeReport {
                troubles: "a\tb",
                ..report
            },
            illegal(Field::Troubles),
        ),
    ] {
        let message = lab2::Message::Report { serial, report };
        assert_eq!(lab2_refusal(AUTHOR, message), error);
    }
}

#[test]
fn lab2_encoder_refuses_illegal_pause_notices() {
    let ping = corpus::seed("lab2", "ping");
    let refusal = |left, reason: &str| {
        let frame = lab2::Frame {
            profile: Some(PROFILE),
            card: Some(lab2::Card {
                pause: Some(lab2::PauseNotice { left, reason }),
                ..CARD
            }),
            ..lab2::Frame::decode(&ping).unwrap()
        };
        frame.encode(lab2::ETHERTYPE, &mut [0; 300])
    };
    let illegal = |field| Err(EncodeError::Illegal { field });
    let (field, len, max) = (Field::Reason, 65, 64);
    let too_long = Err(EncodeError::TooLong { field, len, max });
    assert_eq!(refusal(None, &"x".repeat(65)), too_long);
    assert_eq!(refusal(None, "a\u{1b}[2J"), illegal(Field::Reason));
    assert_eq!(refusal(Some(u64::MAX), ""), illegal(Field::Left));
}

#[test]
fn lab2_encoder_refuses_illegal_records_of_locks() {
    let bytes = corpus::seed("lab2", "locks");
    let lab2::Message::Locks {
        token,
        locks: &[legal],
        ..
    } = lab2::Frame::decode(&bytes).unwrap().message
    else {
        panic!("the example has one record");
    };
    let refusal = |grade, locks: &[lab2::LockRecord]| {
        let message = lab2::Message::Locks {
            token,
            serial: 1,
            purpose: lab2::LocksPurpose::Part,
            grade,
            digest: 0,
            from: 0,
            to: 0,
            locks,
        };
        lab2_refusal(AUTHOR, message)
    };
    let changed = |change: fn(&mut lab2::LockRecord)| {
        let mut lock = legal;
        change(&mut lock);
        refusal(0, &[legal, lock])
    };
    let illegal = |field| EncodeError::Illegal { field };
    assert_eq!(refusal(3, &[]), illegal(Field::Grade));
    assert_eq!(changed(|it| it.name[0] = 0), illegal(Field::LockName));
    assert_eq!(changed(|it| it.member.0[0] = 1), illegal(Field::MemberMAC));
    assert_eq!(changed(|it| it.mode = 2), illegal(Field::Mode));
    assert_eq!(changed(|it| it.grade = 3), illegal(Field::Grade));
    assert_eq!(changed(|it| it.state = 4), illegal(Field::State));
    assert_eq!(
        changed(|it| it.progress = u64::MAX.into()),
        illegal(Field::Progress)
    );
    assert_eq!(changed(|it| it.program[0] = 0), illegal(Field::Program));
    let (field, len, max) = (Field::Locks, 10, lab2::LOCKS_PER_FRAME_MAX);
    let too_long = EncodeError::TooLong { field, len, max };
    assert_eq!(refusal(0, &[legal; 10]), too_long);
    for len in [0, 63, 65] {
        let sums = &vec![U64::new(1); len];
        let (grade, from) = (2, 0);
        let question = lab2::Message::LocksQuestion { grade, from, sums };
        assert_eq!(lab2_refusal(AUTHOR, question), illegal(Field::Sums));
    }
}

#[test]
fn lab2_shortens_a_program_in_a_record_between_characters() {
    let text = |program: &str| {
        let packed = lab2::locks::pack_program(program);
        String::from_utf8(packed.to_vec()).unwrap()
    };
    assert_eq!(text(""), "\0".repeat(24));
    assert_eq!(text("a\0b"), format!("a{}", "\0".repeat(23)));
    assert_eq!(text(&"x".repeat(30)), "x".repeat(24));
    assert_eq!(text(&"\u{e9}".repeat(30)), "\u{e9}".repeat(12));
    assert_eq!(
        text(&format!("x{}", "\u{e9}".repeat(30))),
        format!("x{}\0", "\u{e9}".repeat(11))
    );
}

const STANDING: lab2::LocksStanding = lab2::LocksStanding {
    token: lab2::Token {
        progress: 1,
        author: AUTHOR,
        number: 1,
    },
    change: 2,
    quorum: 3,
    others: 4,
    settles: lab2::LocksStanding::NOT_KNOWN,
};

/// Returns this frame with a standing, after it was encoded and decoded.
fn check_standing(frame: &lab2::Frame<'_>) -> Vec<u8> {
    let plain_len = frame.encoded_len();
    let frame = lab2::Frame {
        locks: Some(STANDING),
        ..*frame
    };
    let mut buf = [0xa5; lab2::FRAME_LEN_MAX];
    let len = frame.encode(lab2::ETHERTYPE, &mut buf).unwrap();
    assert_eq!(len, plain_len + lab2::LocksStanding::LEN);
    assert_eq!(lab2::Frame::decode(&buf[..len]), Ok(frame));
    let plain = lab2::Frame {
        locks: None,
        ..frame
    };
    let cut = lab2::Frame::decode(&buf[..len - 1]);
    assert_eq!(cut, Ok(plain), "an incomplete standing is not padding");
    buf[plain_len] ^= 1;
    let padding = lab2::Frame::decode(&buf[..len]);
    assert_eq!(padding, Ok(plain), "padding is a standing");
    buf[plain_len] ^= 1;
    buf[..len].to_vec()
}

#[test]
fn lab2_reads_a_standing_after_all_other_parts() {
    for seed in [
        "take_token",
        "token_is_here",
        "token_is_here_with_beat",
        "ping",
        "ping_with_promise",
    ] {
        let bytes = corpus::seed("lab2", seed);
        let plain = lab2::Frame::decode(&bytes).unwrap();
        assert_eq!(plain.locks, None, "{seed}");
        check_standing(&plain);
        if seed == "take_token" {
            continue;
        }
        let with_profile = lab2::Frame {
            profile: Some(PROFILE),
            ..plain
        };
        check_standing(&with_profile);
        let program = "backup";
        let work = Some(lab2::Work { held: 1, program });
        let with_card = lab2::Frame {
            card: Some(lab2::Card { work, ..CARD }),
            ..with_profile
        };
        let mut bytes = check_standing(&with_card);
        // A standing after bytes that are no card is padding too.
        let text = bytes.len() - lab2::LocksStanding::LEN - program.len();
        bytes[text] = 0xff;
        let frame = lab2::Frame::decode(&bytes);
        assert_eq!(frame, Ok(with_profile), "{seed}");
    }
    let mut bytes = check_standing(&lab2::Frame::decode(&corpus::seed("lab2", "ping")).unwrap());
    let token = bytes.len() - lab2::LocksStanding::LEN + 4;
    bytes[token] = 0x80;
    let frame = lab2::Frame::decode(&bytes).unwrap();
    assert_eq!(frame.locks, None, "a standing has an illegal token");
}

#[test]
fn lab2_reads_no_standing_after_other_messages() {
    let standing = corpus::seed("lab2", "take_token_with_standing")[56..].to_vec();
    for seed in ["where_is_token", "leaving", "locks", "locks_question"] {
        let bytes = [corpus::seed("lab2", seed), standing.clone()].concat();
        assert_eq!(lab2::Frame::decode(&bytes).unwrap().locks, None, "{seed}");
    }
}

#[test]
fn lab2_frames_with_all_parts_have_at_most_the_maximum_length() {
    let program = &"x".repeat(64);
    let work = Some(lab2::Work { held: 1, program });
    let token = lab2::Token {
        progress: 1,
        author: AUTHOR,
        number: 1,
    };
    let longest = lab2::Frame {
        destination: MacAddr::BROADCAST,
        author: AUTHOR,
        message: lab2::Message::TokenIsHere {
            token,
            digest: DIGEST,
            data: &[7; lab2::DATA_LEN_MAX],
            beat: Some(1),
        },
        profile: Some(PROFILE),
        card: Some(lab2::Card {
            work,
            host_name: Some(program),
            pause: Some(lab2::PauseNotice {
                left: None,
                reason: program,
            }),
            ..CARD
        }),
        locks: Some(STANDING),
        preference: 0,
    };
    let mut buf = [0xa5; lab2::FRAME_LEN_MAX];
    let len = longest.encode(lab2::ETHERTYPE, &mut buf).unwrap();
    assert_eq!(lab2::Frame::decode(&buf[..len]), Ok(longest));
    let mut full = change_bytes("lab2", "locks", 74, &[0, 9]);
    let record = full[76..].to_vec();
    full.extend(record.repeat(8));
    assert!(lab2::Frame::decode(&full).is_ok());
    assert_eq!(full.len(), lab2::ETHERNET_HEADER_LEN + 1385);
    assert!(full.len() <= lab2::FRAME_LEN_MAX);
    let mut full = change_bytes("lab2", "measures", 42, &[0, 48]);
    let row = full[44..].to_vec();
    full.extend(row.repeat(47));
    assert!(lab2::Frame::decode(&full).is_ok());
    assert!(full.len() <= lab2::FRAME_LEN_MAX);
    let mut full = change_bytes("lab2", "probe", 46, &[5, 0xa0]);
    full.resize(lab2::FRAME_LEN_MAX, 0);
    let probe = lab2::Frame::decode(&full).unwrap();
    assert_eq!(probe.encoded_len(), lab2::FRAME_LEN_MAX);
}

const CARD: lab2::Card<'_> = lab2::Card {
    version: lab2::Version {
        major: 1,
        minor: 2,
        patch: 3,
    },
    unheard: None,
    work: None,
    host_name: None,
    pause: None,
};

#[test]
fn lab2_reads_an_illegal_card_as_padding() {
    let bytes = corpus::seed("lab2", "where_is_token_with_card");
    let whole = lab2::Frame::decode(&bytes).unwrap();
    assert!(whole.card.is_some());
    // An illegal mark, a length above the limit, a program without a holder, and text that is not UTF-8.
    let card = bytes.len() - 25 - "backup".len();
    for (at, to) in [
        (card, &b"RGDX"[..]),
        (card + 24, &[65]),
        (card + 24, &[7]),
        (card + 16, &[0xff; 8]),
        (card + 25, &[0xff]),
    ] {
        let bytes = change_bytes("lab2", "where_is_token_with_card", at, to);
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

/// Returns a frame with all other parts and this host name.
fn with_host_name(name: &str) -> Vec<u8> {
    let ping = corpus::seed("lab2", "ping_with_promise");
    let program = "backup";
    let frame = lab2::Frame {
        profile: Some(PROFILE),
        card: Some(lab2::Card {
            work: Some(lab2::Work { held: 1, program }),
            host_name: Some(name),
            ..CARD
        }),
        locks: Some(STANDING),
        ..lab2::Frame::decode(&ping).unwrap()
    };
    let mut buf = [0xa5; lab2::FRAME_LEN_MAX];
    let len = frame.encode(lab2::ETHERTYPE, &mut buf).unwrap();
    assert_eq!(len, frame.encoded_len());
    assert_eq!(lab2::Frame::decode(&buf[..len]), Ok(frame));
    buf[..len].to_vec()
}

/// Receivers that do not know host names read all bytes before the host name, and ignore the rest.
#[test]
fn lab2_host_names_follow_all_parts_that_older_receivers_know() {
    for name in ["db1", "a", &"x".repeat(64), "Rack-7_b.lab"] {
        let bytes = with_host_name(name);
        let whole = lab2::Frame::decode(&bytes).unwrap();
        let without = lab2::Frame {
            card: whole.card.map(|card| lab2::Card {
                host_name: None,
                ..card
            }),
            ..whole
        };
        let before = bytes.len() - 5 - name.len();
        assert_eq!(without.encoded_len(), before, "{name}");
        for len in before..bytes.len() {
            assert_eq!(lab2::Frame::decode(&bytes[..len]), Ok(without), "{len}");
        }
    }
}

#[test]
fn lab2_reads_an_illegal_host_name_as_padding() {
    let bytes = with_host_name("db1");
    let before = bytes.len() - 8;
    // An illegal mark, illegal lengths, a control character, a blank, text that is not ASCII, and a
    // wrong first character.
    for (at, to) in [
        (0, &b"RGDX"[..]),
        (4, &[0]),
        (4, &[4]),
        (5, &[0x1b]),
        (6, b" "),
        (6, &[0x7f]),
        (6, &[0xc3, 0xbc]),
        (5, b"("),
        (5, b"-"),
        (5, b"."),
    ] {
        let mut illegal = bytes.clone();
        illegal[before + at..before + at + to.len()].copy_from_slice(to);
        let frame = lab2::Frame::decode(&illegal).unwrap();
        assert_eq!(frame.encoded_len(), before, "{to:x?} at {at}");
        assert_eq!(frame.card.unwrap().host_name, None);
    }
    // After an illegal standing, the host name is not at its place.
    let standing = before - lab2::LocksStanding::LEN;
    let mut illegal = bytes.clone();
    illegal[standing + 4] = 0x80;
    let frame = lab2::Frame::decode(&illegal).unwrap();
    assert_eq!((frame.locks, frame.encoded_len()), (None, standing));
    let long = [&bytes[..before], b"RGD5\x41", &[b'a'; 65]].concat();
    let card = lab2::Frame::decode(&long).unwrap().card.unwrap();
    assert_eq!(card.host_name, None);
}

/// Returns a frame with a pause notice, and the place of the pause notice.
fn with_pause_notice(host_name: Option<&str>, reason: &str) -> (Vec<u8>, usize) {
    let ping = corpus::seed("lab2", "ping");
    let frame = |pause| lab2::Frame {
        profile: Some(PROFILE),
        card: Some(lab2::Card {
            host_name,
            pause,
            ..CARD
        }),
        locks: Some(STANDING),
        ..lab2::Frame::decode(&ping).unwrap()
    };
    let notice = lab2::PauseNotice {
        left: Some(7),
        reason,
    };
    let mut buf = [0xa5; lab2::FRAME_LEN_MAX];
    let whole = frame(Some(notice));
    let len = whole.encode(lab2::ETHERTYPE, &mut buf).unwrap();
    assert_eq!(lab2::Frame::decode(&buf[..len]), Ok(whole));
    (buf[..len].to_vec(), frame(None).encoded_len())
}

/// Receivers that do not know pause notices read all bytes before the pause notice, and ignore the rest.
#[test]
fn lab2_pause_notices_follow_all_parts_that_older_receivers_know() {
    for (name, reason) in [
        (Some("db1"), "disk replaced"),
        (None, ""),
        (None, "b\u{fc}ro"),
    ] {
        let (bytes, before) = with_pause_notice(name, reason);
        assert_eq!(bytes.len(), before + 13 + reason.len());
        for len in before..bytes.len() {
            let cut = lab2::Frame::decode(&bytes[..len]).unwrap();
            assert_eq!(cut.encoded_len(), before, "{len} bytes");
            let card = cut.card.unwrap();
            assert_eq!((card.host_name, card.pause), (name, None));
        }
    }
}

#[test]
fn lab2_reads_an_illegal_pause_notice_as_padding() {
    let (bytes, before) = with_pause_notice(Some("db1"), "disk");
    // An illegal mark, lengths beyond the frame and beyond the limit, a control character, and text that is not UTF-8.
    for (at, to) in [
        (0, &b"RGDX"[..]),
        (12, &[5]),
        (12, &[65]),
        (13, &[0x1b]),
        (13, &[0xff]),
    ] {
        let mut illegal = bytes.clone();
        illegal[before + at..before + at + to.len()].copy_from_slice(to);
        let frame = lab2::Frame::decode(&illegal).unwrap();
        assert_eq!(frame.encoded_len(), before, "{to:x?} at {at}");
    }
    // After an illegal host name, the pause notice is not at its place.
    let mut illegal = bytes.clone();
    illegal[before - 3] = b'(';
    let card = lab2::Frame::decode(&illegal).unwrap().card.unwrap();
    assert_eq!((card.host_name, card.pause), (None, None));
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
fn lab2_reads_a_profile_with_and_without_a_trailer_before_it() {
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
        let mut buf = [0xa5; lab2::FRAME_LEN_MAX];
        let len = frame.encode(lab2::ETHERTYPE, &mut buf).unwrap();
        assert_eq!(
            buf[..bytes.len()],
            bytes,
            "{seed}: the profile changed the bytes before it"
        );
        let read = lab2::Frame::decode(&buf[..len]).unwrap();
        assert_eq!(read, frame, "{seed}");
        assert!(read.profile.unwrap().is_deaf());
        let cut = lab2::Frame::decode(&buf[..len - 1]).unwrap();
        assert_eq!(cut, plain, "{seed}: an incomplete profile is not padding");
    }
}

#[test]
fn lab2_reads_no_profile_after_other_messages() {
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
fn lab2_keeps_unknown_flags_of_a_profile() {
    let bytes = change_bytes("lab2", "where_is_token_with_profile", 26, &[0x80]);
    let profile = lab2::Frame::decode(&bytes).unwrap().profile.unwrap();
    assert_eq!((profile.flags, profile.is_deaf()), (0x80, false));
}

#[test]
fn other_encoders_refuse_what_the_decoder_refuses() {
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
    let no_holders = [Assignment {
        token: Token {
            name: b"t",
            data: b"",
        },
        holders: Holders::Shared((&[]).into()),
    }];
    for (part, parts, assignments, field) in [
        (0, 1, &no_holders[..], Field::Holders),
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
fn error_texts() {
    let bytes = change_bytes("lab2", "take_token", 52, &[4, 1]);
    let error = lab2::Frame::decode(&bytes).unwrap_err().to_string();
    assert_eq!(error, "dataLen at offset 52: 1025 is above 1024");
    let error = lab2::Frame::decode(&bytes[..40]).unwrap_err().to_string();
    assert_eq!(error, "ringSize at offset 40: needs 4 bytes, has 0");
}
