//! Benchmark of the member table inside Lab2's state machine. A frame from an unknown author inserts a member, and a
//! PING with another IP changes the hash. The benchmark also measures equal frames without these effects. The
//! difference is the cost of the table.
//!
//! `cargo bench --bench membership [FILTER]`

mod support;

use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion};
use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, MEMBERS_PER_FRAME_MAX, Member, Message, NO_IP};
use ring_proto::lab2::Constants;

use support::{Node, OWN_MAC, encode, fresh_machine};

const SIZES: [usize; 4] = [10, 100, 1_000, 4_096];

/// Returns the address of member `n`. Consecutive numbers lie far apart in the table.
fn mac(n: usize) -> MacAddr {
    // The multiplication by an odd factor gives each address once.
    let scattered = u32::try_from(n)
        .expect("a small number")
        .wrapping_mul(0x9e37_79b1);
    let mut octets = [2; 6];
    octets[2..].copy_from_slice(&scattered.to_be_bytes());
    MacAddr(octets)
}

/// Returns a node that knows `members` members, including itself, and has space for one more member.
fn node(members: usize) -> Node {
    let constants = Constants {
        max_members: members + 1,
        ..Constants::default()
    };
    let mut node = Node::new(fresh_machine(constants));
    let all: Vec<Member> = (1..members)
        .map(|n| Member {
            mac: mac(n),
            ip: NO_IP,
        })
        .collect();
    let digest = Digest { size: 0, hash: 0 };
    for part in all.chunks(MEMBERS_PER_FRAME_MAX) {
        let members = part;
        node.frame(&encode(
            mac(1),
            OWN_MAC,
            Message::RingMembers { digest, members },
        ));
    }
    assert_eq!(node.machine.members().len(), members);
    node
}

/// Returns a frame that a LOOSER does not answer. So the frame costs time only because of its author.
fn question(author: MacAddr) -> Vec<u8> {
    encode(author, OWN_MAC, Message::WhereIsToken)
}

fn insert(c: &mut Criterion) {
    let mut group = c.benchmark_group("membership/insert");
    for size in SIZES {
        let stranger = question(mac(size));
        group.bench_function(BenchmarkId::new("new author", size), |b| {
            b.iter_batched_ref(
                || node(size - 1),
                |node| node.frame(&stranger),
                BatchSize::NumIterations(16),
            );
        });
        let member = question(mac(size / 2));
        let mut node = node(size);
        group.bench_function(BenchmarkId::new("known author", size), |b| {
            b.iter(|| node.frame(&member));
        });
    }
    group.finish();
}

fn hash(c: &mut Criterion) {
    let mut group = c.benchmark_group("membership/hash");
    for size in SIZES {
        let mut node = node(size);
        let ping = |ip: u8, node: &Node| {
            // The digest is the digest of the node's table, so the node sends no answer.
            let digest = node.machine.digest();
            let ip = [ip; 16];
            encode(
                mac(size / 2),
                OWN_MAC,
                Message::Ping {
                    digest,
                    ip,
                    promise: None,
                    paused: false,
                },
            )
        };
        let pings = [ping(1, &node), ping(2, &node)];
        let mut turn = 0;
        group.bench_function(BenchmarkId::new("ip changed", size), |b| {
            b.iter(|| {
                turn ^= 1;
                node.frame(&pings[turn])
            });
        });
        group.bench_function(BenchmarkId::new("ip unchanged", size), |b| {
            b.iter(|| node.frame(&pings[turn]));
        });
    }
    group.finish();
}

fn main() {
    let mut c = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    insert(&mut c);
    hash(&mut c);
    c.final_summary();
}
