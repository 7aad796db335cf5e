//! Benchmark of one step of Lab2's state machine. A step is one input and all its output until the next deadline.
//!
//! A step includes the decoding and encoding of frames, but no system calls.
//!
//! `cargo bench --bench machine [FILTER]`

mod support;

use std::hint::black_box;
use std::time::Duration;

use criterion::Criterion;
use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Message, Token};
use ring_proto::Machine;
use ring_proto::lab2::{Constants, State};

use support::{Node, OWN_MAC, encode};

/// Other members, in ring order after the measured node.
const PEERS: [MacAddr; 7] = [
    MacAddr([2, 0, 0, 0, 0, 2]),
    MacAddr([2, 0, 0, 0, 0, 3]),
    MacAddr([2, 0, 0, 0, 0, 4]),
    MacAddr([2, 0, 0, 0, 0, 5]),
    MacAddr([2, 0, 0, 0, 0, 6]),
    MacAddr([2, 0, 0, 0, 0, 7]),
    MacAddr([2, 0, 0, 0, 0, 8]),
];
/// Approximate time of a hop in a fast ring.
const HOP_TIME: Duration = Duration::from_micros(10);
/// Position of the token's progress in a TAKE_TOKEN or TOKEN_IS_HERE, in bytes.
const PROGRESS_BYTES: std::ops::Range<usize> = 22..30;

/// Returns a node that knows `peers`, and the digest of its table.
fn node(idle_hold: Duration, peers: &[MacAddr]) -> (Node, Digest) {
    let constants = Constants {
        idle_hold,
        ..Constants::default()
    };
    let mut node = Node::new(constants);
    for &peer in peers {
        node.frame(&encode(peer, OWN_MAC, Message::WhereIsToken));
    }
    let digest = node.machine.digest();
    (node, digest)
}

fn token(progress: u64) -> Token {
    Token {
        progress,
        author: PEERS[0],
        number: 1,
    }
}

/// Advances time to the next deadline, and drains all output.
fn timeout(node: &mut Node) -> usize {
    node.machine.handle_timeout(node.now);
    node.drain()
}

fn take_token(digest: Digest) -> Vec<u8> {
    let token = token(0);
    let data: &[u8] = &[];
    let message = Message::TakeToken {
        token,
        digest,
        data,
    };
    encode(PEERS[PEERS.len() - 1], OWN_MAC, message)
}

fn token_is_here(progress: u64, digest: Digest) -> Vec<u8> {
    let token = token(progress);
    let data: &[u8] = &[];
    let message = Message::TokenIsHere {
        token,
        digest,
        data,
        beat: None,
    };
    encode(PEERS[0], MacAddr::BROADCAST, message)
}

/// Measures a step in which a token arrives and leaves.
fn pass_on(c: &mut Criterion) {
    let (mut node, digest) = node(Duration::ZERO, &PEERS);
    let mut frame = take_token(digest);
    let mut progress: u64 = 1 << 40;
    let rotation = HOP_TIME * u32::try_from(PEERS.len() + 1).expect("a small number");
    let mut step = || {
        progress += PEERS.len() as u64 + 1;
        frame[PROGRESS_BYTES].copy_from_slice(&progress.to_be_bytes());
        node.now.monotonic = node.now.monotonic + rotation;
        node.frame(black_box(&frame))
    };
    step();
    assert!(step() > 0, "the node hands the token over");
    c.bench_function("step/TAKE_TOKEN in, TAKE_TOKEN out", |b| b.iter(&mut step));
}

/// Measures a step in which a token arrives and stays. The node acknowledges the token, and IDLE_HOLD begins.
fn take_and_hold(c: &mut Criterion) {
    let (mut node, digest) = node(Duration::from_millis(10), &PEERS);
    let mut frame = take_token(digest);
    let mut progress: u64 = 1 << 40;
    let mut step = || {
        progress += 1;
        frame[PROGRESS_BYTES].copy_from_slice(&progress.to_be_bytes());
        node.now.monotonic = node.now.monotonic + HOP_TIME;
        node.frame(black_box(&frame))
    };
    assert!(step() > 0, "the node acknowledges the token");
    c.bench_function("step/TAKE_TOKEN in, TOKEN_IS_HERE out", |b| {
        b.iter(&mut step);
    });
}

fn heartbeat_heard(c: &mut Criterion) {
    let (mut node, digest) = node(Duration::ZERO, &PEERS);
    let frame = token_is_here(1 << 40, digest);
    let mut step = || {
        node.now.monotonic = node.now.monotonic + HOP_TIME;
        node.frame(black_box(&frame))
    };
    // An owner answers only the first question.
    step();
    assert_eq!(step(), 0, "there is nothing to answer");
    c.bench_function("step/TOKEN_IS_HERE at a WAITER", |b| b.iter(&mut step));
    assert_eq!(node.machine.state(), State::Waiter);
}

fn heartbeat_due(c: &mut Criterion) {
    let (mut node, _) = node(Duration::ZERO, &[]);
    while node.machine.state() != State::Owner {
        node.now.monotonic = node.machine.poll_timeout().expect("an election");
        timeout(&mut node);
    }
    let mut step = || {
        node.now.monotonic = node.machine.poll_timeout().expect("a heartbeat");
        timeout(&mut node)
    };
    c.bench_function("step/timeout of an OWNER", |b| b.iter(&mut step));
    assert_eq!(node.machine.state(), State::Owner);
}

fn nothing_due(c: &mut Criterion) {
    let (mut node, digest) = node(Duration::ZERO, &PEERS);
    node.frame(&token_is_here(1 << 40, digest));
    c.bench_function("step/timeout with nothing due", |b| {
        b.iter(|| timeout(&mut node));
    });
}

fn bench_dropped_frames(c: &mut Criterion) {
    let (mut node, digest) = node(Duration::ZERO, &PEERS);
    let mut frame = take_token(digest);
    frame.truncate(frame.len() - 1);
    c.bench_function("step/truncated frame", |b| {
        b.iter(|| node.frame(black_box(&frame)));
    });
}

fn main() {
    let mut c = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    for measure in [
        pass_on,
        take_and_hold,
        heartbeat_heard,
        heartbeat_due,
        nothing_due,
        bench_dropped_frames,
    ] {
        measure(&mut c);
    }
    c.final_summary();
}
