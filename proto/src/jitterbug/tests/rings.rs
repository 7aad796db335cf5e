//! Whole rings: what section 11 promises.

use super::prelude::*;
use super::world::World;

#[test]
fn nodes_that_start_together_become_one_ring() {
    for count in 2..=8 {
        let mut world = World::new(count, Options::default());
        assert!(world.until(ms(5000), World::is_one_ring), "{count} nodes");
        let before = world.taken();
        world.run(ms(u64::from(count) * 300));
        let after = world.taken();
        let leads = before
            .iter()
            .zip(&after)
            .all(|(before, after)| before < after);
        assert!(leads, "each has led again: {before:?}, {after:?}");
        assert!(world.leaders <= 1);
    }
}

/// The document's "generate new random token_id" draws an id above the largest of n old ones with chance 1/(n + 1) only, and
/// every waiter that has a larger one denies it.
#[test]
fn after_a_leaders_death_a_new_one_is_up_within_renew_timeout_and_a_restore() {
    for count in [5, 10] {
        let mut world = World::ring(count);
        world.run(ms(5000));
        let dead = world.leading()[0];
        world.part[dead] = 9;
        let others = move |world: &World| world.leading().iter().any(|at| *at != dead);
        assert!(world.until(ms(2600), others));
        world.run(ms(10_000));
        let live = world.leading().into_iter().filter(|at| *at != dead).count();
        assert!(live <= 1);
    }
}

/// The document's constant renew_timeout and hold: in a ring of 30 × 100 ms all become orphans in every round.
#[test]
fn thirty_nodes_have_a_round_shorter_than_renew_timeout() {
    let mut world = World::ring(30);
    let restores = |world: &World| -> u64 {
        let counters = world.rigs.iter().map(|rig| rig.machine.counters());
        counters.map(|it| it.restores).sum()
    };
    let before = restores(&world);
    world.run(ms(20_000));
    assert_eq!(restores(&world), before);
}

/// In the document only a node that does not lead remembers whom it hears: two lone leaders never meet.
#[test]
fn two_leaders_hear_of_each_other() {
    let mut world = World::new(2, Options::default());
    world.part = vec![0, 1];
    // Neither knows of the other.
    (0..2).for_each(|at| world.restart(at));
    world.run(ms(5000));
    assert_eq!(world.leading().len(), 2);
    world.part = vec![0, 0];
    world.run(ms(5000));
    assert_eq!(world.leading().len(), 1);
    assert!(world.is_one_ring());
}

#[test]
fn two_rings_of_a_network_that_was_cut_become_one() {
    let mut world = World::ring(6);
    for at in 0..3 {
        world.part[at] = 1;
    }
    world.run(ms(10_000));
    assert_eq!(world.leading().len(), 2);
    world.part = vec![0; 6];
    let one_token = |world: &World| world.leading().len() == 1;
    assert!(
        world.until(ms(3000), one_token),
        "renew_timeout + 2 × token_pass_timeout"
    );
    world.run(ms(2 * 6 * 600));
    assert!(world.is_one_ring());
    assert_eq!(world.leading().len(), 1);
}

#[test]
fn a_node_that_leaves_hands_the_token_on() {
    let mut world = World::ring(3);
    let leader = world.leading()[0];
    world.rigs[leader].command(Command::ShutDown);
    world.carry();
    assert!(world.rigs[leader].machine.is_finished());
    let others = world.leading().into_iter().filter(|at| *at != leader);
    assert_eq!(others.count(), 1);
}

#[test]
fn a_dead_node_is_skipped_more_and_more_and_back_at_once_with_its_tr1() {
    let mut world = World::ring(3);
    world.rigs[2].command(Command::ShutDown);
    world.run(ms(30_000));
    let failed = |rig: &Rig| rig.machine.counters().passes_failed;
    let before: u64 = world.rigs[..2].iter().map(failed).sum();
    world.run(ms(30_000));
    let after: u64 = world.rigs[..2].iter().map(failed).sum();
    assert!(after - before <= 4, "{}", after - before);
    world.restart(2);
    let leads = |world: &World| world.rigs[2].state() == State::Leader;
    assert!(world.until(ms(1500), leads));
}

#[test]
fn a_ring_that_rests_says_one_announcement_in_half_a_renew_timeout() {
    let mut world = World::ring(5);
    world.run(ms(3000));
    let before = world.datagrams;
    world.run(ms(20_000));
    // Each announcement to a leader in its own name is answered by nobody.
    assert!(
        world.datagrams - before <= 21,
        "{}",
        world.datagrams - before
    );
}
