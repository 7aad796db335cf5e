//! Simulations of Jitterbug: promises hold under all faults, every fault occurs, and only allowed exceptions are
//! excused.

mod schedules;

use std::time::Duration;

use ring_sim::jitterbug::{Excuse, FaultKind, Faults, Settings, run};

use crate::seeds::{all_are_counted, all_are_met, all_hold, are_one_run_each};

fn settings(seed: u64, faults: Faults) -> Settings {
    Settings {
        seed,
        nodes: None,
        time: Duration::from_secs(10),
        faults,
    }
}

#[test]
fn whatever_goes_wrong_the_promises_are_kept() {
    let all = all_hold(Faults::all(), 0..200, settings, run);
    all_are_met(&all);
    all_are_counted(&all.counters);
    assert!(all.excused(Excuse::Network) > 0 && all.excused(Excuse::Forged) > 0);
}

#[test]
fn every_kind_of_fault_is_met_alone_and_survived() {
    for &kind in FaultKind::ALL {
        let all = all_hold(Faults::only(kind), 0..6, settings, run);
        assert!(all.fault_count(kind) > 0, "{kind:?}");
    }
}

#[test]
fn without_faults_nothing_is_excused_and_no_pass_fails() {
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
            assert_eq!(stats.excused(excuse), 0, "seed {seed}: {excuse:?}");
        }
    }
}

#[test]
fn a_seed_makes_one_run() {
    are_one_run_each(|seed| run(&settings(seed, Faults::all())));
}
