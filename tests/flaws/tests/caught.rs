#![forbid(unsafe_code)]
//! The model checker or the simulator detects every flaw, in a run that the real state machine passes.
//!
//! `cargo test -p ring-flaws -- --nocapture` prints how each flaw was detected, and the cost.

#[macro_use]
mod by_seeds;

mod andrews;
mod ftn;
mod jitterbug;
mod steps;
mod trust;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ring_flaws::Flaw;
use ring_model::{
    Faults, Findings, Report, Scenario, explore_shipping, findings, quorums_of_four,
    quorums_of_three,
};
use ring_proto::lab2::Lab2;
use ring_sim::lab2::{self as sim, FaultKind, Settings};

/// Breaks the rule of the test's patch.
fn break_rule(test: &str) -> Flaw {
    Flaw::by_name(test).unwrap_or_else(|| panic!("there is no patch {test}"))
}

/// Checks that the model checker finds a violation with the flaw, and finds no violation without the flaw. The text of
/// the violation must contain `says`.
fn caught_by_checker(findings: &mut Findings, scenario: &Scenario, says: &str) {
    let name = findings.test;
    let sound = report_without_flaw(scenario);
    assert!(sound.found.is_none(), "the original state machine: {sound}");
    let spoilt = break_rule(name).explore(scenario);
    let found = spoilt.found.as_deref();
    let found = found.unwrap_or_else(|| panic!("{name} is not detected: {spoilt}"));
    let breach = found.lines().next().unwrap_or_default();
    assert!(
        breach.contains(says),
        "{name} breaks another rule: {spoilt}"
    );
    findings.note(format_args!(
        "{name}: checker, {} states ({} in the sound machine): {breach}",
        spoilt.unique, sound.unique
    ));
}

/// Returns the model checker's report on the real state machine. Many flaws share a scenario, so the function stores
/// the reports.
fn report_without_flaw(scenario: &Scenario) -> Report {
    static REPORTS: Mutex<Vec<(Scenario, Arc<OnceLock<Report>>)>> = Mutex::new(Vec::new());
    let known = {
        let mut all = REPORTS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|(known, _)| known == scenario);
        let known = known.map(|(_, report)| Arc::clone(report));
        known.unwrap_or_else(|| {
            all.push((scenario.clone(), Arc::default()));
            Arc::clone(&all[all.len() - 1].1)
        })
    };
    known.get_or_init(|| explore_shipping(scenario)).clone()
}

const SEEDS: u64 = 400;

/// Tries seeds until the simulator detects the flaw. The real state machine must pass all tried seeds.
fn caught_by_simulator(findings: &mut Findings, settings: &Settings, rule: sim::Rule) {
    let name = findings.test;
    let flaw = break_rule(name);
    for seed in settings.seed..settings.seed + SEEDS {
        let settings = Settings {
            seed,
            ..settings.clone()
        };
        let sound = sim::run::<Lab2>(&settings);
        assert!(
            sound.violations.is_empty(),
            "the original state machine: {:?}",
            sound.violations
        );
        let spoilt = flaw.simulate(&settings);
        if let Some(found) = spoilt.violations.iter().find(|found| found.rule == rule) {
            findings.note(format_args!("{name}: simulator, seed {seed}: {found}"));
            return;
        }
    }
    panic!("{name} is not detected in {SEEDS} seeds");
}

/// Checks that a schedule breaks a rule with the flaw, and that the real state machine passes it.
fn caught_by_schedule(findings: &mut Findings, text: &str, rule: sim::Rule) {
    let name = findings.test;
    let schedule: sim::Schedule = serde_json::from_str(text).expect("a valid schedule");
    let sound = sim::replay::<Lab2>(&schedule, None);
    assert!(
        sound.violations.is_empty(),
        "the original state machine: {:?}",
        sound.violations
    );
    let spoilt = break_rule(name).replay(&schedule);
    let found = spoilt.violations.iter().find(|found| found.rule == rule);
    let found = found.unwrap_or_else(|| panic!("{name} is not detected"));
    findings.note(format_args!("{name}: schedule: {found}"));
}

/// Checks that the flawed state machine fails a check of some nodes, and that the real state machine passes this check.
fn caught_by_steps(findings: &mut Findings, [real, copy]: &[steps::Check; 2], says: &str) {
    let name = findings.test;
    assert_eq!(real(), Ok(()), "the original state machine");
    let flaw = break_rule(name);
    let found = copy();
    drop(flaw);
    let found = found.expect_err(name);
    assert!(found.contains(says), "{name} breaks another rule: {found}");
    findings.note(format_args!("{name}: some nodes: {found}"));
}

