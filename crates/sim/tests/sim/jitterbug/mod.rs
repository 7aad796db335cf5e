//! Simulations of Jitterbug: promises hold under all faults, every fault occurs, and only allowed exceptions are
//! excused.

mod schedules;

use std::time::Duration;

use ring_sim::jitterbug::{Excuse, FaultKind, Faults, Settings, run};

use crate::seeds::{all_are_counted, all_are_met, all_hold, common_tests};

fn settings(seed: u64, faults: Faults) -> Settings {
    Settings {
        seed,
        nodes: None,
        time: Duration::from_secs(10),
        faults,
    }
}

#[test]
fn the_promises_hold_under_all_faults() {
    let all = all_hold(Faults::all(), 0..200, settings, run);
    all_are_met(&all);
    all_are_counted(&all.counters);
    assert!(all.excuse_count(Excuse::Network) > 0 && all.excuse_count(Excuse::Forged) > 0);
}

common_tests! { run, 0..6, [] }

#[test]
fn without_faults_there_is_no_excuse_and_no_pass_fails() {
    for seed in 0..20 {
        let outcome = run(&Settings {
            time: Duration::from_secs(5),
            ..settings(seed, Faults::NONE)
        });
        assert_eq!(outcome.violations, [], "seed {seed}");
        let stats = outcome.stats;
        assert_eq!(
            (stats.counters.stalls, stats.overflowed),
            (0, 0),
            "seed {seed}"
        );
        for excuse in [
            Excuse::EqualIds,
            Excuse::Forged,
            Excuse::Undecided,
            Excuse::Wrapped,
        ] {
            assert_eq!(stats.excuse_count(excuse), 0, "seed {seed}: {excuse:?}");
        }
    }
}
