//! Every flaw of the coordinated ring's machine is found out by its simulator: in one of a few seeds. The machine that ships
//! passes the same.

use std::time::Duration;

use ring_flaws::Flaw;
use ring_model::{Findings, findings};
use ringd::sim::andrews::{Outcome, Rule, Settings, run};

use super::spoil;

/// So many seeds are tried, from the one that a test names on.
const SEEDS: u64 = 20;

fn settings(seed: u64, faults: &str) -> Settings {
    Settings {
        seed,
        nodes: None,
        time: Duration::from_secs(3),
        faults: faults.parse().expect("kinds of fault"),
    }
}

/// The simulator finds that this promise is broken, and nothing in the machine that ships.
fn caught(findings: &mut Findings, name: &str, faults: &str, first: u64, rule: Rule) {
    let found = (first..first + SEEDS).find_map(|seed| {
        let settings = settings(seed, faults);
        let sound = run(&settings);
        assert_eq!(sound.violations, [], "the machine that ships, seed {seed}");
        let spoilt = spoil(name).simulate_andrews(&settings);
        Some(format!("seed {seed}: {}", broken(&spoilt, rule)?))
    });
    let found = found.unwrap_or_else(|| panic!("{name} is not found"));
    findings.note(format_args!("{name}: simulator, {found}"));
}

/// The first violation of a promise, without the circumstances that take many lines.
fn broken(outcome: &Outcome, rule: Rule) -> Option<String> {
    let found = outcome.violations.iter().find(|found| found.rule == rule)?;
    Some(found.to_string().chars().take(160).collect())
}

/// One test for each flaw, and the list of them.
macro_rules! flaws {
    ($($name:ident $faults:literal $first:literal, $rule:ident;)*) => {
        $(
            #[test]
            fn $name() {
                let mut findings = findings!(concat!("andrews::", stringify!($name)));
                caught(&mut findings, stringify!($name), $faults, $first, Rule::$rule);
                findings.keep().expect("findings kept");
            }
        )*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

flaws! {
    acting_for_ever "all" 1, Led;
    any_crowd "all" 1, Memory;
    claims_without_proof "link,post" 0, Proof;
    gone_for_ever "all" 10, Ring;
    joins_once "all" 1, Ring;
    kept_while_passing "all" 0, Token;
    late_is_not_written "all" 4, Acknowledged;
    no_new_token "all" 7, Token;
    older_token_taken "all" 4, Sequence;
    outrun_goes_round "empty" 30, Token;
    refused_is_forgotten "all" 4, Answered;
    result_goes_round "all" 2, Calm;
    token_made_at_once "all" 1, Token;
    unknown_is_done "all" 4, Acknowledged;
    unknown_is_repeated "unknown,post" 1, Acknowledged;
}

#[test]
fn without_a_flaw_the_copies_do_what_ships() {
    let mut findings = findings!("andrews::without_a_flaw_the_copies_do_what_ships");
    for seed in 0..5 {
        let settings = settings(seed, "all");
        assert_eq!(Flaw::none().simulate_andrews(&settings), run(&settings));
    }
    findings.note("without a flaw: the same outcome and fingerprint in 5 seeds");
    findings.keep().expect("findings kept");
}

#[test]
fn every_patch_has_its_test() {
    let patches = super::patches_of("andrews");
    assert_eq!(patches, TESTED);
    let mut findings = findings!("andrews::every_patch_has_its_test");
    findings.note(format_args!("{} patches", patches.len()));
    findings.keep().expect("findings kept");
}
