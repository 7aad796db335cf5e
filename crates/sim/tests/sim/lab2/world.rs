//! Simulations under the caller's control.

use std::time::Duration;

use ring_codec::lab2::Kind;
use ring_proto::lab2::{Constants, Lab2, State};
use ring_sim::kernel::schedule::FaultFields as _;
use ring_sim::lab2::{Fault, Inspect, NetworkConditions, World};

const MS: Duration = Duration::from_millis(1);

fn ring(nodes: usize) -> World<Lab2> {
    let mut sim = World::new(nodes, Constants::default(), 1);
    sim.start_all();
    sim.run(2_000 * MS);
    assert!(sim.has_one_owner() && sim.common_digest().is_some());
    sim
}

#[test]
fn a_dead_owner_is_replaced_and_joins_again() {
    let mut sim = ring(5);
    let owner = sim.owner().unwrap();
    sim.kill(owner);
    let replaced = sim.run_until(1_000 * MS, |sim| sim.owner().is_some());
    assert!(replaced > Some(200 * MS), "{replaced:?}");
    assert_eq!(sim.live().count(), 4);
    sim.start(owner);
    let joined = sim.run_until(1_000 * MS, |sim| {
        let machine = sim.machine(owner);
        machine.is_some_and(|machine| Inspect::state(machine) == State::Waiter)
    });
    assert!(joined.is_some());
    assert_eq!(sim.violations(), []);
}

#[test]
fn two_halves_have_an_owner_each_until_the_split_heals() {
    let mut sim = ring(6);
    sim.part(&[0, 0, 0, 1, 1, 1]);
    sim.run(1_500 * MS);
    assert!(!sim.has_one_owner());
    assert!(sim.owners().len() >= 2);
    sim.part(&[]);
    let merged = sim.run_until(1_200 * MS, World::has_one_owner);
    assert!(merged.is_some());
    assert_eq!(sim.violations(), []);
}

#[test]
fn a_node_joins_a_hundred_in_250_ms_with_four_frames_each() {
    const RING: usize = 100;
    let all_know = |sim: &World<Lab2>, count: usize| {
        let digest = sim.common_digest();
        digest.is_some_and(|digest| digest.size as usize == count)
    };
    for seed in 1..=5 {
        let mut sim = World::new(RING + 1, Constants::default(), seed);
        (0..RING).for_each(|at| sim.start(at));
        let formed = sim.run_until(20_000 * MS, |sim| {
            sim.has_one_owner() && all_know(sim, RING)
        });
        assert!(formed.is_some());
        sim.run(2_000 * MS);
        let frames = |sim: &World<Lab2>| sim.stats().sent.values().sum::<u64>();
        let before = frames(&sim);
        sim.start(RING);
        let joined = sim.run_until(250 * MS, |sim| all_know(sim, RING + 1));
        assert!(joined.is_some(), "seed {seed}");
        let sent = frames(&sim) - before;
        assert!(sent <= 4 * (RING as u64 + 1), "seed {seed}: {sent} frames");
        assert_eq!(sim.violations(), []);
    }
}

#[test]
fn frames_of_a_lossy_segment_are_counted_by_kind() {
    let mut sim = ring(3);
    let (before, read) = (sim.sent(Kind::TakeToken), sim.stats().delivered);
    sim.set_conditions(NetworkConditions {
        drop: 1_000,
        ..NetworkConditions::default()
    });
    sim.run(1_000 * MS);
    assert!(sim.sent(Kind::TakeToken) > before);
    // Frames that were on their way when the segment failed still arrive.
    assert!(sim.stats().delivered <= read + 4);
    assert!(sim.owners().len() > 1, "each believes to be alone");
}

#[test]
fn a_thousand_nodes_fit_into_a_simulation() {
    let mut sim = World::<Lab2>::new(1_000, Constants::default(), 1);
    for at in 0..3 {
        sim.start(at);
    }
    sim.run(1_000 * MS);
    assert!(sim.has_one_owner());
    assert_eq!((sim.len(), sim.live().count()), (1_000, 3));
}

fn want(sim: &mut World<Lab2>, node: usize) {
    sim.act(&Fault::Want {
        node,
        work_us: 1_000,
        quorum: false,
    });
}

/// Returns the simulated time for which a node waits for the token.
fn wait_for_token(sim: &mut World<Lab2>, node: usize) -> Option<Duration> {
    want(sim, node);
    let may_use = |sim: &World<Lab2>| sim.machine(node).is_some_and(Inspect::may_use);
    let waited = sim.run_until(1_000 * MS, may_use);
    sim.run(37 * MS);
    waited
}

