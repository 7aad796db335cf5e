//! The promises of `docs/jitterbug/protocol/promises.md` about whole rings.

use super::prelude::*;
use super::segment::Segment;

#[test]
fn nodes_that_start_together_become_one_ring() {
    for count in 2..=8 {
        let mut segment = Segment::new(count, Options::default());
        assert!(
            segment.run_until(ms(5000), Segment::is_one_ring),
            "{count} nodes"
        );
        let before = segment.take_times();
        segment.run(ms(u64::from(count) * 300));
        let after = segment.take_times();
        let leads = before
            .iter()
            .zip(&after)
            .all(|(before, after)| before < after);
        assert!(leads, "each has led again: {before:?}, {after:?}");
        assert!(segment.leaders <= 1);
    }
}

/// Checks the restore after a leader's death. With the ids of the document, the probability that a new id is larger
/// than n old ids is only 1/(n + 1). Every waiter whose id is larger than the new id denies the restore.
#[test]
fn after_a_leaders_death_a_new_one_is_up_within_renew_timeout_and_a_restore() {
    for count in [5, 10] {
        let mut segment = Segment::ring(count);
        segment.run(ms(5000));
        let dead = segment.leader_indexes()[0];
        segment.part[dead] = 9;
        let others = move |segment: &Segment| segment.leader_indexes().iter().any(|at| *at != dead);
        assert!(segment.run_until(ms(2600), others));
        segment.run(ms(10_000));
        let live = segment
            .leader_indexes()
            .into_iter()
            .filter(|at| *at != dead)
            .count();
        assert!(live <= 1);
    }
}

/// Checks a large ring. With the constant times of the document, all 30 nodes would become orphans in every rotation.
#[test]
fn thirty_nodes_have_a_round_shorter_than_renew_timeout() {
    let mut segment = Segment::ring(30);
    let restores = |segment: &Segment| -> u64 {
        let counters = segment.rigs.iter().map(|rig| rig.machine.counters());
        counters.map(|it| it.restores).sum()
    };
    let before = restores(&segment);
    segment.run(ms(20_000));
    assert_eq!(restores(&segment), before);
}

/// Checks that two leaders notice each other. In the document, only nodes that do not lead remember other nodes.
#[test]
fn two_leaders_hear_of_each_other() {
    let mut segment = Segment::new(2, Options::default());
    segment.part = vec![0, 1];
    // Neither node knows the other node.
    (0..2).for_each(|at| segment.restart(at));
    segment.run(ms(5000));
    assert_eq!(segment.leader_indexes().len(), 2);
    segment.part = vec![0, 0];
    segment.run(ms(5000));
    assert_eq!(segment.leader_indexes().len(), 1);
    assert!(segment.is_one_ring());
}

#[test]
fn two_rings_of_a_repaired_network_become_one() {
    let mut segment = Segment::ring(6);
    for at in 0..3 {
        segment.part[at] = 1;
    }
    segment.run(ms(10_000));
    assert_eq!(segment.leader_indexes().len(), 2);
    segment.part = vec![0; 6];
    let one_token = |segment: &Segment| segment.leader_indexes().len() == 1;
    assert!(
        segment.run_until(ms(3000), one_token),
        "renew_timeout + 2 × token_pass_timeout"
    );
    segment.run(ms(2 * 6 * 600));
    assert!(segment.is_one_ring());
    assert_eq!(segment.leader_indexes().len(), 1);
}

#[test]
fn a_node_that_leaves_hands_the_token_on() {
    let mut segment = Segment::ring(3);
    let leader = segment.leader_indexes()[0];
    segment.rigs[leader].command(Command::ShutDown);
    segment.deliver_all();
    assert!(segment.rigs[leader].machine.is_finished());
    let others = segment
        .leader_indexes()
        .into_iter()
        .filter(|at| *at != leader);
    assert_eq!(others.count(), 1);
}

#[test]
fn a_dead_node_is_skipped_longer_each_time_until_its_tr1() {
    let mut segment = Segment::ring(3);
    segment.rigs[2].command(Command::ShutDown);
    segment.run(ms(30_000));
    let failed = |rig: &Rig| rig.machine.counters().passes_failed;
    let before: u64 = segment.rigs[..2].iter().map(failed).sum();
    segment.run(ms(30_000));
    let after: u64 = segment.rigs[..2].iter().map(failed).sum();
    assert!(after - before <= 4, "{}", after - before);
    segment.restart(2);
    let leads = |segment: &Segment| segment.rigs[2].state() == State::Leader;
    assert!(segment.run_until(ms(1500), leads));
}

#[test]
fn a_ring_that_rests_says_one_announcement_in_half_a_renew_timeout() {
    let mut segment = Segment::ring(5);
    segment.run(ms(3000));
    let before = segment.datagrams;
    segment.run(ms(20_000));
    // A leader gives no answer to announcements under its own name.
    assert!(
        segment.datagrams - before <= 21,
        "{}",
        segment.datagrams - before
    );
}
