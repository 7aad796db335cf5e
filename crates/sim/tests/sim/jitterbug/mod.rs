//! Jitterbug in the simulated world: every promise kept whatever goes wrong, every fault met, and nothing excused but
//! what the page allows.

mod schedules;

use std::time::Duration;

use ring_sim::jitterbug::{Excuse, FaultKind, Faults, Settings, Stats, run};
use ring_sim::kernel::stats::Tally as _;

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
    let mut all = Stats::default();
    for seed in 0..200 {
        let outcome = run(&settings(seed, Faults::all()));
        assert_eq!(outcome.violations, [], "seed {seed}");
        all.add(&outcome.stats);
    }
    for kind in FaultKind::ALL {
        assert!(all.met(*kind) > 0, "{kind:?} is never met");
    }
    assert!(all.excused(Excuse::Network) > 0 && all.excused(Excuse::Forged) > 0);
    let counters = format!("{:?}", all.counters);
    assert!(!counters.contains(": 0"), "{counters}");
}

#[test]
fn every_kind_of_fault_is_met_alone_and_survived() {
    for &kind in FaultKind::ALL {
        let mut all = Stats::default();
        for seed in 0..6 {
            let outcome = run(&settings(seed, Faults::only(kind)));
            assert_eq!(outcome.violations, [], "{kind:?}, seed {seed}");
            all.add(&outcome.stats);
        }
        assert!(all.met(kind) > 0, "{kind:?}");
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
    let settings = settings(7, Faults::all());
    let (one, again) = (run(&settings), run(&settings));
    assert_eq!(one, again);
    let other = run(&Settings {
        seed: 8,
        ..settings
    });
    assert_ne!(one.stats.fingerprint, other.stats.fingerprint);
}
