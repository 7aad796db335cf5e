//! The scenarios with named locks. Each scenario has three members.

use std::time::Duration;

use ring_codec::lab2::LockMode::{self, Exclusive, Shared};
use ring_proto::lab2::Grade::{self, Alone, Quorum};

use crate::named_locks::{LockPlan, LockTake};
use crate::scenario::{Faults, Scenario, Start};
use crate::scenarios::{with_long_hold, with_one_clock};

const NONE: Faults = Faults::NONE;

const fn take(node: usize, name: &'static str, mode: LockMode, grade: Grade) -> LockTake {
    LockTake {
        node,
        name,
        mode,
        grade,
    }
}

/// The first owner and another member want one lock.
const RIVALS: &[LockTake] = &[
    take(0, "a", Exclusive, Quorum),
    take(1, "a", Exclusive, Quorum),
];

/// The first owner and another member want one lock. The third member already has the other lock.
const EXCLUSIVE: &[LockTake] = &[
    take(2, "b", Exclusive, Quorum),
    take(0, "a", Exclusive, Quorum),
    take(1, "a", Exclusive, Quorum),
];

/// One of three members wants an exclusive lock, and the other two members want shared locks.
const MIXED: &[LockTake] = &[
    take(1, "a", Shared, Quorum),
    take(2, "a", Exclusive, Quorum),
    take(0, "a", Shared, Quorum),
];

/// The first owner has one lock, and another member has the other lock. The third member waits for both locks.
const WAITING: &[LockTake] = &[
    take(0, "b", Exclusive, Quorum),
    take(2, "b", Exclusive, Quorum),
    take(1, "a", Exclusive, Quorum),
    take(2, "a", Exclusive, Quorum),
];

/// A member of the larger side of a split has the lock. The member of the smaller side waits for this lock.
const ACROSS: &[LockTake] = &[
    take(0, "a", Exclusive, Quorum),
    take(2, "a", Exclusive, Quorum),
];

const ALONE: &[LockTake] = &[
    take(2, "b", Exclusive, Quorum),
    take(1, "a", Exclusive, Alone),
    take(2, "a", Exclusive, Alone),
];

/// Returns the scenarios with named locks that every test run explores.
pub(crate) fn small() -> Vec<Scenario> {
    vec![
        locks_in_any_order(20)
            .faults(NONE.lost(1))
            .bounds(3, 8, 1_000)
            .recovers(256),
        in_order(with_locks("exclusive locks", EXCLUSIVE, 1, [10, 40]))
            .faults(NONE.lost(1).late(1).unlocks(1))
            .bounds(3, 20, 1_000)
            .recovers(256),
        in_order(with_locks("shared and exclusive locks", MIXED, 0, [20, 40]))
            .faults(NONE.doubled(1).unlocks(1))
            .bounds(3, 20, 1_000)
            .recovers(256),
        with_handovers(in_order(with_locks(
            "locks of several owners",
            EXCLUSIVE,
            1,
            [20, 40],
        )))
        .faults(NONE.lost(1))
        .bounds(8, 20, 1_000)
        .recovers(256),
        a_member_dies([20, 250])
            .faults(NONE.crashes(1).unlocks(1))
            .bounds(8, 20, 1_000)
            .recovers(256),
        a_member_forgets([20, 150])
            .faults(NONE.restarts(1).regroups(1))
            .bounds(8, 20, 1_000)
            .recovers(256),
        in_order(with_locks("locks of grade alone", ALONE, 1, [20, 40]))
            .faults(NONE.doubled(1).unlocks(1))
            .bounds(8, 20, 1_000)
            .recovers(256),
    ]
}

/// Returns the scenarios with named locks that a developer starts by hand.
pub(crate) fn large() -> Vec<Scenario> {
    vec![
        locks_in_any_order(30)
            .faults(NONE.lost(1).unlocks(1))
            .bounds(3, 8, 1_000)
            .recovers(4_096),
        with_handovers(in_order(with_locks(
            "locks of several owners",
            EXCLUSIVE,
            1,
            [30, 60],
        )))
        .faults(NONE.lost(1).late(1).unlocks(1))
        .bounds(8, 20, 1_000)
        .recovers(4_096),
        a_member_dies([200, 400])
            .faults(NONE.crashes(1).unlocks(1))
            .bounds(12, 20, 1_000)
            .recovers(1_024),
        a_member_forgets([60, 250])
            .faults(NONE.restarts(1).regroups(2))
            .bounds(12, 20, 1_000)
            .recovers(4_096),
    ]
}

fn locks_in_any_order(millis: u64) -> Scenario {
    with_locks("locks in any order", RIVALS, 0, [millis, millis])
}

/// Returns a scenario in which each lock of a live program must outlive the death of a member.
fn a_member_dies(times: [u64; 2]) -> Scenario {
    let mut scenario = in_order(with_locks("a member dies", WAITING, 4, times));
    scenario.locks.outlives_faults = true;
    scenario
}

/// Returns a scenario in which a member restarts and changes to the other side of a split.
fn a_member_forgets(times: [u64; 2]) -> Scenario {
    Scenario {
        start: Start::Parted(&[0, 0, 1]),
        ..in_order(with_locks("a member forgets", ACROSS, 2, times))
    }
}

fn in_order(scenario: Scenario) -> Scenario {
    Scenario {
        in_order: true,
        ..scenario
    }
}

/// Makes each owner hand the token over after a short time.
fn with_handovers(mut scenario: Scenario) -> Scenario {
    scenario.constants.idle_hold = scenario.constants.heartbeat / 2;
    scenario
}

/// Returns a scenario in which the token stays with one owner. The first `held` takes happen before the exploration
/// begins. The times are `active` and `lasts` of the plan, in milliseconds.
fn with_locks(
    name: &'static str,
    takes: &'static [LockTake],
    held: usize,
    times: [u64; 2],
) -> Scenario {
    let [active, lasts] = times.map(Duration::from_millis);
    let scenario = with_long_hold(with_one_clock(Scenario::with_formed_ring(name, 3)));
    scenario.locks(LockPlan {
        takes,
        held,
        outlives_faults: false,
        active,
        lasts,
    })
}
