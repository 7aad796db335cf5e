//! Each broken promise is found. The simulations here are still disturbed while their recovery is checked.

use std::collections::BTreeMap;
use std::time::Duration;

use ring_proto::lab2::{Constants, Lab2};

use super::Bounds;
use crate::lab2::{Rule, World};

/// Returns a formed ring of three, and its bounds.
fn ring() -> (World<Lab2>, Bounds) {
    let mut world = World::new(3, Constants::default(), 1);
    world.start_all();
    world.run(Duration::from_secs(2));
    let bounds = world.bounds();
    (world, bounds)
}

fn broken(world: &World<Lab2>) -> Vec<Rule> {
    world
        .violations()
        .iter()
        .map(|broken| broken.rule)
        .collect()
}

#[test]
fn an_undisturbed_ring_keeps_all_promises() {
    let (mut world, bounds) = ring();
    let now = world.now();
    let seen_equal = world.await_one_owner(&bounds);
    world.await_equal_tables(now, seen_equal, &bounds);
    world.check_service(None, 1, None, false);
    world.check_replacement();
    assert_eq!(broken(&world), []);
    let stats = world.stats();
    assert!(
        stats.counters.tenures_waited > 0 && stats.counters.replaced_after > Some(Duration::ZERO)
    );
}

#[test]
fn a_second_owner_is_found() {
    let (mut world, bounds) = ring();
    world.part(&[0, 0, 1]);
    world.await_one_owner(&bounds);
    assert_eq!(broken(&world), [Rule::OneOwner]);
}

#[test]
fn tables_that_stay_different_are_found() {
    let mut world = World::<Lab2>::new(3, Constants::default(), 1);
    world.part(&[0, 0, 1]);
    world.start_all();
    let bounds = world.bounds();
    world.await_equal_tables(Duration::ZERO, None, &bounds);
    assert_eq!(broken(&world), [Rule::EqualTables]);
}

#[test]
fn tables_that_were_equal_have_their_time_again() {
    let (mut world, bounds) = ring();
    world.run(bounds.equal_tables);
    let seen = world.now();
    world.part(&[0, 0, 1]);
    world.kill(2);
    world.start(2);
    world.await_equal_tables(Duration::ZERO, Some(seen), &bounds);
    assert_eq!(broken(&world), [Rule::EqualTables]);
    assert!(world.now() > seen + bounds.equal_tables);
}

#[test]
fn a_member_that_is_not_served_is_found() {
    let (mut world, _) = ring();
    for node in &mut world.nodes {
        // No WANT_TOKEN, offer or acknowledgement leaves a node, and none is elected.
        node.refuse = 1_000;
    }
    world.check_service(None, 1, None, false);
    assert_eq!(broken(&world), [Rule::Served]);
}

#[test]
fn an_owner_that_is_not_replaced_is_found() {
    let (mut world, _) = ring();
    let owner = world.owner();
    for at in (0..3).filter(|&at| Some(at) != owner) {
        world.pause(at);
    }
    world.check_replacement();
    assert!(broken(&world).contains(&Rule::Replaced));
}

#[test]
fn an_election_that_costs_too_many_broadcasts_is_found() {
    let (mut world, _) = ring();
    // Two seconds of heartbeats cost more than an election may.
    world.check_broadcasts(&BTreeMap::new());
    assert!(broken(&world).contains(&Rule::Broadcasts));
}
