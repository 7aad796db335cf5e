//! Tests that the checks find each broken promise. In the simulations of these tests, faults continue while the
//! recovery is checked.

use std::collections::BTreeMap;
use std::time::Duration;

use ring_proto::lab2::{Constants, Lab2};

use super::Bounds;
use crate::lab2::{Rule, World};

/// Returns a formed ring of three nodes, and its bounds.
fn ring() -> (World<Lab2>, Bounds) {
    let mut sim = World::new(3, Constants::default(), 1);
    sim.start_all();
    sim.run(Duration::from_secs(2));
    let bounds = sim.bounds();
    (sim, bounds)
}

fn broken_rules(sim: &World<Lab2>) -> Vec<Rule> {
    sim.violations().iter().map(|broken| broken.rule).collect()
}

#[test]
fn an_undisturbed_ring_keeps_all_promises() {
    let (mut sim, bounds) = ring();
    let now = sim.now();
    let seen_equal = sim.await_one_owner(&bounds);
    sim.await_equal_tables(now, seen_equal, &bounds);
    sim.check_service(None, 1, None, false);
    sim.check_replacement();
    assert_eq!(broken_rules(&sim), []);
    let stats = sim.stats();
    assert!(
        stats.counters.tenures_waited > 0 && stats.counters.replaced_after > Some(Duration::ZERO)
    );
}

#[test]
fn a_second_owner_is_found() {
    let (mut sim, bounds) = ring();
    sim.part(&[0, 0, 1]);
    sim.await_one_owner(&bounds);
    assert_eq!(broken_rules(&sim), [Rule::OneOwner]);
}

#[test]
fn tables_that_stay_different_are_found() {
    let mut sim = World::<Lab2>::new(3, Constants::default(), 1);
    sim.part(&[0, 0, 1]);
    sim.start_all();
    let bounds = sim.bounds();
    sim.await_equal_tables(Duration::ZERO, None, &bounds);
    assert_eq!(broken_rules(&sim), [Rule::EqualTables]);
}

#[test]
fn tables_that_were_equal_get_the_same_time_again() {
    let (mut sim, bounds) = ring();
    sim.run(bounds.equal_tables);
    let seen = sim.now();
    sim.part(&[0, 0, 1]);
    sim.kill(2);
    sim.start(2);
    sim.await_equal_tables(Duration::ZERO, Some(seen), &bounds);
    assert_eq!(broken_rules(&sim), [Rule::EqualTables]);
    assert!(sim.now() > seen + bounds.equal_tables);
}

#[test]
fn a_member_that_is_not_served_is_found() {
    let (mut sim, _) = ring();
    for node in &mut sim.nodes {
        // No WANT_TOKEN, offer or acknowledgement leaves a node, and no node is elected.
        node.refuse = 1_000;
    }
    sim.check_service(None, 1, None, false);
    assert_eq!(broken_rules(&sim), [Rule::Served]);
}

#[test]
fn an_owner_that_is_not_replaced_is_found() {
    let (mut sim, _) = ring();
    let owner = sim.owner();
    for at in (0..3).filter(|&at| Some(at) != owner) {
        sim.pause(at);
    }
    sim.check_replacement();
    assert!(broken_rules(&sim).contains(&Rule::Replaced));
}

#[test]
fn an_election_that_costs_too_many_broadcasts_is_found() {
    let (mut sim, _) = ring();
    // Two seconds of heartbeats cost more than an election may.
    sim.check_broadcasts(&BTreeMap::new());
    assert!(broken_rules(&sim).contains(&Rule::Broadcasts));
}