/// Checks that the model checker and the simulator find two simultaneous quorums.
fn caught_by_both(
    findings: &mut Findings,
    (scenario, settings): &(Scenario, Settings),
    says: &str,
) {
    caught_by_checker(findings, scenario, says);
    caught_by_simulator(findings, settings, sim::Rule::Quorum);
}

/// Checks that the model checker and the simulator find an owner with a quorum that loses its token to a stronger
/// token.
fn caught_losing_a_quorum(
    findings: &mut Findings,
    (scenario, settings): &(Scenario, Settings),
    says: &str,
) {
    caught_by_checker(findings, scenario, says);
    caught_by_simulator(findings, settings, sim::Rule::Kept);
}

fn two_formed() -> Scenario {
    Scenario::with_formed_ring("two", 2).bounds(4, 3, 9)
}

fn two_cold() -> Scenario {
    Scenario::cold("two from the start", 2).bounds(3, 3, 8)
}

fn three_formed() -> Scenario {
    Scenario::with_formed_ring("three", 3).bounds(4, 4, 6)
}

fn two_that_may_not_store() -> Scenario {
    two_formed()
        .faults(Faults {
            full: 1,
            crashes: 1,
            ..Faults::default()
        })
        .bounds(4, 3, 8)
}

fn simulated_ring(kinds: &[FaultKind]) -> Settings {
    Settings {
        seed: 1,
        nodes: 4,
        time: Duration::from_secs(10),
        faults: kinds.iter().copied().collect(),
        idle_hold: None,
    }
}

/// Returns settings of a ring with quorums. The token of this ring moves often, so members confirm many tenures.
fn cut_ring(nodes: usize, more: &[FaultKind]) -> Settings {
    let kinds = [&[FaultKind::Partition, FaultKind::Work], more].concat();
    Settings {
        nodes,
        idle_hold: Some(Duration::from_millis(10)),
        ..simulated_ring(&kinds)
    }
}

/// Returns settings of a ring with a permanently slow member. The runs are too short for members that are slow for a
/// while, because such members would make leases void.
fn slow_ring() -> Settings {
    Settings {
        time: Duration::from_secs(2),
        idle_hold: Some(Duration::from_millis(10)),
        ..simulated_ring(&[FaultKind::Slow, FaultKind::Work])
    }
}

/// Returns settings of a small ring whose programs take named locks.
fn three_with_locks(fault: FaultKind) -> Settings {
    Settings {
        nodes: 3,
        ..simulated_ring(&[FaultKind::Lock, fault])
    }
}

/// Returns settings of a ring whose programs often wait for the same named lock.
fn five_with_locks(fault: FaultKind) -> Settings {
    Settings {
        nodes: 5,
        ..three_with_locks(fault)
    }
}

/// Returns settings with two members. One member often has different constants. Processes die, but their applications
/// continue.
fn unequal_pair() -> Settings {
    Settings {
        nodes: 2,
        ..simulated_ring(&[FaultKind::Constants, FaultKind::Work, FaultKind::Crash])
    }
}

/// Returns settings with wrong clocks and long tenures. A live owner would outbid other owners. So an owner must die
/// while its application continues. After the death of the owner, a member that confirmed this owner may confirm a new
/// owner.
fn wrong_clocks() -> Settings {
    Settings {
        nodes: 3,
        idle_hold: Some(Duration::from_millis(500)),
        ..simulated_ring(&[FaultKind::Partition, FaultKind::Clock, FaultKind::Crash])
    }
}

/// Returns a scenario with an owner that has a quorum. The owner loses its token only if its link goes down. With its
/// link up, the owner outbids other owners.
fn quorum_without_link() -> Scenario {
    quorums_of_three()
        .faults(Faults {
            cuts: 1,
            regroups: 1,
            ..Faults::default()
        })
        .bounds(3, 4, 9)
}

/// Returns the settings with `seed` as the first seed. Choose a number shortly before the seed that detects the flaw.
fn from_seed(seed: u64, mut settings: Settings) -> Settings {
    settings.seed = seed;
    settings
}

/// Reads a schedule from the simulator's tests.
macro_rules! kept {
    ($name:literal) => {
        include_str!(concat!(
            "../../../crates/sim/tests/sim/lab2/schedules/",
            $name,
            ".json"
        ))
    };
}

