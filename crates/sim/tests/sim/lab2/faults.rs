//! Each kind of fault takes effect, and breaks no rule by itself.

use std::time::Duration;

use ring_proto::lab2::Lab2;
use ring_sim::lab2::{FaultKind, Faults, Settings, run};

use crate::seeds::{all_hold, are_one_run_each};

fn settings(seed: u64, faults: Faults) -> Settings {
    Settings {
        seed,
        nodes: 4,
        time: Duration::from_secs(20),
        faults,
        idle_hold: Some(Duration::from_millis(10)),
    }
}

/// Returns the kinds of fault that occur together with this kind. For example, a node is cut off in both directions,
/// and another node works meanwhile.
fn companions(kind: FaultKind) -> &'static [FaultKind] {
    match kind {
        FaultKind::Aside => &[FaultKind::Oneway, FaultKind::Link, FaultKind::Work],
        _ => &[],
    }
}

#[test]
fn every_kind_of_fault_takes_effect_alone_and_breaks_nothing() {
    for &kind in FaultKind::ALL {
        let runs: Vec<_> = (0..3)
            .map(|seed| run::<Lab2>(&settings(seed, Faults::only(kind))))
            .collect();
        for (seed, outcome) in runs.iter().enumerate() {
            assert_eq!(outcome.violations, [], "{kind:?}, seed {seed}");
            let is_other = |it: &&FaultKind| **it != kind && !companions(kind).contains(it);
            for other in FaultKind::ALL.iter().filter(is_other) {
                assert_eq!(
                    outcome.stats.fault_count(*other),
                    0,
                    "{other:?} under {kind:?}"
                );
            }
        }
        let met: u64 = runs
            .iter()
            .map(|outcome| outcome.stats.fault_count(kind))
            .sum();
        assert!(met > 0, "{kind:?}");
    }
}

#[test]
fn without_faults_there_is_one_election_and_no_other_event() {
    let outcome = run::<Lab2>(&settings(1, Faults::NONE));
    assert_eq!(outcome.violations, []);
    let stats = outcome.stats;
    assert_eq!(
        stats.injected + stats.overflowed + stats.counters.exempted,
        0
    );
    // The second election replaces the owner, which is killed at the end.
    assert_eq!(stats.counters.elections, 2);
    assert_eq!((stats.dropped, stats.counters.expired_leases), (0, 0));
    assert!(stats.counters.replaced_after.is_some() && stats.counters.tables_equal_after.is_some());
}

#[test]
fn a_few_seeds_of_everything_at_once() {
    all_hold(Faults::all(), 0..4, settings, run::<Lab2>);
}

#[test]
fn a_seed_makes_one_run() {
    are_one_run_each(|seed| run::<Lab2>(&settings(seed, Faults::all())));
}
