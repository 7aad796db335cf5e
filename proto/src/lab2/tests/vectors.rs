//! Tests that the code computes the results of the vectors in `docs/reference/lab2/vectors.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{
    self, Digest, FRAME_LEN_MAX, Frame, LOCK_SUMS, LockRecord, LocksPurpose, Message, Purpose,
    Token,
};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::FromBytes;

use super::once_rig::{question, stamps_frame, waiter};
use super::rig::{BLANK, OTHER, Rig, constants, decode, frame, ping_of, token};
use crate::LinkState;
use crate::lab2::Constants;

/// Length of a member, of a token and of a stamp on the wire, in bytes.
const MEMBER_LEN: usize = 22;
const TOKEN_LEN: usize = 18;
const STAMP_LEN: usize = size_of::<lab2::Stamp>();
/// Length of a record of a lock, and of the part of the record that its key covers, in bytes.
const LOCK_LEN: usize = size_of::<LockRecord>();
const LOCK_KEY_LEN: usize = 78;
/// The number of the table of grade quorum in frames.
const QUORUM: u8 = 2;

struct Vector {
    input: Vec<u8>,
    /// The result; `None` if the vector has no result.
    result: Option<u64>,
}

/// Returns the vectors of the page whose names begin with this group. A vector is a block that starts with
/// ` ```text vector/group/name`.
fn vectors(group: &str) -> BTreeMap<String, Vector> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/lab2/vectors.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let mut vectors = BTreeMap::new();
    for block in page.split("```text vector/").skip(1) {
        let (title, rest) = block.split_once('\n').expect("a title");
        let (body, _) = rest.split_once("```").expect("an end");
        let Some(name) = title
            .strip_prefix(group)
            .and_then(|it| it.strip_prefix('/'))
        else {
            continue;
        };
        let (results, lines): (Vec<&str>, Vec<&str>) =
            body.lines().partition(|line| line.starts_with('='));
        let result = results.first().map(|line| {
            u64::from_str_radix(line[1..].trim(), 16).expect("a result in hexadecimal digits")
        });
        let input = lines.iter().flat_map(|line| {
            let hex = line.split(';').next().unwrap_or_default();
            hex.split_whitespace()
                .map(|byte| u8::from_str_radix(byte, 16).expect("a byte"))
        });
        let vector = Vector {
            input: input.collect(),
            result,
        };
        let earlier = vectors.insert(name.to_owned(), vector);
        assert!(earlier.is_none(), "{title} is there twice");
    }
    assert!(!vectors.is_empty(), "the page has no vectors of {group}");
    vectors
}

fn check(group: &str, compute: impl Fn(&[u8]) -> u64) {
    for (name, Vector { input, result }) in vectors(group) {
        let result = result.expect("a result");
        let computed = compute(&input);
        assert_eq!(
            computed, result,
            "{name}: {computed:016x} instead of {result:016x}"
        );
    }
}

fn mac_at(bytes: &[u8]) -> MacAddr {
    MacAddr(bytes[..6].try_into().expect("six bytes"))
}

/// Returns the digest of a node that is the first of these members, and that hears of the other members.
fn digest_of(members: &[u8]) -> Digest {
    let (mut rig, _) = Rig::start(constants(), BLANK);
    rig.machine = crate::lab2::Lab2::new(constants(), BLANK);
    for (place, member) in members.chunks_exact(MEMBER_LEN).enumerate() {
        let (mac, ip) = (mac_at(member), member[6..].try_into().expect("an address"));
        if place == 0 {
            let mtu = 1500;
            rig.link(LinkState::Up { mac, ip, mtu });
        } else {
            let ping = frame(mac, MacAddr::BROADCAST, ping_of(OTHER, ip));
            rig.hear_bytes(&ping, Duration::ZERO);
        }
    }
    rig.machine.digest()
}

