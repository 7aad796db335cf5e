//! Every flaw of the token service's machines is found out by its simulator: in one of a few seeds, or in a schedule.
//! The machines that ship pass the same.

use std::time::Duration;

use ring_flaws::Flaw;
use ring_model::{Findings, findings};
use ringd::sim::ftn::{Outcome, Rule, Schedule, Settings, replay, run};

use super::spoil;

/// So many seeds are tried, from the one that a test names on.
const SEEDS: u64 = 20;

/// What runs: the faults of a run and its first seed, or a schedule.
enum Runs {
    Seeds(&'static str, u64),
    Schedule(&'static str),
}

fn settings(seed: u64, faults: &str) -> Settings {
    Settings {
        seed,
        servers: None,
        clients: None,
        time: Duration::from_secs(20),
        faults: faults.parse().expect("kinds of fault"),
    }
}

/// The simulator finds that this promise is broken, and nothing in the machines that ship.
fn caught(findings: &mut Findings, name: &str, runs: &Runs, rule: Rule) {
    let found = match *runs {
        Runs::Seeds(faults, first) => (first..first + SEEDS).find_map(|seed| {
            let settings = settings(seed, faults);
            let sound = run(&settings);
            assert_eq!(sound.violations, [], "the machines that ship, seed {seed}");
            let spoilt = spoil(name).simulate_ftn(&settings);
            Some(format!("seed {seed}: {}", broken(&spoilt, rule)?))
        }),
        Runs::Schedule(text) => {
            let schedule: Schedule = serde_json::from_str(text).expect("a schedule");
            let sound = replay(&schedule);
            assert_eq!(sound.violations, [], "the machines that ship");
            let spoilt = spoil(name).replay_ftn(text).expect("a sound schedule");
            broken(&spoilt, rule).map(|found| format!("its schedule: {found}"))
        }
    };
    let found = found.unwrap_or_else(|| panic!("{name} is not found"));
    findings.note(format_args!("{name}: simulator, {found}"));
}

/// The first violation of a promise, without the circumstances that take many lines.
fn broken(outcome: &Outcome, rule: Rule) -> Option<String> {
    let found = outcome.violations.iter().find(|found| found.rule == rule)?;
    Some(found.to_string().chars().take(160).collect())
}

/// A schedule that is kept as a test of the machines that ship.
macro_rules! kept {
    ($name:literal) => {
        Runs::Schedule(include_str!(concat!(
            "../../../sim/ftn/schedules/",
            $name,
            ".json"
        )))
    };
}

/// One test for each flaw, and the list of them.
macro_rules! flaws {
    ($($name:ident $runs:expr, $rule:ident;)*) => {
        $(
            #[test]
            fn $name() {
                let mut findings = findings!(concat!("ftn::", stringify!($name)));
                caught(&mut findings, stringify!($name), &$runs, Rule::$rule);
                findings.keep().expect("findings kept");
            }
        )*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

flaws! {
    configuration_not_stored Runs::Seeds("change,hold,crash", 18), Exclusion;
    fence_counter_restarts Runs::Seeds("all", 11), Fencing;
    grace_of_one_leader kept!("a_grace_outlives_its_leader"), Exclusion;
    grants_not_numbered_anew Runs::Seeds("all", 1), Granted;
    lease_from_confirmation
        Runs::Schedule(include_str!("../../schedules/lease_from_confirmation.json")), Exclusion;
    lower_leader_unanswered
        kept!("a_leader_that_has_lost_its_state_file_outnumbers_what_a_server_knows"), OneLeader;
    never_gives_way Runs::Seeds("all", 1), OneLeader;
    no_grace Runs::Seeds("crash,run,hold", 6), Exclusion;
    revoke_answered Runs::Seeds("all", 19), Granted;
    sessions_end_early Runs::Seeds("all", 13), Exclusion;
    survey_ends_early Runs::Seeds("all", 4), Exclusion;
    transfer_of_any_configuration Runs::Seeds("reorder,duplicate,run", 100), Served;
    update_lost_in_return Runs::Seeds("all", 1), Update;
}

#[test]
fn without_a_flaw_the_copies_do_what_ships() {
    let mut findings = findings!("ftn::without_a_flaw_the_copies_do_what_ships");
    for seed in 0..5 {
        let settings = settings(seed, "all");
        assert_eq!(Flaw::none().simulate_ftn(&settings), run(&settings));
    }
    findings.note("without a flaw: the same outcome and fingerprint in 5 seeds");
    findings.keep().expect("findings kept");
}

#[test]
fn every_patch_has_its_test() {
    let patches = super::patches_of("ftn");
    assert_eq!(patches, TESTED);
    let mut findings = findings!("ftn::every_patch_has_its_test");
    findings.note(format_args!("{} patches", patches.len()));
    findings.keep().expect("findings kept");
}
