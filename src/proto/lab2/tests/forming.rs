//! Rings that form.

use std::time::Duration;

use super::world::World;
use crate::proto::lab2::{Constants, State};

#[test]
fn a_lone_node_becomes_owner_after_two_answer_timeouts() {
    let mut world = World::new(1, &Constants::default());
    world.run(Duration::from_millis(199));
    assert_eq!(world.states(), [State::Generating]);
    world.run(Duration::from_millis(1));
    assert_eq!(world.states(), [State::Owner]);
}

#[test]
fn nodes_that_start_together_elect_one_owner_and_pass_the_token_on() {
    let mut world = World::new(5, &Constants::default());
    world.run(Duration::from_millis(200));
    assert_eq!(world.owners(), 1);
    world.run(Duration::from_secs(2));
    assert_eq!(world.owners(), 1);
    let first = world.nodes[0].machine.digest();
    assert!(
        world
            .nodes
            .iter()
            .all(|node| node.machine.digest() == first)
    );
    assert_eq!(first.size, 5);
    for node in &world.nodes {
        let taken = node.events.iter().filter(|event| {
            matches!(
                event,
                crate::proto::lab2::Event::StateChanged {
                    to: State::Owner,
                    ..
                }
            )
        });
        let turns = taken.count();
        assert!(
            (30..=50).contains(&turns),
            "{turns} turns in 2 s of 10 ms each"
        );
    }
}