#[test]
fn thousands_of_dead_members_do_not_delay_three_live_ones() {
    let mut sim = ring(3);
    sim.act(&Fault::Dead {
        first: 0,
        count: 4_090,
        spoke: false,
    });
    let equal = sim.run_until(60_000 * MS, |sim| {
        let digest = sim.common_digest();
        digest.is_some_and(|digest| digest.size == 4_093)
    });
    assert!(equal.is_some());
    // The station that listed the others was heard.
    sim.run(60_000 * MS);
    for at in 0..60 {
        let waited = wait_for_token(&mut sim, at % 3);
        assert!(waited <= Some(5 * MS), "{waited:?}");
    }
    // Restart one node, so that it knows nothing of the past.
    sim.kill(0);
    sim.run(1_000 * MS);
    sim.start(0);
    sim.run(15_000 * MS);
    assert!(sim.common_digest().is_some());
    let before = sim.stats().counters.failed_hand_overs;
    for at in 0..60 {
        let waited = wait_for_token(&mut sim, at % 3);
        assert!(waited <= Some(5 * MS), "{waited:?}");
    }
    assert_eq!(sim.stats().counters.failed_hand_overs, before);
    assert_eq!(sim.violations(), []);
}

#[test]
fn a_new_node_gets_the_token_although_the_tables_are_full() {
    let mut sim = World::<Lab2>::new(4, Constants::default(), 1);
    for at in 0..3 {
        sim.start(at);
    }
    sim.run(2_000 * MS);
    sim.act(&Fault::Dead {
        first: 0,
        count: 4_093,
        spoke: false,
    });
    sim.run(20_000 * MS);
    let size = sim.machine(0).map(|machine| Inspect::digest(machine).size);
    assert_eq!(size, Some(4_096));
    sim.start(3);
    sim.run(2_000 * MS);
    for _ in 0..5 {
        let waited = wait_for_token(&mut sim, 3);
        assert!(waited.is_some(), "{waited:?}");
    }
    assert_eq!(sim.violations(), []);
}

#[test]
fn a_deaf_member_does_not_delay_the_others() {
    for nodes in 3..=5 {
        for deaf in 0..nodes {
            let mut sim = ring(nodes);
            let deafness = Fault::Deaf {
                node: deaf,
                deaf: true,
            };
            sim.act(&deafness);
            // By then, the node's last claims have expired.
            sim.run(3_000 * MS);
            for at in (0..nodes).filter(|&at| at != deaf).cycle().take(3 * nodes) {
                let waited = wait_for_token(&mut sim, at);
                assert!(waited <= Some(100 * MS), "n{deaf} of {nodes}: {waited:?}");
            }
            sim.act(&deafness.end());
            let merged = sim.run_until(1_200 * MS, World::has_one_owner);
            assert!(merged.is_some(), "n{deaf} of {nodes}");
            sim.run(500 * MS);
            let waited = wait_for_token(&mut sim, deaf);
            assert!(waited <= Some(100 * MS), "n{deaf} of {nodes}: {waited:?}");
            assert_eq!(sim.violations(), []);
        }
    }
}

#[test]
fn an_owner_without_unicast_gives_up_and_owns_again_after_it() {
    for (sent, received, refused) in [
        (true, false, false),
        (false, true, false),
        (true, true, false),
        (false, false, true),
    ] {
        let mut sim = ring(4);
        let loss = Fault::Unicast {
            node: 1,
            sent,
            received,
            refused,
        };
        sim.act(&loss);
        // The node becomes owner by an election, or earlier.
        for at in [0, 2, 3] {
            sim.kill(at);
        }
        sim.run(2_000 * MS);
        for at in [0, 2, 3] {
            sim.start(at);
        }
        for at in 0..4 {
            want(&mut sim, at);
        }
        sim.run(3_000 * MS);
        for at in [0, 2, 3, 0, 2, 3] {
            let waited = wait_for_token(&mut sim, at);
            assert!(waited <= Some(200 * MS), "{loss:?}: {waited:?}");
        }
        sim.act(&loss.end());
        sim.run(4_000 * MS);
        let waited = wait_for_token(&mut sim, 1);
        assert!(waited <= Some(100 * MS), "{loss:?}: {waited:?}");
        assert_eq!(sim.violations(), []);
    }
}
