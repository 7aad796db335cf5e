//! Simulations of the coordinated ring and its database: promises hold under all faults, every fault occurs, and
//! only allowed exceptions are excused.

mod schedules;

use std::time::Duration;

use ring_sim::andrews::{Excuse, FaultKind, Faults, Settings, run};

use crate::seeds::{all_are_counted, all_are_met, all_hold, common_tests};

fn settings(seed: u64, faults: Faults) -> Settings {
    Settings {
        seed,
        nodes: None,
        time: Duration::from_secs(3),
        faults,
    }
}

#[test]
fn the_promises_hold_under_all_faults() {
    let mut all = all_hold(Faults::all(), 0..150, settings, run);
    all_are_met(&all);
    for &excuse in Excuse::ALL {
        assert!(all.excuse_count(excuse) > 0, "{excuse:?} is never met");
    }
    // With CHALLENGE and ANSWER.
    assert_eq!(all.sent.len(), 4 + 2, "{:?}", all.sent);
    // The database fails only for nodes, not within its transactions.
    all.counters.jobs_failed = 1;
    all_are_counted(&all.counters);
}

common_tests! { run, 0..6, [] }

#[test]
fn without_faults_there_is_no_excuse_and_every_request_is_done() {
    let life = [FaultKind::Post, FaultKind::Listen].into_iter().collect();
    for seed in 0..20 {
        let outcome = run(&settings(seed, life));
        assert_eq!(outcome.violations, [], "seed {seed}");
        let stats = outcome.stats;
        for excuse in [Excuse::Unknown, Excuse::TwoTokens] {
            assert_eq!(stats.excuse_count(excuse), 0, "seed {seed}: {excuse:?}");
        }
        let counters = stats.counters;
        let failed = counters.answers_database + counters.answers_unknown;
        assert_eq!(failed, 0, "seed {seed}");
        assert_eq!(stats.overflowed, 0, "seed {seed}");
    }
}
