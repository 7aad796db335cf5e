//! Simulations under the caller's control.

use std::time::Duration;

use ring_codec::lab2::Kind;
use ring_proto::lab2::{Constants, Lab2, State};
use ring_sim::kernel::schedule::Fault as _;
use ring_sim::lab2::{Fault, NetworkConditions, Subject, World};

const MS: Duration = Duration::from_millis(1);

fn ring(nodes: usize) -> World<Lab2> {
    let mut world = World::new(nodes, Constants::default(), 1);
    world.start_all();
    world.run(2_000 * MS);
    assert!(world.has_one_owner() && world.common_digest().is_some());
    world
}

#[test]
fn a_dead_owner_is_replaced_and_joins_again() {
    let mut world = ring(5);
    let owner = world.owner().unwrap();
    world.kill(owner);
    let replaced = world.run_until(1_000 * MS, |world| world.owner().is_some());
    assert!(replaced > Some(200 * MS), "{replaced:?}");
    assert_eq!(world.live().count(), 4);
    world.start(owner);
    let joined = world.run_until(1_000 * MS, |world| {
        let machine = world.machine(owner);
        machine.is_some_and(|machine| Subject::state(machine) == State::Waiter)
    });
    assert!(joined.is_some());
    assert_eq!(world.violations(), []);
}

#[test]
fn two_halves_have_an_owner_each_until_the_cut_heals() {
    let mut world = ring(6);
    world.part(&[0, 0, 0, 1, 1, 1]);
    world.run(1_500 * MS);
    assert!(!world.has_one_owner());
    assert!(world.owners().len() >= 2);
    world.part(&[]);
    let merged = world.run_until(1_200 * MS, World::has_one_owner);
    assert!(merged.is_some());
    assert_eq!(world.violations(), []);
}

