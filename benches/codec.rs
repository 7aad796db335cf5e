//! Benchmarks of decoding and encoding, for every kind of message of every format.
//!
//! The messages are the worked examples that also seed the fuzz targets, and Lab2's longest frames.
//!
//! `cargo bench --bench codec [FILTER]`

use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion};
use ring_codec::lab2::{self, DATA_LEN_MAX, MEMBERS_PER_FRAME_MAX, Member, Message, NO_IP};
use ring_codec::stream::{StreamState, Streamed};
use ring_codec::{DecodeError, andrews, ftn, jitterbug};

type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// Returns a format's worked examples, each with its name.
fn examples(format: &str) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("codec/fuzz/corpus");
    let files = fs::read_dir(dir.join(format)).expect("the seeds are in the repository");
    let mut examples: Vec<_> = files
        .map(|file| {
            let path = file.expect("a valid seed").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            (name.into_owned(), fs::read(&path).expect("a valid seed"))
        })
        .collect();
    examples.sort();
    examples
}

fn buffer() -> Vec<u8> {
    vec![0; lab2::FRAME_LEN_MAX]
}

/// Makes the compiler build the whole decoded value in place. If the benchmark returned the value, it would also
/// measure the copying of the value.
fn consume<T>(decoded: &T) {
    black_box(decoded);
}

/// Measures a format's worked examples. Panics if a kind of message has no example.
fn bench_format<K: Ord>(
    c: &mut Criterion,
    format: &str,
    kinds: &[K],
    measure: impl Fn(&mut Group<'_>, &str, &[u8]) -> K,
) {
    let mut group = c.benchmark_group(format);
    let all = examples(format);
    let seen = all.iter().map(|it| measure(&mut group, &it.0, &it.1));
    let seen: BTreeSet<K> = seen.collect();
    assert_eq!(seen.len(), kinds.len(), "a kind has no example");
    group.finish();
}

fn bench_both_ways<T>(
    group: &mut Group<'_>,
    name: &str,
    decode: impl Fn(),
    encode: impl Fn(&mut Vec<u8>) -> T,
) {
    let mut buf = buffer();
    group.bench_function(format!("decode/{name}"), |b| b.iter(&decode));
    group.bench_function(format!("encode/{name}"), |b| {
        b.iter(|| encode(black_box(&mut buf)));
    });
}

fn lab2_frame(group: &mut Group<'_>, name: &str, bytes: &[u8]) -> lab2::Kind {
    let frame = lab2::Frame::decode(bytes).expect("an example");
    let decode = || consume(&lab2::Frame::decode(black_box(bytes)));
    bench_both_ways(group, name, decode, |buf| {
        black_box(&frame).encode(lab2::ETHERTYPE, buf)
    });
    frame.message.kind()
}

fn lab2(c: &mut Criterion) {
    bench_format(c, "lab2", &lab2::Kind::ALL, lab2_frame);
    let mut group = c.benchmark_group("lab2");
    for (name, bytes) in longest() {
        lab2_frame(&mut group, name, &bytes);
    }
    group.finish();
}

/// Returns two Lab2 frames: one with the maximum length of data, and one with the maximum number of members.
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
            locks: None,
            preference: 0,
        };
        let mut buf = buffer();
        let len = frame
            .encode(lab2::ETHERTYPE, &mut buf)
            .expect("a legal message");
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
        data: &[0x5a; DATA_LEN_MAX],
    };
    let members = &[member; MEMBERS_PER_FRAME_MAX];
    let ring_members = Message::RingMembers { digest, members };
    [
        ("take_token, 1024 bytes", encode(take_token)),
        ("ring_members, 66 of them", encode(ring_members)),
    ]
}

/// Decodes a message of either transport.
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
    bench_format(
        c,
        "jitterbug",
        &jitterbug::Kind::ALL,
        |group, name, bytes| {
            let message = jitterbug_message(bytes).expect("an example");
            let encode = |buf: &mut Vec<u8>| black_box(&message).encode(buf);
            if message.kind().is_datagram() {
                let decode = || consume(&jitterbug::Message::decode_datagram(black_box(bytes)));
                bench_both_ways(group, name, decode, encode);
            } else {
                let (ended, max) = (StreamState::Ended, jitterbug::MAX_NODES);
                let decode = |bytes| jitterbug::Message::decode_stream(bytes, ended, max);
                bench_both_ways(group, name, || consume(&decode(black_box(bytes))), encode);
            }
            message.kind()
        },
    );
}

fn andrews(c: &mut Criterion) {
    bench_format(c, "andrews", &andrews::Kind::ALL, |group, name, bytes| {
        let frame = andrews::Frame::decode_datagram(bytes).expect("an example");
        let decode = || consume(&andrews::Frame::decode_datagram(black_box(bytes)));
        bench_both_ways(group, name, decode, |buf| black_box(&frame).encode(buf));
        frame.message.kind()
    });
}

fn ftn(c: &mut Criterion) {
    bench_format(c, "ftn", &ftn::Kind::ALL, |group, name, bytes| {
        let received = ftn::Datagram::decode(bytes).expect("an example");
        let made = ftn::Datagram::new(received.header(), received.message());
        let decode = || consume(&ftn::Datagram::decode(black_box(bytes)));
        bench_both_ways(group, name, decode, |buf| black_box(&made).encode(buf));
        made.message().kind()
    });
}

fn main() {
    let mut c = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .configure_from_args();
    lab2(&mut c);
    jitterbug(&mut c);
    andrews(&mut c);
    ftn(&mut c);
    c.final_summary();
}
