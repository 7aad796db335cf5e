//! The scenarios that every test run explores, and the scenarios that a developer starts by hand.

use std::time::Duration;

use crate::lock_scenarios;
use crate::scenario::{Faults, Scenario, Timing};

/// Timing with one clock for all nodes: no node is late. Each frame and its answer arrive within TAKE_TIMEOUT.
const ONE_CLOCK: Timing = Timing::Bounded {
    skew: Duration::ZERO,
    delay: Duration::from_millis(2),
};

/// The usual faults: one lost frame, one duplicate and one crash.
const USUAL: Faults = NONE.lost(1).doubled(1).crashes(1);

const NONE: Faults = Faults::NONE;

/// Returns the scenarios that take about a minute with the test profile.
pub fn small() -> Vec<Scenario> {
    let mut all = undisturbed_scenarios();
    all.extend(disturbed_scenarios());
    all.extend(lock_scenarios::small());
    all
}

/// Returns the small scenarios in which no node is disturbed for a long time.
fn undisturbed_scenarios() -> Vec<Scenario> {
    vec![
        Scenario::cold("a ring forms in any order", 2)
            .faults(USUAL)
            .bounds(3, 3, 9)
            .recovers(16),
        Scenario::with_formed_ring("a ring in any order", 2)
            .faults(USUAL)
            .bounds(6, 3, 8)
            .recovers(16),
        Scenario::with_formed_ring("a ring of three in any order", 3)
            .faults(USUAL)
            .bounds(6, 4, 6)
            .recovers(16),
        Scenario::with_formed_ring("links refuse frames, processes stall", 2)
            .faults(NONE.refused(1).stalls(1).wants(1))
            .bounds(4, 3, 7)
            .recovers(16),
        Scenario::with_formed_ring("links go down, offers reach all members", 3)
            .faults(NONE.misled(1).cuts(1).wants(1))
            .bounds(4, 4, 6)
            .recovers(16),
        with_one_clock(Scenario::cold("a ring forms with one clock", 2))
            .faults(USUAL)
            .bounds(3, 3, 18)
            .recovers(64),
        with_default_hold(Scenario::with_formed_ring(
            "a token rests with one clock",
            2,
        ))
        .faults(USUAL)
        .bounds(4, 3, 18)
        .recovers(64),
        quorums_of_three().bounds(3, 4, 18).recovers(64),
        quorums_of_four().bounds(3, 6, 12).recovers(64),
        with_one_clock(Scenario::with_formed_ring(
            "a ring of three with one clock",
            3,
        ))
        .faults(USUAL.crashes(0))
        .bounds(8, 6, 1_000)
        .recovers(16),
        with_one_clock(Scenario::with_formed_ring(
            "a ring of four with one clock",
            4,
        ))
        .faults(NONE.lost(1))
        .bounds(24, 9, 1_000)
        .recovers(16),
        Scenario {
            calm: true,
            ..with_one_clock(Scenario::cold("no faults", 3))
        }
        .bounds(6, 6, 12)
        .recovers(64),
        with_ips(Scenario::with_formed_ring("members with IPs", 3))
            .faults(USUAL)
            .bounds(4, 4, 5)
            .recovers(16),
    ]
}

/// Returns the small scenarios in which one node is disturbed.
fn disturbed_scenarios() -> Vec<Scenario> {
    vec![
        with_default_hold(Scenario::with_formed_ring(
            "a member is deaf for a while",
            3,
        ))
        .faults(NONE.deaf(1))
        .bounds(4, 6, 16)
        .recovers(8),
        with_default_hold(Scenario::with_formed_ring(
            "only broadcasts reach a member",
            2,
        ))
        .faults(NONE.alone(1).wants(1))
        .bounds(8, 3, 20)
        .recovers(16),
        with_default_hold(Scenario::with_formed_ring(
            "no broadcast reaches a member",
            3,
        ))
        .faults(NONE.broadcasts(1).wants(1))
        .bounds(8, 6, 12)
        .recovers(16),
        Scenario {
            slower: 2,
            ..with_one_clock(Scenario::with_formed_ring(
                "a member is twice as slow as the others",
                3,
            ))
        }
        .faults(NONE.lost(1).crashes(1))
        .bounds(8, 6, 12)
        .recovers(16),
        Scenario::with_formed_ring("a member cannot store its state", 2)
            .faults(NONE.full(1).crashes(1))
            .bounds(4, 3, 7)
            .recovers(8),
        with_data(with_one_clock(Scenario::with_formed_ring(
            "a link too narrow for the data",
            3,
        )))
        .faults(NONE.narrow(1))
        .bounds(6, 6, 12)
        .recovers(8),
    ]
}

