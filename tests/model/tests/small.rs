#![forbid(unsafe_code)]
//! Explores the real state machines in every order of events of the small scenarios. `cargo test -p ring-model --
//! --nocapture` prints the states and bounds.

use ring_model::{Report, explore_shipping, findings, ftn, small};

/// Checks the report of a small scenario, which must have at least `at_least` states.
fn holds(test: &'static str, report: &Report, at_least: usize) {
    let mut findings = findings!(test);
    findings.note(report);
    assert!(report.found.is_none(), "{report}");
    assert!(report.unique >= at_least, "only {report}");
    assert!(report.recoveries > 0, "no recovery: {report}");
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

/// Declares a test for each scenario, and their list. `$path` is the path of the tests.
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
    any_order_of_three("three in any order", 10_000);
    refusals_and_stalls("links that refuse, processes that stop", 10_000);
    cuts_and_stray_offers("links that go down, offers that go astray", 10_000);
    one_clock_from_the_start("a ring forms by one clock", 10_000);
    rested("a token that rests by one clock", 10_000);
    quorums_of_three("quorums of three, by clocks that drift", 10_000);
    quorums_of_four("quorums of four, by one clock", 10_000);
    one_clock_of_three("three by one clock", 5_000);
    one_clock_of_four("four by one clock", 10_000);
    calm("nothing goes wrong", 1_000);
    ips("members that have an ip", 1_000);
    deaf("one that is deaf for a while", 1_000);
    alone("one that is reached by broadcasts only", 1_000);
    unannounced("one that no broadcast reaches", 1_000);
    slower("one twice as slow as the others", 1_000);
    full("one that cannot store", 1_000);
    narrow("a link too narrow for the data", 1_000);
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
        lost_and_doubled("datagrams are lost and come again", 10_000);
        other_access("who holds the token asks for the other access", 10_000);
        holders_server("the server of a held token crashes", 10_000);
        any_server("a server crashes, and may be the leader", 10_000);
        soon_back("a server crashes and is soon back", 10_000);
        new_client("a client starts, and a server crashes", 10_000);
        stands_still("a server stands still, of a majority", 10_000);
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
