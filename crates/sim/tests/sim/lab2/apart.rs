//! Some members announce or request something, but do not act accordingly. If a member does not act accordingly, the
//! other members lose less than half of their work.

use std::time::Duration;

use ring_proto::lab2::{Constants, Lab2};
use ring_sim::lab2::{Fault, World};

const MS: Duration = Duration::from_millis(1);

/// Returns three nodes, each with --ring-size 3.
fn three() -> World<Lab2> {
    let constants = Constants {
        expect: Some(3),
        ..Constants::default()
    };
    World::new(3, constants, 1)
}

/// Returns the number of times that nodes 0 and 1 get the token with a quorum in 20 s. Node 2 starts with `percent` of
/// the ring's heartbeat.
fn critical_sections(percent: u16) -> u64 {
    let mut sim = three();
    sim.start(0);
    sim.start(1);
    sim.run(2_000 * MS);
    sim.start(2);
    let (node, expect) = (2, None);
    sim.act(&Fault::Constants {
        node,
        percent,
        expect,
    });
    let done = work(&mut sim, 20_000 * MS);
    assert_eq!(sim.violations(), [], "{percent} hundredths");
    done
}

/// Makes nodes 0 and 1 request the token whenever they do not hold the token. Returns the number of times that nodes 0
/// and 1 get the token.
fn work(sim: &mut World<Lab2>, time: Duration) -> u64 {
    let before = sim.stats().counters.jobs;
    let end = sim.now() + time;
    while sim.now() < end {
        for node in [0, 1] {
            sim.act(&Fault::Want {
                node,
                work_us: 20_000,
                quorum: true,
            });
        }
        sim.run(5 * MS);
    }
    sim.stats().counters.jobs - before
}

#[test]
fn with_any_times_of_one_member_the_others_do_half_the_work_of_equals() {
    let equal = critical_sections(100);
    assert!(equal > 600, "{equal}");
    for percent in [1, 2, 5, 9, 10, 30, 300, 1_000, 1_100, 3_000, 10_000] {
        let done = critical_sections(percent);
        assert!(2 * done >= equal, "{percent} hundredths: {done} of {equal}");
    }
}

#[test]
fn a_station_that_never_takes_the_token_does_not_stop_work_that_needs_a_quorum() {
    let mut sim = three();
    sim.start_all();
    sim.run(2_000 * MS);
    sim.act(&Fault::Unresponsive {});
    let done = work(&mut sim, 6_000 * MS);
    // Two tenures take 20 ms each, and one handover fails.
    assert!(done >= 150, "{done}");
    assert_eq!(sim.violations(), []);
}

/// Three containers restart one after the other, and each gets a new address.
#[test]
fn members_that_left_or_changed_their_address_leave_a_quorum_to_those_that_are_there() {
    let mut sim = three();
    sim.start_all();
    sim.run(2_000 * MS);
    for card in 1..3 {
        for node in 0..3 {
            if card == 1 {
                sim.act(&Fault::Leave { node });
                sim.run(500 * MS);
            }
            sim.act(&Fault::Card { node, card });
            sim.act(&Fault::Start { node });
            sim.run(2_000 * MS);
        }
    }
    let done = work(&mut sim, 1_000 * MS);
    assert!(done > 30, "{done}");
    assert_eq!(sim.violations(), []);
}
