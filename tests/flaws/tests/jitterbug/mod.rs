//! Every flaw of Jitterbug's machine, and of what it needs of TCP, is found out by its simulator: in one of a few
//! seeds. The machine that ships passes the same.

use std::time::Duration;

use ring_flaws::Flaw;
use ring_model::{Findings, findings};
use ringd::sim::jitterbug::{Outcome, Rule, Settings, run};

use super::spoil;

/// So many seeds are tried, from the one that a test names on.
const SEEDS: u64 = 20;

fn settings(seed: u64, faults: &str) -> Settings {
    Settings {
        seed,
        nodes: None,
        time: Duration::from_secs(10),
        faults: faults.parse().expect("kinds of fault"),
    }
}

/// The simulator finds that this promise is broken, and nothing in the machine that ships.
fn caught(findings: &mut Findings, name: &str, faults: &str, first: u64, rule: Rule) {
    let found = (first..first + SEEDS).find_map(|seed| {
        let settings = settings(seed, faults);
        let sound = run(&settings);
        assert_eq!(sound.violations, [], "the machine that ships, seed {seed}");
        let spoilt = spoil(name).simulate_jitterbug(&settings);
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
                let mut findings = findings!(concat!("jitterbug::", stringify!($name)));
                caught(&mut findings, stringify!($name), $faults, $first, Rule::$rule);
                findings.keep().expect("findings kept");
            }
        )*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

flaws! {
    both_give_way "partition" 54, Chain;
    both_wait "forge" 185, Merged;
    ids_do_not_grow "all" 1, Replaced;
    linger_left_on "crash" 2, Chain;
    list_replaced "all" 0, Lists;
    no_announcements "all" 6, Settled;
    no_stall "pause" 0, Stall;
    received_data_continues "all" 0, Data;
    silent_while_giving "all" 37, OneLeader;
    skipped_though_heard "all" 0, Leads;
    unknown_is_failed "all" 0, Chain;
    used_while_given "all" 0, OneLeader;
}

#[test]
fn without_a_flaw_the_copies_do_what_ships() {
    let mut findings = findings!("jitterbug::without_a_flaw_the_copies_do_what_ships");
    for seed in 0..5 {
        let settings = settings(seed, "all");
        assert_eq!(Flaw::none().simulate_jitterbug(&settings), run(&settings));
    }
    findings.note("without a flaw: the same outcome and fingerprint in 5 seeds");
    findings.keep().expect("findings kept");
}

#[test]
fn every_patch_has_its_test() {
    let patches = super::patches_of("jitterbug");
    assert_eq!(patches, TESTED);
    let mut findings = findings!("jitterbug::every_patch_has_its_test");
    findings.note(format_args!("{} patches", patches.len()));
    findings.keep().expect("findings kept");
}