fn hash_of_stamps(bytes: &[u8]) -> u64 {
    let stamps: Vec<lab2::Stamp> = bytes
        .chunks_exact(STAMP_LEN)
        .map(|bytes| lab2::Stamp::read_from_bytes(bytes).expect("a stamp"))
        .collect();
    let mut rig = waiter();
    rig.hear_all(3, stamps_frame((token(10), 1, 0), Purpose::Tell, &stamps));
    rig.hear_all(3, stamps_frame((token(10), 2, 0), Purpose::Ask, &[]));
    question(&rig).2
}

/// Returns a node that is not OWNER and has these records of locks, and the sums in its question for other records.
fn node_with_locks(bytes: &[u8]) -> (Rig, Vec<u64>) {
    let records: Vec<LockRecord> = bytes
        .chunks_exact(LOCK_LEN)
        .map(|bytes| LockRecord::read_from_bytes(bytes).expect("a record"))
        .collect();
    let mut rig = waiter();
    // The records do not have this hash, so the node asks for the missing records.
    let change = Message::Locks {
        token: token(10),
        serial: 1,
        purpose: LocksPurpose::Change,
        grade: QUORUM,
        digest: 1,
        from: 0,
        to: 0,
        locks: &records,
    };
    rig.hear_all(3, change);
    rig.pass_time(Duration::ZERO);
    let sums = rig.frames.iter().find_map(|bytes| {
        let Message::LocksQuestion { sums, .. } = decode(bytes).message else {
            return None;
        };
        Some(sums.iter().map(|sum| sum.get()).collect())
    });
    (rig, sums.expect("the node asks"))
}

fn hash_of_locks(records: &[u8]) -> u64 {
    let (_, sums) = node_with_locks(records);
    sums.into_iter().fold(0, u64::wrapping_add)
}

/// Returns the key of the record that begins with these bytes: the largest first key for which a node sends the record.
fn key_of_lock(beginning: &[u8]) -> u64 {
    let mut record = [0; LOCK_LEN];
    record[..LOCK_KEY_LEN].copy_from_slice(beginning);
    let (mut rig, _) = node_with_locks(&record);
    let mut is_sent_from = |from| {
        let question = Message::LocksQuestion {
            grade: QUORUM,
            from,
            sums: &[0.into(); LOCK_SUMS],
        };
        rig.hear(3, question);
        rig.pass_time(Duration::ZERO);
        rig.frames.iter().any(|bytes| {
            let message = decode(bytes).message;
            matches!(message, Message::Locks { locks, .. } if locks.len() == 1)
        })
    };
    let mut key = 0;
    for bit in (0..u64::BITS).rev() {
        if is_sent_from(key | 1 << bit) {
            key |= 1 << bit;
        }
    }
    key
}

#[test]
fn xxh3_has_the_seed_0() {
    check("xxh3", xxh3_64);
}

#[test]
fn tables_have_the_hashes_of_the_page() {
    check("members", |members| digest_of(members).hash);
}

#[test]
fn constants_have_the_digests_of_the_page() {
    check("constants", |bytes| {
        let number = |at: usize, len: usize| {
            let bytes = bytes[at..at + len].iter();
            bytes.fold(0, |number, &byte| number << 8 | u64::from(byte))
        };
        let count = |at| u32::try_from(number(at, 4)).expect("32 bits");
        let constants = Constants {
            heartbeat: Duration::from_nanos(number(0, 8)),
            take_timeout: Duration::from_nanos(number(8, 8)),
            waiter_intervals: count(16),
            answer_intervals: count(20),
            take_attempts: count(24),
            ..Constants::default()
        };
        constants.check().expect("constants that can work");
        constants.digest()
    });
}

#[test]
fn tables_of_stamps_have_the_hashes_of_the_page() {
    check("stamps", hash_of_stamps);
}

#[test]
fn records_of_locks_have_the_keys_of_the_page() {
    check("lock_keys", key_of_lock);
}

#[test]
fn tables_of_locks_have_the_hashes_of_the_page() {
    check("locks", hash_of_locks);
}

