#![forbid(unsafe_code)]
//! Explores the real state machines: every order of events in the small scenarios. `cargo test -p ring-model --
//! --nocapture` prints the states and bounds.

use ring_model::{Report, explore_shipping, findings, ftn, small};

/// Checks the report on a small scenario. The exploration must have found at least `at_least` states.
fn holds(test: &'static str, report: &Report, at_least: usize) {
    let mut findings = findings!(test);
    findings.note(report);
    assert!(report.found.is_none(), "{report}");
    assert!(
        report.unique >= at_least,
        "the scenario must have at least {at_least} states: {report}"
    );
    assert!(report.recoveries > 0, "no recovery was checked: {report}");
    findings.keep().expect("findings kept");
}

fn ring(name: &str) -> Report {
    let scenario = small().into_iter().find(|scenario| scenario.name == name);
    explore_shipping(&scenario.expect("a small scenario"))
}

fn group(name: &str) -> Report {
    let mut scenarios = ftn::small().into_iter();
    let scenario = scenarios.find(|scenario| scenario.name == name);
    ftn::explore(&scenario.expect("a small scenario"), 1)
}

/// Declares a test for each scenario, and a list of these scenarios. `$path` is the path of the tests.
macro_rules! scenarios {
    ($explore:ident, $path:literal: $($test:ident($name:literal, $at_least:literal);)*) => {
        $(
            #[test]
            fn $test() {
                holds(concat!($path, stringify!($test)), &$explore($name), $at_least);
            }
        )*

        const TESTED: &[&str] = &[$($name),*];
    };
}

scenarios! { ring, "":
    any_order_from_the_start("a ring forms in any order", 10_000);
    any_order("a ring in any order", 10_000);
    any_order_of_three("a ring of three in any order", 10_000);
    refusals_and_stalls("links refuse frames, processes stall", 10_000);
    cuts_and_stray_offers("links go down, offers reach all members", 10_000);
    one_clock_from_the_start("a ring forms with one clock", 10_000);
    rested("a token rests with one clock", 10_000);
    quorums_of_three("quorums of three with drifting clocks", 10_000);
    quorums_of_four("quorums of four with one clock", 10_000);
    one_clock_of_three("a ring of three with one clock", 5_000);
    one_clock_of_four("a ring of four with one clock", 10_000);
    calm("no faults", 1_000);
    ips("members with IPs", 1_000);
    deaf("a member is deaf for a while", 1_000);
    alone("only broadcasts reach a member", 1_000);
    unannounced("no broadcast reaches a member", 1_000);
    slower("a member is twice as slow as the others", 1_000);
    full("a member cannot store its state", 1_000);
    narrow("a link too narrow for the data", 1_000);
    locks_in_any_order("locks in any order", 10_000);
    exclusive_locks("exclusive locks", 10_000);
    shared_locks("shared and exclusive locks", 10_000);
    locks_of_several_owners("locks of several owners", 10_000);
    locks_of_dead_members("a member dies", 1_000);
    forgotten_locks("a member forgets", 10_000);
    locks_of_grade_alone("locks of grade alone", 10_000);
}

#[test]
fn every_small_scenario_has_its_test() {
    let small: Vec<&str> = small().iter().map(|scenario| scenario.name).collect();
    assert_eq!(small, TESTED);
    let mut findings = findings!("every_small_scenario_has_its_test");
    findings.note(format_args!("{} scenarios", small.len()));
    findings.keep().expect("findings kept");
}

mod token_service {
    use super::{findings, ftn, group, holds};

    scenarios! { group, "token_service::":
        lost_and_doubled("datagrams are lost and duplicated", 10_000);
        other_access("the holder asks for the other access", 10_000);
        holders_server("the server of a held token crashes", 10_000);
        any_server("a server crashes, and may be the leader", 10_000);
        soon_back("a server crashes and soon restarts", 10_000);
        new_client("a client starts, and a server crashes", 10_000);
        stands_still("a server of a majority is stalled", 10_000);
    }

    #[test]
    fn every_small_scenario_has_its_test() {
        let small = ftn::small();
        let small: Vec<&str> = small.iter().map(|scenario| scenario.name).collect();
        assert_eq!(small, TESTED);
        let mut findings = findings!("token_service::every_small_scenario_has_its_test");
        findings.note(format_args!("{} scenarios", small.len()));
        findings.keep().expect("findings kept");
    }
}
