//! Checks of the runs of many seeds, for all systems.

use std::fmt::{Debug, Display};
use std::ops::Range;

use ring_sim::kernel::kinds::{Faults, Kind};
use ring_sim::kernel::stats::{Counters, Stats, Tally};
use ring_sim::kernel::violation::Outcome;

/// Runs seeds, checks that no rule is broken, and returns the sum of the counters.
pub(crate) fn all_hold<K: Kind, T, R: Debug + PartialEq, S: Tally>(
    faults: Faults<K>,
    seeds: Range<u64>,
    settings: impl Fn(u64, Faults<K>) -> T,
    run: impl Fn(&T) -> Outcome<R, S>,
) -> S {
    let mut all = S::default();
    for seed in seeds {
        let outcome = run(&settings(seed, faults));
        assert_eq!(outcome.violations, [], "{faults}, seed {seed}");
        all.add(&outcome.stats);
    }
    all
}

/// Checks that every kind of fault took effect.
pub(crate) fn all_are_met<K: Kind + Debug, E: Copy + Ord + Display, C: Counters>(
    all: &Stats<K, E, C>,
) {
    for &kind in K::KINDS {
        assert!(all.fault_count(kind) > 0, "{kind:?} is never met");
    }
}

/// Checks that no counter of the system is 0.
pub(crate) fn all_are_counted(counters: &impl Debug) {
    let counters = format!("{counters:?}");
    assert!(!counters.contains(": 0"), "{counters}");
}

/// Checks that equal seeds make equal runs, and different seeds make different runs.
pub(crate) fn are_one_run_each<R, K, E, C>(run: impl Fn(u64) -> Outcome<R, Stats<K, E, C>>)
where
    Outcome<R, Stats<K, E, C>>: Debug + PartialEq,
{
    let (one, again) = (run(7), run(7));
    assert_eq!(one, again);
    assert_ne!(one.stats.fingerprint, run(8).stats.fingerprint);
}

/// Declares the tests that every system has. One test compares runs with equal seeds. Another test runs each kind of
/// fault separately, together with the kinds of normal use. The caller has `settings(seed, faults)`.
macro_rules! common_tests {
    ($run:expr, $seeds:expr, [$($normal_use:ident),*]) => {
        #[test]
        fn every_kind_of_fault_takes_effect_alone_and_breaks_nothing() {
            for &kind in FaultKind::ALL {
                let faults: Faults = [kind, $(FaultKind::$normal_use),*].into_iter().collect();
                let all = crate::seeds::all_hold(faults, $seeds, settings, $run);
                assert!(all.fault_count(kind) > 0, "{kind:?}");
            }
        }

        #[test]
        fn a_seed_makes_one_run() {
            crate::seeds::are_one_run_each(|seed| $run(&settings(seed, Faults::all())));
        }
    };
}
pub(crate) use common_tests;
