//! Impossible leases, and terms of nodes that are gone (`docs/jitterbug/protocol/terms.md`).

use super::prelude::*;
use super::segment::Segment;
use super::terms::{give, terms, tr1_with, tr2_with};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap()
}

fn impossible() -> Vec<Terms> {
    let (least, most) = (micros(LEASE_MIN), micros(LEASE_MAX));
    let mut all = Vec::new();
    for wrong in [0, 1_000, least - 1, most + 1, u32::MAX] {
        let good = terms();
        all.extend([
            Terms {
                lease_us: wrong,
                ..good
            },
            Terms {
                shortest_us: wrong,
                ..good
            },
            Terms {
                longest_us: wrong,
                ..good
            },
        ]);
    }
    all
}

fn shortest() -> Terms {
    Terms {
        lease_us: micros(LEASE_MIN),
        shortest_us: micros(LEASE_MIN),
        ..terms()
    }
}

fn short_options() -> Options {
    Options {
        tr_interval: ms(10),
        ..Options::default()
    }
}

/// Guards against a bug. A datagram announced a lease of 0. After this datagram, the leader treated each input as a
/// stall. The leader then asked which node leads, and treated each answer as one more stall. The timeouts of the leader
/// were always due.
#[test]
fn a_datagram_with_an_impossible_lease_does_not_end_the_ring() {
    for terms in impossible() {
        let mut rig = Rig::leader(5);
        rig.clear_output();
        rig.receive_datagram(2, &tr1_with(-1, 2, terms));
        assert_eq!(
            rig.take_datagrams(),
            [SentDatagram::Tr2(host(2), 5)],
            "the node hears of a leader"
        );
        let how = Difference::Lease;
        assert!(
            rig.take_events()
                .contains(&Event::NodeDiffers { node: host(2), how })
        );
        assert_eq!(rig.machine.snapshot().differing, [(host(2), how)]);
        assert_eq!(rig.machine.lease(), ms(500), "{terms:?}");
        assert!(rig.due().unwrap() > Duration::ZERO);
        rig.receive_datagram(2, &tr2_with(-1, terms));
        rig.run(secs(5));
        assert_eq!(rig.state(), State::Leader);
        assert_eq!(rig.machine.lease(), ms(500), "{terms:?}");
        assert_eq!(rig.machine.counters().stalls, 0);
        assert_eq!(rig.machine.lists(), (&[node(1)][..], &[][..]));
    }
}

#[test]
fn a_token_with_an_impossible_lease_is_refused_and_its_giver_named() {
    for terms in impossible() {
        let mut rig = Rig::waiter(5);
        let stream = give(&mut rig, 2, 9, &[node(2), node(1)], terms);
        assert_eq!(rig.fate(stream), Fate::Reset);
        assert_eq!(rig.drop_count(Reason::Lease), 1);
        assert_eq!(
            rig.machine.snapshot().differing,
            [(host(2), Difference::Lease)]
        );
    }
}

/// Guards against a bug. A lease of 71 minutes prevented every node without a token from becoming leader for 71
/// minutes.
#[test]
fn a_new_node_waits_for_no_longer_than_the_longest_lease_that_a_node_may_have() {
    let reported = |longest_us| {
        let terms = Terms {
            longest_us,
            ..terms()
        };
        tr2_with(-1, terms)
    };
    let mut rig = Rig::orphan();
    rig.receive_datagram(2, &reported(u32::MAX));
    rig.run(ms(600));
    assert_eq!(
        rig.state(),
        State::Leader,
        "an impossible lease has no effect"
    );
    let mut rig = Rig::orphan();
    rig.receive_datagram(2, &reported(micros(LEASE_MAX)));
    rig.run(ms(10_000));
    assert_eq!(rig.state(), State::Orphan);
    rig.run(ms(200));
    assert_eq!(rig.state(), State::Leader);
}

/// Guards against a bug. After the removal of the node with the shortest lease, its ring used that lease until all
/// daemons restarted.
#[test]
fn the_terms_of_a_silent_node_no_longer_count() {
    let mut segment = Segment::ring(3);
    segment.restart_with(1, short_options());
    assert!(segment.run_until(ms(20_000), |segment| {
        (0..3).all(|at| segment.rigs[at].machine.lease() == LEASE_MIN)
    }));
    segment.run(secs(60));
    assert!(
        (0..3).all(|at| segment.rigs[at].machine.lease() == LEASE_MIN),
        "the lease counts while the node is heard"
    );
    segment.stall(1);
    segment.run(secs(15));
    assert!([0, 2].map(|at| segment.rigs[at].machine.lease()) == [LEASE_MIN; 2]);
    segment.run(secs(15));
    for at in [0, 2] {
        assert_eq!(segment.rigs[at].machine.lease(), ms(500));
        assert_eq!(segment.rigs[at].machine.snapshot().differing, []);
    }
    let stalls = [0, 2].map(|at| segment.rigs[at].machine.counters().stalls);
    assert_eq!(stalls, [0, 0]);
}