/// Declares one test per flaw, and a list of all flaws.
macro_rules! caught {
    ($($name:ident $how:ident($setting:expr, $says:expr);)*) => {
        $(
            #[test]
            fn $name() {
                let mut findings = findings!(stringify!($name));
                $how(&mut findings, &$setting, $says);
                findings.keep().expect("the findings are written");
            }
        )*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

caught! {
    age_before_backing caught_losing_a_quorum(
        (quorums_of_three().bounds(3, 4, 18), cut_ring(3, &[FaultKind::Aside])), "for which it has a quorum");
    answered_too_late caught_by_simulator(from_seed(70, slow_ring()), sim::Rule::Lease);
    any_offer_accepted caught_by_checker(
        two_formed().faults(Faults { doubled: 1, ..Faults::default() }).bounds(4, 3, 10), "go back");
    begun_untold caught_by_simulator(
        from_seed(110, cut_ring(4, &[FaultKind::Once, FaultKind::Drop])), sim::Rule::Once);
    broadcast_offer_accepted caught_by_checker(
        three_formed().faults(Faults { misled: 1, ..Faults::default() }), "must drop");
    candidate_never_yields caught_by_checker(two_cold(), "still stands");
    clock_in_the_vote caught_by_checker(Scenario { wall: 1_000, ..two_cold() }, "stands with");
    completed_by_anything caught_by_checker(two_formed(), "weaker");
    data_before_the_token caught_by_simulator(
        from_seed(100, simulated_ring(&[FaultKind::Mtu, FaultKind::Work])), sim::Rule::OneOwner);
    deaf_heeded caught_by_checker(two_formed(), "must drop");
    elected_unannounced caught_by_checker(
        two_cold().faults(Faults { refused: 1, ..Faults::default() }), "no frame has announced");
    endless_patience caught_by_checker(
        two_formed().faults(Faults { crashes: 1, ..Faults::default() }).recovers(8),
        "no single owner");
    equal_offer_accepted caught_by_checker(
        two_formed().faults(Faults { doubled: 1, crashes: 1, ..Faults::default() }), "go back");
    greeting_in_addition caught_by_checker(
        two_cold().faults(Faults { lost: 1, ..Faults::default() }), "answers one frame with 3");
    half_is_a_majority caught_by_both(
        (quorums_of_four().bounds(3, 6, 6), cut_ring(4, &[])), "have a quorum");
    held_unstored caught_by_checker(two_that_may_not_store(), "which is not stored");
    keeps_what_it_mints caught_by_simulator(
        simulated_ring(&[FaultKind::Unresponsive]), sim::Rule::Served);
    last_offer_despite_work caught_by_simulator(
        Settings {
            nodes: 3,
            time: Duration::from_secs(60),
            ..simulated_ring(&[FaultKind::Guardian, FaultKind::Work])
        },
        sim::Rule::Lease);
    last_offer_not_awaited caught_by_simulator(
        Settings {
            nodes: 3,
            time: Duration::from_secs(60),
            ..simulated_ring(&[FaultKind::Guardian, FaultKind::Work])
        },
        sim::Rule::Lease);
    lock_agreed_unasked caught_by_simulator(
        three_with_locks(FaultKind::Partition), sim::Rule::LockStored);
    lock_chain_unclaimed caught_by_schedule(
        kept!("a_holder_claims_its_lock_from_the_owner_of_a_new_chain"), sim::Rule::TwoHolders);
    lock_fence_reused caught_by_simulator(
        from_seed(180, three_with_locks(FaultKind::Crash)), sim::Rule::LockFence);
    lock_giver_unasked caught_by_simulator(
        from_seed(430, three_with_locks(FaultKind::Crash)), sim::Rule::TwoHolders);
    lock_granted_unstored caught_by_simulator(
        five_with_locks(FaultKind::Crash), sim::Rule::LockStored);
    lock_lease_doubled caught_by_simulator(
        from_seed(10, three_with_locks(FaultKind::Crash)), sim::Rule::LockRemoved);
    lock_lease_from_grant caught_by_schedule(
        include_str!("../schedules/lock_lease_from_grant.json"), sim::Rule::LockRemoved);
    lock_lower_not_awaited caught_by_steps(
        [steps::lower_locks::<Lab2>, steps::lower_locks::<ring_flaws::Lab2>], "lower lock");
    lock_order_ignored caught_by_simulator(
        five_with_locks(FaultKind::Crash), sim::Rule::LockOrder);
    lock_renewal_late caught_by_steps(
        [steps::renewals::<Lab2>, steps::renewals::<ring_flaws::Lab2>], "no renewal");
    lock_renewal_unasked caught_by_schedule(
        kept!("a_started_node_learns_the_locks_of_quorum_before_it_grants_lower_locks"),
        sim::Rule::TwoHolders);
    lock_restarted_agrees caught_by_simulator(
        from_seed(15, three_with_locks(FaultKind::Crash)), sim::Rule::TwoHolders);
    lock_restarted_releases caught_by_simulator(
        from_seed(20, three_with_locks(FaultKind::Crash)), sim::Rule::LockRemoved);
    lock_silent_removed caught_by_simulator(
        from_seed(10, three_with_locks(FaultKind::Crash)), sim::Rule::LockRemoved);
    lock_silent_unflagged caught_by_simulator(
        from_seed(65, three_with_locks(FaultKind::Crash)), sim::Rule::LockServed);
    lock_waiting_confirmed caught_by_simulator(
        five_with_locks(FaultKind::Crash), sim::Rule::LockStored);
    merge_loses_members caught_by_checker(
        Scenario::cold("three from the start", 3)
            .faults(Faults { crashes: 1, ..Faults::default() })
            .bounds(2, 4, 5)
            .recovers(1),
        "tables");
    mints_in_silence caught_by_simulator(
        simulated_ring(&[FaultKind::Unresponsive]), sim::Rule::Served);
    never_gives_up caught_by_checker(
        two_formed().faults(Faults { crashes: 1, ..Faults::default() }).recovers(8),
        "no node can use the token");
    no_clock_floor caught_by_checker(Scenario { wall: 1_000, ..two_cold() }, "below the clock");
    no_lease caught_by_checker(
        two_formed().faults(Faults { stalls: 1, ..Faults::default() }), "lease");
    no_margin caught_by_both(
        (quorums_of_three().bounds(3, 4, 9), from_seed(2_600, wrong_clocks())), "have a quorum");
    no_minting caught_by_checker(three_formed().bounds(4, 4, 8), "both hold");
    number_not_stored caught_by_checker(two_cold(), "before it is stored");
    own_patience_alone caught_by_simulator(
        from_seed(130, unequal_pair()), sim::Rule::Lease);
    own_vote_freed caught_by_both(
        (quorum_without_link(), from_seed(790, cut_ring(3, &[FaultKind::Link]))), "have a quorum");
    past_promises_forgotten caught_by_checker(
        quorums_of_three()
            .faults(Faults { crashes: 1, regroups: 1, ..Faults::default() })
            .bounds(3, 4, 12),
        "have a quorum");
    pause_change_unannounced caught_by_steps(
        [steps::pauses::<Lab2>, steps::pauses::<ring_flaws::Lab2>], "another pause");
    pause_notice_stays caught_by_steps(
        [steps::pauses::<Lab2>, steps::pauses::<ring_flaws::Lab2>], "without a notice");
    penalty_for_ever caught_by_simulator(
        simulated_ring(&[FaultKind::Leave, FaultKind::Work]), sim::Rule::Served);
    preferred_moves_on caught_by_simulator(simulated_ring(&[]), sim::Rule::Rested);
    progress_not_stored caught_by_checker(two_cold(), "before it is stored");
    promises_lost_with_the_token caught_by_checker(
        quorums_of_three().bounds(3, 4, 18), "for which it has a quorum");
    promises_twice caught_by_both(
        (quorums_of_three().bounds(3, 4, 18), cut_ring(3, &[])), "have a quorum");
    rests_after_each_work caught_by_simulator(
        simulated_ring(&[FaultKind::Oneway]), sim::Rule::Served);
    stale_offer_accepted caught_by_checker(
        two_formed().faults(Faults { stalls: 1, ..Faults::default() }), "must drop");
    stands_unannounced caught_by_checker(
        two_cold().faults(Faults { refused: 1, ..Faults::default() }), "no frame has announced");
    stronger_ignored caught_by_checker(two_formed().bounds(4, 4, 10), "against the stronger");
    survey_without_end caught_by_simulator(
        simulated_ring(&[FaultKind::Survey]), sim::Rule::SurveyEnds);
    told_unstored caught_by_checker(two_that_may_not_store(), "before it is stored");
    unfit_for_ever caught_by_simulator(
        simulated_ring(&[FaultKind::Unicast, FaultKind::Work]), sim::Rule::Served);
    unstored_all_the_same caught_by_simulator(
        simulated_ring(&[FaultKind::Disk, FaultKind::Work]), sim::Rule::Stored);
    unstored_owns caught_by_checker(two_that_may_not_store(), "stands with");
    used_while_passing caught_by_checker(two_formed(), "may both use the chain");
    wants_for_ever caught_by_checker(
        two_formed().faults(Faults { wants: 2, ..Faults::default() }).recovers(8), "endless");
    weaker_wins caught_by_checker(two_formed(), "token");
}

#[test]
fn every_patch_has_its_test() {
    let patches = patches_of("lab2");
    assert_eq!(patches, TESTED);
    let mut findings = findings!("every_patch_has_its_test");
    findings.note(format_args!("{} patches", patches.len()));
    findings.keep().expect("the findings are written");
}

fn patches_of(system: &str) -> Vec<&'static str> {
    let its = ring_flaws::FLAWS.iter().filter(|flaw| flaw.0 == system);
    its.map(|flaw| flaw.1).collect()
}
