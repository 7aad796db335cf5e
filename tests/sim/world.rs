//! A world under the caller's control.

use std::time::Duration;

use ring_codec::lab2::Kind;
use ringd::proto::lab2::{Constants, Lab2, State};
use ringd::sim::{Subject, Weather, World};

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
fn frames_of_a_lossy_segment_are_counted_by_kind() {
    let mut world = ring(3);
    let (before, read) = (world.sent(Kind::TakeToken), world.stats().delivered);
    world.set_weather(Weather {
        drop: 1_000,
        ..Weather::default()
    });
    world.run(1_000 * MS);
    assert!(world.sent(Kind::TakeToken) > before);
    // What was under way when the segment went silent still arrives.
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