#[test]
fn tokens_have_the_order_of_the_page() {
    let order = &vectors("tokens")["order"].input;
    let tokens: Vec<Token> = order
        .chunks_exact(TOKEN_LEN)
        .map(|bytes| Token {
            progress: u64::from_be_bytes(bytes[..8].try_into().expect("eight bytes")),
            author: mac_at(&bytes[8..]),
            number: u32::from_be_bytes(bytes[14..].try_into().expect("four bytes")),
        })
        .collect();
    assert_eq!(tokens.len(), 6);
    for (place, stronger) in tokens.iter().enumerate() {
        for weaker in &tokens[place + 1..] {
            assert!(
                stronger.is_stronger_than(weaker),
                "{stronger:?} and {weaker:?}"
            );
            assert!(!weaker.is_stronger_than(stronger));
        }
    }
}

/// The frames come from a ring with the default constants. Their digests are the digests of the tables on the page.
#[test]
fn frames_decode_to_the_digests_of_the_page_and_encode_to_the_same_bytes() {
    let tables = vectors("members");
    let table = digest_of(&tables["recording"].input);
    let locks = vectors("locks");
    let hash_of = |table: &str| hash_of_locks(&locks[table].input);
    let (mut beats, mut confirmations, mut pauses, mut stamps) = (0, 0, 0, 0);
    let (mut purposes, mut standings, mut questions) = (BTreeSet::new(), 0, 0);
    for (name, Vector { input, .. }) in vectors("frame") {
        let decoded = Frame::decode(&input).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut buf = [0; FRAME_LEN_MAX];
        let len = decoded.encode(0x88b5, &mut buf).expect("a legal frame");
        assert_eq!(buf[..len], input, "{name}");
        if let Some(profile) = decoded.profile {
            assert_eq!(profile.constants, Constants::default().digest(), "{name}");
            assert!(decoded.card.is_some(), "{name}");
        }
        match decoded.message {
            Message::TakeToken { digest, .. } => assert_eq!(digest, table, "{name}"),
            Message::TokenIsHere { digest, beat, .. } => {
                assert_eq!(digest, table, "{name}");
                beats += usize::from(beat.is_some() && decoded.profile.is_some());
            }
            Message::Ping {
                digest,
                promise,
                paused,
                ..
            } => {
                assert_eq!(digest, table, "{name}");
                assert!(decoded.profile.is_some(), "{name}");
                confirmations += usize::from(promise.is_some());
                pauses += usize::from(paused);
            }
            Message::Stamps { digest, .. } => {
                let bytes = &input[input.len() - STAMP_LEN..];
                assert_eq!(digest, hash_of_stamps(bytes), "{name}");
                stamps += 1;
            }
            Message::Locks {
                purpose,
                grade,
                digest,
                ..
            } => {
                assert_eq!(grade, QUORUM, "{name}");
                let table = match purpose {
                    LocksPurpose::Request => "none",
                    LocksPurpose::Part | LocksPurpose::Release => "two",
                    _ => "one",
                };
                assert_eq!(digest, hash_of(table), "{name}");
                purposes.insert(purpose as u8);
            }
            Message::LocksQuestion { grade, sums, .. } => {
                assert_eq!(grade, QUORUM, "{name}");
                let (_, expected) = node_with_locks(&locks["one"].input);
                assert!(sums.iter().map(|sum| sum.get()).eq(expected), "{name}");
                questions += 1;
            }
            _ => assert!(decoded.profile.is_some(), "{name}"),
        }
        if let Some(standing) = decoded.locks {
            assert_eq!(standing.quorum, hash_of("one"), "{name}");
            assert_eq!(standing.others, hash_of("none"), "{name}");
            standings += 1;
        }
    }
    assert_eq!((beats, confirmations, pauses, stamps), (3, 2, 1, 1));
    assert_eq!((purposes.len(), standings, questions), (7, 3, 1));
}
