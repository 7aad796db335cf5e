//! Whole rings: what section 11 promises.

use super::rig::{Rig, ms};
use super::world::World;
use crate::jitterbug::{Command, Options, State};

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

#[test]
fn after_a_leaders_death_a_new_one_is_up_within_renew_timeout_and_a_restore() {
    let mut world = World::new(5, Options::default());
    assert!(world.until(ms(5000), World::is_one_ring));
    let dead = world.leading()[0];
    world.part[dead] = 9;
    let others = move |world: &World| world.leading().iter().any(|at| *at != dead);
    assert!(world.until(ms(2600), others));
    world.run(ms(10_000));
    let live = world.leading().into_iter().filter(|at| *at != dead).count();
    assert!(live <= 1);
}

#[test]
fn two_rings_of_a_network_that_was_cut_become_one() {
    let mut world = World::new(6, Options::default());
    assert!(world.until(ms(5000), World::is_one_ring));
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
fn a_counter_never_goes_back() {
    let mut world = World::new(4, Options::default());
    let mut before = vec![0_u64; 4];
    for _ in 0..200 {
        world.run(ms(97));
        for (rig, before) in world.rigs.iter().zip(&mut before) {
            let text = String::from_utf8(rig.machine.data().to_vec()).expect("digits");
            let now = text.parse().unwrap_or(0);
            assert!(now >= *before, "{now} after {before}");
            *before = now;
        }
    }
    assert!(before.iter().all(|count| *count > 100));
}

#[test]
fn a_node_that_leaves_hands_the_token_on() {
    let mut world = World::new(3, Options::default());
    assert!(world.until(ms(5000), World::is_one_ring));
    let leader = world.leading()[0];
    world.rigs[leader].command(Command::ShutDown);
    world.carry();
    assert!(world.rigs[leader].machine.is_finished());
    let others = world.leading().into_iter().filter(|at| *at != leader);
    assert_eq!(others.count(), 1);
}

#[test]
fn a_dead_node_is_skipped_more_and_more_and_back_at_once_with_its_tr1() {
    let mut world = World::new(3, Options::default());
    assert!(world.until(ms(5000), World::is_one_ring));
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
    let mut world = World::new(5, Options::default());
    assert!(world.until(ms(5000), World::is_one_ring));
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