/// Checks that the lease of a stalled leader stays the same if the terms of a different node become invalid during the
/// stall.
#[test]
fn a_stall_is_judged_by_the_lease_that_it_began_with() {
    let mut judged = 0;
    // The node looks for old terms once a second, so at some of these times the terms run out within the stall.
    for before in (19_950..21_100).step_by(50) {
        let mut rig = Rig::leader(5);
        rig.machine.set_work(true);
        rig.receive_datagram(2, &tr1_with(-1, 2, shortest()));
        rig.run(ms(before));
        if rig.machine.lease() > LEASE_MIN {
            continue;
        }
        judged += 1;
        rig.clear_output();
        rig.stall(ms(60));
        rig.fire_timeout();
        assert_eq!(rig.state(), State::Orphan, "{before}");
        assert_eq!(rig.take_datagrams(), [SentDatagram::Tr1(BROADCAST, -5)]);
    }
    assert!(judged > 0);
}

/// Checks that a giver's lease expires after the lifetime of terms, even if the leader works for hours.
#[test]
fn the_lease_of_the_giver_runs_out() {
    let mut rig = Rig::waiter(5);
    rig.machine.set_work(true);
    let terms = Terms {
        shortest_us: micros(LEASE_MIN),
        ..terms()
    };
    give(&mut rig, 2, 9, &[node(2), node(1)], terms);
    rig.run(secs(19));
    assert_eq!(rig.machine.lease(), LEASE_MIN);
    rig.run(secs(2));
    assert_eq!((rig.machine.lease(), rig.state()), (ms(500), State::Leader));
}

/// Checks a silent node. The other nodes drop the terms of a silent node. So a leader with a longer lease may be
/// stalled when the silent node becomes active again.
#[test]
fn a_silent_node_waits_for_the_longest_lease_it_has_received() {
    let restores_after = |silence: Duration| {
        let mut rig = Rig::new(short_options());
        rig.receive_datagram(2, &tr2(1));
        let terms = Terms {
            longest_us: 2_000_000,
            ..terms()
        };
        give(&mut rig, 2, 9, &[node(2), node(1)], terms);
        let pass = rig.refuse_until(2);
        rig.acknowledge(pass);
        rig.stall(silence);
        rig.fire_timeout();
        assert_eq!(rig.state(), State::Orphan);
        let began = rig.now;
        while rig.state() == State::Orphan {
            let due = rig.due().expect("a restore has time-outs");
            rig.run(due);
        }
        rig.now.saturating_sub(began)
    };
    assert_eq!(
        restores_after(secs(5)),
        ms(60),
        "the other nodes know this node"
    );
    let after = restores_after(secs(12));
    assert!(after >= ms(2_010) && after < ms(2_050), "{after:?}");
}

/// Checks the terms of a node that announced the long lease of another node. Later the node is heard only because it
/// takes tokens. The announced lease must expire after the lifetime of terms.
#[test]
fn statements_about_other_nodes_expire_even_if_their_sender_is_heard() {
    let mut rig = Rig::orphan();
    let terms = Terms {
        longest_us: 3_000_000,
        ..terms()
    };
    rig.receive_datagram(2, &tr2_with(1, terms));
    assert_eq!(rig.machine.restore_min(), ms(3_100));
    for _ in 0..22 {
        rig.run(secs(1));
        rig.receive_datagram(2, &tr1(1, tcp_port(2)));
    }
    assert_eq!(rig.machine.restore_min(), ms(600));
}

/// Checks that a node of a ring with equal options restores fast, even if it sent no TR1 to all nodes for hours.
#[test]
fn a_silent_node_of_a_ring_with_equal_times_restores_as_fast_as_ever() {
    let mut segment = Segment::new(3, short_options());
    assert!(segment.run_until(ms(5000), Segment::is_one_ring));
    segment.run(secs(40));
    let leader = segment.leader_indexes()[0];
    segment.stall(leader);
    assert!(segment.run_until(ms(2_000 + 60 + 20), |segment| {
        segment.leader_indexes().iter().any(|at| *at != leader)
    }));
}
