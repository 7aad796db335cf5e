//! The token service's simulator or its model checker detects every flaw. The simulator runs a few seeds or a kept
//! schedule. The real state machines pass the same runs.

use std::time::Duration;

use ring_flaws::Flaw;
use ring_model::{Findings, findings};
use ring_sim::ftn::{Outcome, Rule, Schedule, Settings, replay, run};

use super::break_rule;
use super::by_seeds::SEEDS;

/// Run that detects a flaw: simulated seeds, a schedule, or a scenario of the model checker. The last field is the
/// promise that the run breaks, or a part of the checker's report.
enum DetectingRun {
    Seeds(&'static str, u64, Rule),
    Schedule(&'static str, Rule),
    Checker(&'static str, &'static str),
}

fn settings(seed: u64, faults: &str) -> Settings {
    Settings {
        seed,
        servers: None,
        clients: None,
        time: Duration::from_secs(20),
        faults: faults.parse().expect("valid kinds of faults"),
    }
}

/// Checks that the run detects the flaw, and finds no violation without the flaw.
fn caught(findings: &mut Findings, name: &str, runs: &DetectingRun) {
    let found = match *runs {
        DetectingRun::Seeds(faults, first, rule) => (first..first + SEEDS).find_map(|seed| {
            let settings = settings(seed, faults);
            let sound = run(&settings);
            assert_eq!(
                sound.violations,
                [],
                "the original state machines, seed {seed}"
            );
            let spoilt = break_rule(name).simulate_ftn(&settings);
            Some(format!(
                "simulator, seed {seed}: {}",
                find_violation(&spoilt, rule)?
            ))
        }),
        DetectingRun::Schedule(text, rule) => {
            let schedule: Schedule = serde_json::from_str(text).expect("a readable schedule");
            let sound = replay(&schedule);
            assert_eq!(sound.violations, [], "the original state machines");
            let spoilt = break_rule(name).replay_ftn(text).expect("a sound schedule");
            find_violation(&spoilt, rule).map(|found| format!("simulator, its schedule: {found}"))
        }
        DetectingRun::Checker(scenario, says) => find_by_checker(name, scenario, says),
    };
    let found = found.unwrap_or_else(|| panic!("{name} is not detected"));
    findings.note(format_args!("{name}: {found}"));
}

/// Returns the model checker's finding. The tests of the model already check that the real state machines pass.
fn find_by_checker(name: &str, scenario: &str, says: &str) -> Option<String> {
    let mut scenarios = ring_model::ftn::small().into_iter();
    let scenario = scenarios.find(|it| it.name == scenario);
    let spoilt = break_rule(name).explore_ftn(&scenario.expect("a small scenario"));
    let found = spoilt.found.as_deref()?.lines().next()?;
    let states = spoilt.unique;
    found
        .contains(says)
        .then(|| format!("checker, {states} states: {found}"))
}

/// Returns the first violation of a promise as one line.
fn find_violation(outcome: &Outcome, rule: Rule) -> Option<String> {
    let found = outcome.violations.iter().find(|found| found.rule == rule)?;
    Some(found.to_string().chars().take(160).collect())
}

/// Reads a schedule from the simulator's tests. The real state machines pass this schedule.
macro_rules! kept {
    ($name:literal) => {
        include_str!(concat!(
            "../../../../crates/sim/tests/sim/ftn/schedules/",
            $name,
            ".json"
        ))
    };
}

/// Declares one test per flaw, and a list of all flaws.
macro_rules! flaws {
    ($($name:ident $runs:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let mut findings = findings!(concat!("ftn::", stringify!($name)));
                caught(&mut findings, stringify!($name), &$runs);
                findings.keep().expect("the findings are written");
            }
        )*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

flaws! {
    configuration_not_stored DetectingRun::Seeds("change,hold,crash", 18, Rule::Exclusion);
    down_keeps_tokens DetectingRun::Seeds("all", 8, Rule::Stale);
    downgrade_not_at_once
        DetectingRun::Checker("the holder asks for the other access", "do not share it");
    fence_counter_restarts DetectingRun::Seeds("all,-keys,-attack", 11, Rule::Fencing);
    grace_of_one_leader
        DetectingRun::Schedule(kept!("a_grace_outlives_its_leader"), Rule::Exclusion);
    grants_not_numbered_anew DetectingRun::Checker("the server of a held token crashes", "did not get the token");
    late_config_heeded DetectingRun::Seeds("all", 0, Rule::Backwards);
    lease_from_confirmation
        DetectingRun::Schedule(include_str!("../../schedules/lease_from_confirmation.json"), Rule::Exclusion);
    lower_leader_unanswered DetectingRun::Schedule(
        kept!("a_leader_that_has_lost_its_state_file_outnumbers_what_a_server_knows"),
        Rule::OneLeader
    );
    names_of_catalogs_unchecked DetectingRun::Seeds("attack,crash,hold", 0, Rule::Names);
    names_of_parts_unchecked DetectingRun::Seeds("attack,hold", 0, Rule::Names);
    never_gives_way DetectingRun::Seeds("partition,run,hold", 20, Rule::Authority);
    no_grace DetectingRun::Seeds("crash,run,hold", 6, Rule::Exclusion);
    number_exceeded_without_doubt DetectingRun::Schedule(
        kept!("what_a_majority_agreed_on_under_a_number_that_was_seen_is_found_out_anew"),
        Rule::Update
    );
    revoke_answered DetectingRun::Checker("datagrams are lost and duplicated", "did not get the token");
    sessions_end_early DetectingRun::Seeds("all", 85, Rule::Exclusion);
    survey_ends_early DetectingRun::Checker("the server of a held token crashes", "do not share it");
    transfer_of_any_configuration DetectingRun::Seeds("reorder,duplicate,run", 100, Rule::Served);
    update_lost_in_return
        DetectingRun::Checker("the holder asks for the other access", "is shown update 0 after 1");
}

#[test]
fn without_a_flaw_the_copies_behave_like_the_originals() {
    let mut findings = findings!("ftn::without_a_flaw_the_copies_behave_like_the_originals");
    for seed in 0..5 {
        let settings = settings(seed, "all");
        assert_eq!(Flaw::none().simulate_ftn(&settings), run(&settings));
    }
    findings.note("without a flaw: the same outcome and fingerprint in 5 seeds");
    findings.keep().expect("the findings are written");
}

#[test]
fn every_patch_has_its_test() {
    let patches = super::patches_of("ftn");
    assert_eq!(patches, TESTED);
    let mut findings = findings!("ftn::every_patch_has_its_test");
    findings.note(format_args!("{} patches", patches.len()));
    findings.keep().expect("the findings are written");
}
