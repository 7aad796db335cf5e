//! Simulations of the token service: promises hold under all faults, every fault occurs, and only allowed
//! exceptions are excused.

mod schedules;

use std::time::Duration;

use ring_codec::ftn::Kind;
use ring_sim::ftn::{Excuse, FaultKind, Faults, Settings, run};

use crate::seeds::{all_are_met, all_hold, common_tests};

fn settings(seed: u64, faults: Faults) -> Settings {
    Settings {
        seed,
        servers: None,
        clients: None,
        time: Duration::from_secs(20),
        faults,
    }
}

#[test]
fn the_promises_hold_under_all_faults() {
    let all = all_hold(Faults::all(), 0..200, settings, run);
    all_are_met(&all);
    assert!(all.excuse_count(Excuse::ServerLost) > 0 && all.excuse_count(Excuse::TwoLeaders) > 0);
    // With CHALLENGE and ANSWER.
    assert_eq!(all.sent.len(), Kind::ALL.len() + 2, "{:?}", all.sent);
    let counters = all.counters;
    assert!(counters.grants > 1_000 && counters.updates > 1_000 && counters.resets > 10);
}

common_tests! { run, 0..4, [Run, Hold] }

#[test]
fn without_faults_only_updates_of_the_killed_server_are_excused() {
    for seed in 0..20 {
        let outcome = run(&settings(seed, Faults::NONE));
        assert_eq!(outcome.violations, [], "seed {seed}");
        let stats = outcome.stats;
        let counters = &stats.counters;
        assert_eq!(
            (counters.resets, counters.conflicts, stats.overflowed),
            (0, 0, 0)
        );
        for &excuse in Excuse::ALL {
            assert!(excuse == Excuse::ServerLost || stats.excuse_count(excuse) == 0);
        }
    }
}
