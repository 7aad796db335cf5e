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
use ring_codec::lab2::{
    Digest, LockMode, LockRecord, LockState, LocksPurpose, MAX_LOCK_NAME_LEN, MAX_LOCK_PROGRAM_LEN,
    Message, Token,
};
use ring_proto::lab2::{Constants, Lab2, State};
use ring_proto::{LinkState, Machine};
use ring_recording::Recorded;

use support::{Node, OWN_MAC, encode, fresh_machine};

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
    let node = node_of(machine(idle_hold), peers);
    let digest = node.machine.digest();
    (node, digest)
}

fn machine(idle_hold: Duration) -> Lab2 {
    fresh_machine(Constants {
        idle_hold,
        ..Constants::default()
    })
}

fn node_of<M>(machine: M, peers: &[MacAddr]) -> Node<M>
where
    M: Machine<Peer = (), Net = LinkState>,
{
    let mut node = Node::new(machine);
    for &peer in peers {
        node.frame(&encode(peer, OWN_MAC, Message::WhereIsToken));
    }
    node
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

/// Measures a step in which a token arrives and leaves, without and with the recorder.
fn pass_on(c: &mut Criterion) {
    let (node, digest) = node(Duration::ZERO, &PEERS);
    let name = "step/TAKE_TOKEN in, TAKE_TOKEN out";
    pass_on_at(c, name, node, digest, |_| {});
    let node = node_of(Recorded::new(machine(Duration::ZERO)), &PEERS);
    let name = "step/TAKE_TOKEN in, TAKE_TOKEN out, recorded";
    pass_on_at(c, name, node, digest, Recorded::end_iteration);
}

fn pass_on_at<M>(
    c: &mut Criterion,
    name: &str,
    mut node: Node<M>,
    digest: Digest,
    end_iteration: impl Fn(&M),
) where
    M: Machine<Peer = (), Net = LinkState>,
{
    let mut frame = take_token(digest);
    let mut progress: u64 = 1 << 40;
    let rotation = HOP_TIME * u32::try_from(PEERS.len() + 1).expect("a small number");
    let mut step = || {
        progress += PEERS.len() as u64 + 1;
        frame[PROGRESS_BYTES].copy_from_slice(&progress.to_be_bytes());
        node.now.monotonic = node.now.monotonic + rotation;
        let frames = node.frame(black_box(&frame));
        end_iteration(&node.machine);
        frames
    };
    step();
    assert!(step() > 0, "the node hands the token over");
    c.bench_function(name, |b| b.iter(&mut step));
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

/// Returns a node that has elected itself, because it knows no other member.
fn owner(idle_hold: Duration) -> Node {
    let (mut node, _) = node(idle_hold, &[]);
    while node.machine.state() != State::Owner {
        node.now.monotonic = node.machine.poll_timeout().expect("an election");
        timeout(&mut node);
    }
    node
}

fn heartbeat_due(c: &mut Criterion) {
    let mut node = owner(Duration::ZERO);
    let mut step = || {
        node.now.monotonic = node.machine.poll_timeout().expect("a heartbeat");
        timeout(&mut node)
    };
    c.bench_function("step/timeout of an OWNER", |b| b.iter(&mut step));
    assert_eq!(node.machine.state(), State::Owner);
}

/// Returns a frame with which a member requests or releases the lock with this number.
fn locks_frame(purpose: LocksPurpose, number: u64) -> Vec<u8> {
    let mut name = [0; MAX_LOCK_NAME_LEN];
    name[..8].copy_from_slice(format!("lock{number:04}").as_bytes());
    let record = LockRecord {
        name,
        member: PEERS[0],
        session: number.into(),
        mode: LockMode::Exclusive as u8,
        grade: 0,
        state: LockState::Waiting as u8,
        ticket: 0.into(),
        progress: 0.into(),
        author: MacAddr::default(),
        number: 0.into(),
        flag: 0.into(),
        age: 0.into(),
        program: [0; MAX_LOCK_PROGRAM_LEN],
    };
    let message = Message::Locks {
        token: token(0),
        serial: 0,
        purpose,
        grade: 0,
        digest: 0,
        from: 0,
        to: 0,
        locks: &[record],
    };
    encode(PEERS[0], OWN_MAC, message)
}

/// Measures four steps of an OWNER: a request arrives, the grant leaves, a release arrives, and the change leaves.
fn grant_and_release(c: &mut Criterion) {
    for held in [0, 1_000] {
        let mut node = owner(Duration::from_secs(3_600));
        let send = |node: &mut Node, purpose, number| {
            node.frame(black_box(&locks_frame(purpose, number)));
            timeout(node)
        };
        for number in 1..=held {
            send(&mut node, LocksPurpose::Request, number);
        }
        // An owner grants no lock for a WAITER_TIMEOUT after the first frame of a member.
        send(&mut node, LocksPurpose::Release, held + 1);
        let settled = node.now.monotonic + Duration::from_millis(500);
        while node.now.monotonic < settled {
            node.now.monotonic = node.machine.poll_timeout().expect("a heartbeat");
            timeout(&mut node);
        }
        let mut step = || {
            send(&mut node, LocksPurpose::Request, held + 1)
                + send(&mut node, LocksPurpose::Release, held + 1)
        };
        assert!(step() > 0, "the owner announces the grant");
        c.bench_function(&format!("step/named lock, {held} held"), |b| {
            b.iter(&mut step);
        });
        let granted = node.machine.locks().filter(|it| it.is_held);
        assert_eq!(granted.count() as u64, held);
    }
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
        grant_and_release,
        nothing_due,
        bench_dropped_frames,
    ] {
        measure(&mut c);
    }
    c.final_summary();
}