/// Returns a scenario in which two of three nodes have a quorum. The split changes, so that the third node can help
/// each of these two nodes in turn. During one promise, the difference between two clocks grows as if each clock had a
/// rate error of 1 %.
pub fn quorums_of_three() -> Scenario {
    let scenario = Scenario::with_split_ring("quorums of three with drifting clocks", &[0, 0, 1]);
    let timing = Timing::Bounded {
        skew: scenario.constants.waiter_timeout() / 100,
        delay: Duration::from_millis(2),
    };
    let regroups = NONE.regroups(2);
    let scenario = Scenario { timing, ..scenario };
    with_long_hold(scenario).faults(regroups)
}

/// Returns a scenario with two of four nodes on each side. No side of the split has a quorum until the split changes.
pub fn quorums_of_four() -> Scenario {
    let scenario = Scenario::with_split_ring("quorums of four with one clock", &[0, 0, 1, 1]);
    with_long_hold(with_one_clock(scenario)).faults(NONE.regroups(1))
}

/// Makes an owner keep an unwanted token for the default time, one heartbeat. So handovers and heartbeats are due at
/// the same time.
fn with_default_hold(mut scenario: Scenario) -> Scenario {
    scenario.constants.idle_hold = scenario.constants.heartbeat;
    with_one_clock(scenario)
}

/// Makes an owner keep an unwanted token for the whole run.
pub(crate) fn with_long_hold(mut scenario: Scenario) -> Scenario {
    scenario.constants.idle_hold = Duration::from_secs(1);
    scenario
}

/// Returns the scenarios that take about an hour on two cores in release mode.
pub fn large() -> Vec<Scenario> {
    let all = USUAL.refused(1).stalls(1).misled(1).cuts(1).wants(1);
    let mut rings = vec![
        Scenario::cold("a ring forms in any order", 2)
            .faults(USUAL)
            .bounds(4, 3, 12)
            .recovers(64),
        Scenario::with_formed_ring("a ring in any order", 2)
            .faults(USUAL)
            .bounds(6, 4, 10)
            .recovers(64),
        Scenario::with_formed_ring("a ring of three in any order", 3)
            .faults(USUAL)
            .bounds(6, 6, 8)
            .recovers(64),
        Scenario::cold("a ring of three forms in any order", 3)
            .faults(USUAL)
            .bounds(4, 6, 8)
            .recovers(64),
        Scenario::with_formed_ring("everything goes wrong", 2)
            .faults(all)
            .bounds(6, 4, 6)
            .recovers(64),
        Scenario::with_formed_ring("a ring of three with every fault", 3)
            .faults(all)
            .bounds(6, 6, 5)
            .recovers(64),
        with_one_clock(Scenario::cold("a ring forms with one clock", 2))
            .faults(USUAL.lost(2).wants(1))
            .bounds(6, 4, 14)
            .recovers(256),
        with_one_clock(Scenario::with_formed_ring(
            "a ring of three with one clock",
            3,
        ))
        .faults(USUAL)
        .bounds(8, 6, 14)
        .recovers(64),
        with_one_clock(Scenario::with_formed_ring(
            "a ring of four with one clock",
            4,
        ))
        .faults(USUAL.crashes(0))
        .bounds(8, 9, 1_000)
        .recovers(64),
        Scenario {
            calm: true,
            ..with_one_clock(Scenario::cold("no faults", 3))
        }
        .bounds(8, 6, 16)
        .recovers(256),
        with_ips(Scenario::with_formed_ring("members with IPs", 3))
            .faults(USUAL)
            .bounds(4, 6, 7)
            .recovers(64),
        quorums_of_three()
            .faults(NONE.lost(1).regroups(2).wants(1))
            .bounds(3, 4, 12)
            .recovers(256),
        quorums_of_three()
            .faults(NONE.crashes(1).regroups(2))
            .bounds(3, 4, 13)
            .recovers(256),
        quorums_of_four()
            .faults(NONE.regroups(2))
            .bounds(3, 6, 11)
            .recovers(256),
        with_data(with_one_clock(Scenario::with_formed_ring(
            "every trouble once",
            3,
        )))
        .faults(
            NONE.lost(1)
                .wants(1)
                .deaf(1)
                .alone(1)
                .broadcasts(1)
                .full(1)
                .narrow(1),
        )
        .bounds(6, 6, 9)
        .recovers(64),
    ];
    rings.extend(lock_scenarios::large());
    rings
}

pub(crate) fn with_one_clock(scenario: Scenario) -> Scenario {
    Scenario {
        timing: ONE_CLOCK,
        ..scenario
    }
}

/// Gives the token more data than a frame of a narrow link can carry.
fn with_data(scenario: Scenario) -> Scenario {
    Scenario {
        data: 600,
        ..scenario
    }
}

fn with_ips(scenario: Scenario) -> Scenario {
    Scenario {
        ips: true,
        ..scenario
    }
}
