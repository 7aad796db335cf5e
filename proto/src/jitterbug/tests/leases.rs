//! Leases that no node may have, and terms of nodes that are gone (section 1).

use super::prelude::*;
use super::terms::{give, terms, tr1_with, tr2_with};
use super::world::World;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap()
}

/// Terms in which one number is impossible.
fn impossible() -> Vec<Terms> {
    let (least, most) = (micros(LEAST_LEASE), micros(MOST_LEASE));
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

/// The shortest lease that a node may have.
fn shortest() -> Terms {
    Terms {
        lease_us: micros(LEAST_LEASE),
        shortest_us: micros(LEAST_LEASE),
        ..terms()
    }
}

fn short_options() -> Options {
    Options {
        tr_interval: ms(10),
        ..Options::default()
    }
}

/// One datagram with a lease of nothing made each input to a leader a stall. It asked who leads, each answer was the next
/// stall, and its time-outs were due at once for ever.
#[test]
fn a_datagram_with_an_impossible_lease_does_not_end_the_ring() {
    for terms in impossible() {
        let mut rig = Rig::leader(5);
        rig.forget();
        rig.hear(2, &tr1_with(-1, 2, terms));
        assert_eq!(rig.said(), [Said::Tr2(host(2), 5)], "it hears of a leader");
        let how = Difference::Lease;
        assert!(
            rig.events()
                .contains(&Event::NodeDiffers { node: host(2), how })
        );
        assert_eq!(rig.machine.snapshot().differing, [(host(2), how)]);
        assert_eq!(rig.machine.lease(), ms(500), "{terms:?}");
        assert!(rig.due().unwrap() > Duration::ZERO);
        rig.hear(2, &tr2_with(-1, terms));
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
        assert_eq!(rig.dropped(Reason::Lease), 1);
        assert_eq!(
            rig.machine.snapshot().differing,
            [(host(2), Difference::Lease)]
        );
    }
}

/// A lease of 71 minutes kept each node without a token from the election for as long.
#[test]
fn a_new_node_waits_for_no_longer_than_the_longest_lease_that_a_node_may_have() {
    let told = |longest_us| {
        let terms = Terms {
            longest_us,
            ..terms()
        };
        tr2_with(-1, terms)
    };
    let mut rig = Rig::orphan();
    rig.hear(2, &told(u32::MAX));
    rig.run(ms(600));
    assert_eq!(rig.state(), State::Leader, "that is no lease");
    let mut rig = Rig::orphan();
    rig.hear(2, &told(micros(MOST_LEASE)));
    rig.run(ms(10_000));
    assert_eq!(rig.state(), State::Orphan);
    rig.run(ms(200));
    assert_eq!(rig.state(), State::Leader);
}

/// A node with the shortest lease was removed. Its ring kept that lease until all other daemons were restarted.
#[test]
fn the_terms_of_a_node_that_is_gone_no_longer_count() {
    let mut world = World::ring(3);
    world.restart_with(1, short_options());
    assert!(world.until(ms(20_000), |world| {
        (0..3).all(|at| world.rigs[at].machine.lease() == LEAST_LEASE)
    }));
    world.run(secs(60));
    assert!(
        (0..3).all(|at| world.rigs[at].machine.lease() == LEAST_LEASE),
        "it is there"
    );
    world.stop(1);
    world.run(secs(15));
    assert!([0, 2].map(|at| world.rigs[at].machine.lease()) == [LEAST_LEASE; 2]);
    world.run(secs(15));
    for at in [0, 2] {
        assert_eq!(world.rigs[at].machine.lease(), ms(500));
        assert_eq!(world.rigs[at].machine.snapshot().differing, []);
    }
    let stalls = [0, 2].map(|at| world.rigs[at].machine.counters().stalls);
    assert_eq!(stalls, [0, 0]);
}

/// A leader that stalls while the terms of another node run out must not get a longer lease by that.
#[test]
fn a_stall_is_judged_by_the_lease_that_it_began_with() {
    let mut judged = 0;
    // It looks for old terms once a second: at some of these times the terms run out within the stall.
    for before in (19_950..21_100).step_by(50) {
        let mut rig = Rig::leader(5);
        rig.machine.set_work(true);
        rig.hear(2, &tr1_with(-1, 2, shortest()));
        rig.run(ms(before));
        if rig.machine.lease() > LEAST_LEASE {
            continue;
        }
        judged += 1;
        rig.forget();
        rig.stop(ms(60));
        rig.time_out();
        assert_eq!(rig.state(), State::Orphan, "{before}");
        assert_eq!(rig.said(), [Said::Tr1(EVERYBODY, -5)]);
    }
    assert!(judged > 0);
}

/// A giver's lease counts no longer than the terms of a node. A leader that works for hours is given no other.
#[test]
fn the_lease_of_the_giver_runs_out() {
    let mut rig = Rig::waiter(5);
    rig.machine.set_work(true);
    let told = Terms {
        shortest_us: micros(LEAST_LEASE),
        ..terms()
    };
    give(&mut rig, 2, 9, &[node(2), node(1)], told);
    rig.run(secs(19));
    assert_eq!(rig.machine.lease(), LEAST_LEASE);
    rig.run(secs(2));
    assert_eq!((rig.machine.lease(), rig.state()), (ms(500), State::Leader));
}

/// The others forget the terms of a node that is silent. A leader with a longer lease may stall when that node wakes up.
#[test]
fn a_node_that_was_silent_waits_for_the_longest_lease_that_it_has_heard_of() {
    let restores_after = |silence: Duration| {
        let mut rig = Rig::new(short_options());
        rig.hear(2, &tr2(1));
        let told = Terms {
            longest_us: 2_000_000,
            ..terms()
        };
        give(&mut rig, 2, 9, &[node(2), node(1)], told);
        let pass = rig.refuse_until(2);
        rig.takes(pass);
        rig.stop(silence);
        rig.time_out();
        assert_eq!(rig.state(), State::Orphan);
        let began = rig.now;
        while rig.state() == State::Orphan {
            let due = rig.due().expect("a restore has time-outs");
            rig.run(due);
        }
        rig.now.saturating_sub(began)
    };
    assert_eq!(restores_after(secs(5)), ms(60), "the others know it");
    let after = restores_after(secs(12));
    assert!(after >= ms(2_010) && after < ms(2_050), "{after:?}");
}

/// A node said that it had heard of a long lease, and was only heard by the tokens that it took from then on. Its word
/// counted as long as it was there.
#[test]
fn what_a_node_has_said_of_others_runs_out_though_it_is_heard() {
    let mut rig = Rig::orphan();
    let told = Terms {
        longest_us: 3_000_000,
        ..terms()
    };
    rig.hear(2, &tr2_with(1, told));
    assert_eq!(rig.machine.restores_for(), ms(3_100));
    for _ in 0..22 {
        rig.run(secs(1));
        rig.hear(2, &tr1(1, tcp_port(2)));
    }
    assert_eq!(rig.machine.restores_for(), ms(600));
}

/// In a ring of equal options a node says nothing to all for hours. Its restore takes no longer for that.
#[test]
fn a_silent_node_of_a_ring_with_equal_times_restores_as_fast_as_ever() {
    let mut world = World::new(3, short_options());
    assert!(world.until(ms(5000), World::is_one_ring));
    world.run(secs(40));
    let leader = world.leading()[0];
    world.stop(leader);
    assert!(world.until(ms(2_000 + 60 + 20), |world| {
        world.leading().iter().any(|at| *at != leader)
    }));
}
