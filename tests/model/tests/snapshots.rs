#![forbid(unsafe_code)]
//! Checks that equal states have equal futures, even if different events and times led to these states.

use std::collections::VecDeque;
use std::collections::hash_map::{DefaultHasher, Entry, HashMap};
use std::hash::{Hash, Hasher};

use ring_codec::lab2::LockMode;
use ring_model::{Faults, LockPlan, LockTake, Ring, Scenario, exploration};
use ring_proto::lab2::{Grade, Lab2};
use stateright::Model;

fn fingerprint(ring: &Ring) -> u64 {
    let mut hasher = DefaultHasher::new();
    ring.hash(&mut hasher);
    hasher.finish()
}

/// Explores a scenario breadth first, and compares the successors of equal states. Returns the number of compared
/// pairs. Also returns the number of pairs of states with different times.
fn compare(scenario: Scenario, pairs: usize) -> (usize, usize) {
    let model = exploration::<Lab2>(scenario);
    let mut seen: HashMap<u64, Ring> = HashMap::new();
    let mut queue: VecDeque<_> = model.init_states().into();
    let (mut compared, mut shifted) = (0, 0);
    while compared < pairs {
        let ring = queue
            .pop_front()
            .expect("the scenario has more states than the test compares");
        for next in model.next_states(&ring) {
            if !model.within_boundary(&next) {
                continue;
            }
            match seen.entry(fingerprint(&next)) {
                Entry::Vacant(entry) => {
                    entry.insert(next.clone());
                    queue.push_back(next);
                }
                Entry::Occupied(entry) => {
                    let known = entry.get();
                    let same = next == *known && model.next_steps(&next) == model.next_steps(known);
                    assert!(same, "two runs that reach {next:?} have different futures");
                    compared += 1;
                    let other_time = |at: usize| next.nodes[at].clock != known.nodes[at].clock;
                    shifted += usize::from((0..next.nodes.len()).any(other_time));
                }
            }
        }
    }
    (compared, shifted)
}

const FAULTS: Faults = Faults {
    lost: 1,
    doubled: 1,
    crashes: 1,
    restarts: 1,
    late: 0,
    refused: 1,
    stalls: 1,
    misled: 1,
    cuts: 1,
    regroups: 1,
    wants: 1,
    unlocks: 1,
    deaf: 1,
    alone: 1,
    broadcasts: 1,
    full: 1,
    narrow: 1,
};

#[test]
fn equal_states_of_two_nodes_have_equal_futures() {
    let calm = Scenario::cold("two", 2).bounds(6, 4, 0);
    let (compared, shifted) = compare(calm, 20_000);
    assert!(
        shifted > compared / 100,
        "only {shifted} of {compared} compared pairs have different times"
    );
    compare(
        Scenario::with_formed_ring("two", 2)
            .faults(FAULTS)
            .bounds(6, 4, 0),
        20_000,
    );
}

#[test]
fn equal_states_of_three_nodes_with_ips_have_equal_futures() {
    let scenario = Scenario {
        ips: true,
        ..Scenario::with_formed_ring("three", 3)
    };
    compare(scenario.faults(FAULTS).bounds(6, 6, 0), 10_000);
}

const TAKES: &[LockTake] = &[
    LockTake {
        node: 0,
        name: "a",
        mode: LockMode::Exclusive,
        grade: Grade::Quorum,
    },
    LockTake {
        node: 1,
        name: "a",
        mode: LockMode::Shared,
        grade: Grade::Alone,
    },
];

#[test]
fn equal_states_with_named_locks_have_equal_futures() {
    let scenario = Scenario::with_formed_ring("locks", 3).locks(LockPlan {
        takes: TAKES,
        ..LockPlan::NONE
    });
    compare(scenario.faults(FAULTS).bounds(6, 8, 0), 3_000);
}
