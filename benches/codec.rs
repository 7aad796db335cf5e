//! Decoding and encoding every kind of every format, from bytes to a value and back: the worked
//! examples that are the fuzz targets' seeds, and Lab2's longest frames.
//!
//! `cargo bench --bench codec [FILTER]`

use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use ring_codec::lab2::{self, MAX_DATA_LEN, MAX_MEMBERS_PER_FRAME, Member, Message, NO_IP};
use ring_codec::stream::{StreamState, Streamed};
use ring_codec::{DecodeError, andrews, ftn, jitterbug};

type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// A format's worked examples by name.
fn examples(format: &str) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("codec/fuzz/corpus");
    let files = fs::read_dir(dir.join(format)).expect("the seeds are in the repository");
    let mut examples: Vec<_> = files
        .map(|file| {
            let path = file.expect("a seed").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            (name.into_owned(), fs::read(&path).expect("a seed"))
        })
        .collect();
    examples.sort();
    examples
}

/// No kind may be without an example.
fn require_all<K: Ord>(seen: &BTreeSet<K>, all: &[K]) {
    assert_eq!(seen.len(), all.len(), "a kind has no example");
}

/// Enough for the longest frame and for every example.
fn buffer() -> Vec<u8> {
    vec![0; lab2::MAX_FRAME_LEN]
}

/// Has all of a decoded message made, where it is: giving it back would measure the copying.
fn see<T>(decoded: &T) {
    black_box(decoded);
}

fn lab2_frame(group: &mut Group<'_>, name: &str, bytes: &[u8]) -> lab2::Kind {
    let frame = lab2::Frame::decode(bytes).expect("an example");
    let mut buf = buffer();
    group.bench_function(format!("decode/{name}"), |b| {
        b.iter(|| see(&lab2::Frame::decode(black_box(bytes))));
    });
    group.bench_function(format!("encode/{name}"), |b| {
        b.iter(|| black_box(&frame).encode(lab2::ETHERTYPE, black_box(&mut buf)));
    });
    frame.message.kind()
}

fn lab2(c: &mut Criterion) {
    let mut group = c.benchmark_group("lab2");
    let mut seen = BTreeSet::new();
    for (name, bytes) in examples("lab2") {
        seen.insert(lab2_frame(&mut group, &name, &bytes));
    }
    require_all(&seen, &lab2::Kind::ALL);
    for (name, bytes) in longest() {
        lab2_frame(&mut group, name, &bytes);
    }
    group.finish();
}

/// Lab2's frames with as much data, and as many members, as they can have.
fn longest() -> [(&'static str, Vec<u8>); 2] {
    let author = ring_codec::MacAddr([2, 0, 0, 0, 0, 1]);
    let digest = lab2::Digest { size: 66, hash: 1 };
    let encode = |message| {
        let frame = lab2::Frame {
            destination: author,
            author,
            message,
            profile: None,
            card: None,
        };
        let mut buf = buffer();
        let len = frame.encode(lab2::ETHERTYPE, &mut buf).expect("legal");
        buf.truncate(len);
        buf
    };
    let token = lab2::Token {
        progress: 7,
        author,
        number: 3,
    };
    let member = Member {
        mac: author,
        ip: NO_IP,
    };
    let take_token = Message::TakeToken {
        token,
        digest,
        data: &[0x5a; MAX_DATA_LEN],
    };
    let members = &[member; MAX_MEMBERS_PER_FRAME];
    let ring_members = Message::RingMembers { digest, members };
    [
        ("take_token, 1024 bytes", encode(take_token)),
        ("ring_members, 66 of them", encode(ring_members)),
    ]
}

/// A message by whichever transport it travels.
fn jitterbug_message(bytes: &[u8]) -> Result<jitterbug::Message<'_>, DecodeError> {
    jitterbug::Message::decode_datagram(bytes).or_else(|_| {
        let max = jitterbug::MAX_NODES;
        match jitterbug::Message::decode_stream(bytes, StreamState::Ended, max)? {
            Streamed::Message { message, .. } => Ok(message),
            Streamed::Incomplete { .. } => unreachable!("the stream has ended"),
        }
    })
}

fn jitterbug(c: &mut Criterion) {
    let mut group = c.benchmark_group("jitterbug");
    let mut seen = BTreeSet::new();
    for (name, bytes) in examples("jitterbug") {
        let message = jitterbug_message(&bytes).expect("an example");
        let mut buf = buffer();
        group.bench_function(format!("decode/{name}"), |b| {
            let stream = |bytes| {
                let (ended, max) = (StreamState::Ended, jitterbug::MAX_NODES);
                jitterbug::Message::decode_stream(bytes, ended, max)
            };
            if message.kind().is_datagram() {
                b.iter(|| see(&jitterbug::Message::decode_datagram(black_box(&bytes))));
            } else {
                b.iter(|| see(&stream(black_box(&bytes))));
            }
        });
        group.bench_function(format!("encode/{name}"), |b| {
            b.iter(|| black_box(&message).encode(black_box(&mut buf)));
        });
        seen.insert(message.kind());
    }
    require_all(&seen, &jitterbug::Kind::ALL);
    group.finish();
}

fn andrews(c: &mut Criterion) {
    let mut group = c.benchmark_group("andrews");
    let mut seen = BTreeSet::new();
    for (name, bytes) in examples("andrews") {
        let frame = andrews::Frame::decode_datagram(&bytes).expect("an example");
        let mut buf = buffer();
        group.bench_function(format!("decode/{name}"), |b| {
            b.iter(|| see(&andrews::Frame::decode_datagram(black_box(&bytes))));
        });
        group.bench_function(format!("encode/{name}"), |b| {
            b.iter(|| black_box(&frame).encode(black_box(&mut buf)));
        });
        seen.insert(frame.message.kind());
    }
    require_all(&seen, &andrews::Kind::ALL);
    group.finish();
}

fn ftn(c: &mut Criterion) {
    let mut group = c.benchmark_group("ftn");
    let mut seen = BTreeSet::new();
    for (name, bytes) in examples("ftn") {
        let received = ftn::Datagram::decode(&bytes).expect("an example");
        // One that was received encodes to the bytes that it came as.
        let made = ftn::Datagram::new(received.header(), received.message());
        let mut buf = buffer();
        group.bench_function(format!("decode/{name}"), |b| {
            b.iter(|| see(&ftn::Datagram::decode(black_box(&bytes))));
        });
        group.bench_function(format!("encode/{name}"), |b| {
            b.iter(|| black_box(&made).encode(black_box(&mut buf)));
        });
        seen.insert(made.message().kind());
    }
    require_all(&seen, &ftn::Kind::ALL);
    group.finish();
}

fn config() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
}

criterion_group! {
    name = benches;
    config = config();
    targets = lab2, jitterbug, andrews, ftn
}
criterion_main!(benches);