#[test]
fn a_hundred_are_joined_in_a_quarter_second_and_four_frames_each() {
    const RING: usize = 100;
    let all_know = |world: &World<Lab2>, count: usize| {
        let digest = world.common_digest();
        digest.is_some_and(|digest| digest.size as usize == count)
    };
    for seed in 1..=5 {
        let mut world = World::new(RING + 1, Constants::default(), seed);
        (0..RING).for_each(|at| world.start(at));
        let formed = world.run_until(20_000 * MS, |world| {
            world.has_one_owner() && all_know(world, RING)
        });
        assert!(formed.is_some());
        world.run(2_000 * MS);
        let frames = |world: &World<Lab2>| world.stats().sent.values().sum::<u64>();
        let before = frames(&world);
        world.start(RING);
        let joined = world.run_until(250 * MS, |world| all_know(world, RING + 1));
        assert!(joined.is_some(), "seed {seed}");
        let sent = frames(&world) - before;
        assert!(sent <= 4 * (RING as u64 + 1), "seed {seed}: {sent} frames");
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn frames_of_a_lossy_segment_are_counted_by_kind() {
    let mut world = ring(3);
    let (before, read) = (world.sent(Kind::TakeToken), world.stats().delivered);
    world.set_conditions(NetworkConditions {
        drop: 1_000,
        ..NetworkConditions::default()
    });
    world.run(1_000 * MS);
    assert!(world.sent(Kind::TakeToken) > before);
    // Frames that were on their way when the segment failed still arrive.
    assert!(world.stats().delivered <= read + 4);
    assert!(world.owners().len() > 1, "each believes to be alone");
}

#[test]
fn a_thousand_nodes_have_room() {
    let mut world = World::<Lab2>::new(1_000, Constants::default(), 1);
    for at in 0..3 {
        world.start(at);
    }
    world.run(1_000 * MS);
    assert!(world.has_one_owner());
    assert_eq!((world.len(), world.live().count()), (1_000, 3));
}

fn want(world: &mut World<Lab2>, node: usize) {
    world.act(&Fault::Want {
        node,
        work_us: 1_000,
        quorum: false,
    });
}

/// Returns the simulated time for which a node waits for the token.
fn waits(world: &mut World<Lab2>, node: usize) -> Option<Duration> {
    want(world, node);
    let may_use = |world: &World<Lab2>| world.machine(node).is_some_and(Subject::may_use);
    let waited = world.run_until(1_000 * MS, may_use);
    world.run(37 * MS);
    waited
}

#[test]
fn thousands_of_dead_members_cost_three_live_ones_nothing() {
    let mut world = ring(3);
    world.act(&Fault::Dead {
        first: 0,
        count: 4_090,
        spoke: false,
    });
    let equal = world.run_until(60_000 * MS, |world| {
        let digest = world.common_digest();
        digest.is_some_and(|digest| digest.size == 4_093)
    });
    assert!(equal.is_some());
    // The station that listed the others was heard.
    world.run(60_000 * MS);
    for at in 0..60 {
        let waited = waits(&mut world, at % 3);
        assert!(waited <= Some(5 * MS), "{waited:?}");
    }
    // Restart one node, so that it knows nothing of the past.
    world.kill(0);
    world.run(1_000 * MS);
    world.start(0);
    world.run(15_000 * MS);
    assert!(world.common_digest().is_some());
    let before = world.stats().counters.failed_hand_overs;
    for at in 0..60 {
        let waited = waits(&mut world, at % 3);
        assert!(waited <= Some(5 * MS), "{waited:?}");
    }
    assert_eq!(world.stats().counters.failed_hand_overs, before);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_newcomer_gets_the_token_though_the_tables_are_full() {
    let mut world = World::<Lab2>::new(4, Constants::default(), 1);
    for at in 0..3 {
        world.start(at);
    }
    world.run(2_000 * MS);
    world.act(&Fault::Dead {
        first: 0,
        count: 4_093,
        spoke: false,
    });
    world.run(20_000 * MS);
    let size = world
        .machine(0)
        .map(|machine| Subject::digest(machine).size);
    assert_eq!(size, Some(4_096));
    world.start(3);
    world.run(2_000 * MS);
    for _ in 0..5 {
        let waited = waits(&mut world, 3);
        assert!(waited.is_some(), "{waited:?}");
    }
    assert_eq!(world.violations(), []);
}

#[test]
fn a_deaf_member_keeps_nobody_else_from_the_token() {
    for nodes in 3..=5 {
        for deaf in 0..nodes {
            let mut world = ring(nodes);
            let deafness = Fault::Deaf {
                node: deaf,
                deaf: true,
            };
            world.act(&deafness);
            // Its last claims have expired by then.
            world.run(3_000 * MS);
            for at in (0..nodes).filter(|&at| at != deaf).cycle().take(3 * nodes) {
                let waited = waits(&mut world, at);
                assert!(waited <= Some(100 * MS), "n{deaf} of {nodes}: {waited:?}");
            }
            world.act(&deafness.end());
            let merged = world.run_until(1_200 * MS, World::has_one_owner);
            assert!(merged.is_some(), "n{deaf} of {nodes}");
            world.run(500 * MS);
            let waited = waits(&mut world, deaf);
            assert!(waited <= Some(100 * MS), "n{deaf} of {nodes}: {waited:?}");
            assert_eq!(world.violations(), []);
        }
    }
}

#[test]
fn an_owner_whose_unicast_is_lost_lets_go_and_owns_again_when_it_arrives() {
    for (sent, received, refused) in [
        (true, false, false),
        (false, true, false),
        (true, true, false),
        (false, false, true),
    ] {
        let mut world = ring(4);
        let loss = Fault::Unicast {
            node: 1,
            sent,
            received,
            refused,
        };
        world.act(&loss);
        // It becomes owner by an election, if not before.
        for at in [0, 2, 3] {
            world.kill(at);
        }
        world.run(2_000 * MS);
        for at in [0, 2, 3] {
            world.start(at);
        }
        for at in 0..4 {
            want(&mut world, at);
        }
        world.run(3_000 * MS);
        for at in [0, 2, 3, 0, 2, 3] {
            let waited = waits(&mut world, at);
            assert!(waited <= Some(200 * MS), "{loss:?}: {waited:?}");
        }
        world.act(&loss.end());
        world.run(4_000 * MS);
        let waited = waits(&mut world, 1);
        assert!(waited <= Some(100 * MS), "{loss:?}: {waited:?}");
        assert_eq!(world.violations(), []);
    }
}
