//! An attacker without a key of the ring breaks systems without keys, and no system with keys.

use std::time::Duration;

use ring_proto::lab2::Lab2;
use ring_sim::kernel::keys::NodeKeys;
use ring_sim::{andrews, ftn, jitterbug, lab2};

fn keys() -> NodeKeys {
    NodeKeys {
        ids: vec![1],
        unsigned: false,
    }
}

fn replay_lab2(schedule: &lab2::Schedule) -> lab2::Outcome {
    lab2::replay::<Lab2>(schedule, None)
}

/// Declares a test for each kept attack. Without keys, the attack breaks a rule. With keys, the same attack breaks no
/// rule.
macro_rules! attacks {
    ($($name:ident $system:ident $replay:path;)*) => {
        $(
            #[test]
            fn $name() {
                let text = include_str!(concat!("attacks/", stringify!($name), ".json"));
                let mut schedule: $system::Schedule = serde_json::from_str(text).expect("a schedule");
                schedule.check().expect("a valid schedule");
                let violations = $replay(&schedule).violations;
                assert!(!violations.is_empty(), "the attack has no effect without keys");
                schedule.keys = keys();
                assert_eq!($replay(&schedule).violations, []);
            }
        )*
    };
}

attacks! {
    board_without_keys andrews andrews::replay;
    ring_without_keys lab2 replay_lab2;
    segment_without_keys jitterbug jitterbug::replay;
    token_service_with_client_keys ftn ftn::replay;
    token_service_without_keys ftn ftn::replay;
}

/// The number of runs of each system.
const SEEDS: u64 = 12;
const TIME: Duration = Duration::from_secs(8);

/// Runs attacks on nodes with keys, and the same attacks on nodes without keys. Returns the number of broken runs
/// without keys.
macro_rules! broken_without_keys {
    ($replay:path, $schedule:expr) => {{
        let mut broken = 0;
        for seed in 0..SEEDS {
            let mut schedule = $schedule(seed);
            assert_eq!($replay(&schedule).violations, [], "seed {seed}");
            schedule.keys = NodeKeys::default();
            broken += u64::from(!$replay(&schedule).violations.is_empty());
        }
        broken
    }};
}

#[test]
fn attacks_break_rings_without_keys_and_no_ring_with_keys() {
    let schedule = |seed| {
        lab2::Schedule::of(&lab2::Settings {
            seed,
            nodes: 5,
            time: TIME,
            faults: "attack,work".parse().expect("kinds of faults"),
            idle_hold: None,
        })
    };
    assert!(broken_without_keys!(replay_lab2, schedule) > SEEDS / 3);
}

#[test]
fn attacks_break_token_services_without_keys_and_none_with_keys() {
    let schedule = |seed| {
        ftn::Schedule::of(&ftn::Settings {
            seed,
            servers: None,
            clients: None,
            time: TIME,
            faults: "attack,run".parse().expect("kinds of faults"),
        })
    };
    assert!(broken_without_keys!(ftn::replay, schedule) > 1);
}

#[test]
fn an_attacker_with_the_key_of_a_client_gets_only_its_own_token() {
    let mut attacker_grants = 0;
    for seed in 0..2 * SEEDS {
        let outcome = ftn::run(&ftn::Settings {
            seed,
            servers: None,
            clients: None,
            time: TIME,
            faults: "attack,keys,hold".parse().expect("kinds of faults"),
        });
        assert_eq!(outcome.violations, [], "seed {seed}");
        attacker_grants += outcome.stats.counters.attacker_grants;
    }
    assert!(attacker_grants > 0);
}

#[test]
fn attacks_break_boards_without_keys_and_none_with_keys() {
    // The guards of the database withstand most attacks.
    const FIRST_SEED: u64 = 45;
    let schedule = |seed| {
        andrews::Schedule::of(&andrews::Settings {
            seed: FIRST_SEED + seed,
            nodes: None,
            time: TIME,
            faults: "attack,post".parse().expect("kinds of faults"),
        })
    };
    assert!(broken_without_keys!(andrews::replay, schedule) > 0);
}

#[test]
fn attacks_break_segments_without_keys_and_none_with_keys() {
    let schedule = |seed| {
        jitterbug::Schedule::of(&jitterbug::Settings {
            seed,
            nodes: None,
            time: TIME,
            faults: "attack,work".parse().expect("kinds of faults"),
        })
    };
    assert!(broken_without_keys!(jitterbug::replay, schedule) > SEEDS / 3);
}
