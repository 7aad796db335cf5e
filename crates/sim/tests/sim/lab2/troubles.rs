//! For each assumption that a node can check, a test breaks the assumption. The node reports the problem, and later
//! reports its end.

use std::time::Duration;

use ring_proto::lab2::{Constants, Diagnostic, Lab2};
use ring_sim::lab2::{Fault, Faults, Schedule, Settings, World};

const MS: Duration = Duration::from_millis(1);

fn ring(nodes: usize) -> World<Lab2> {
    ring_with(nodes, Constants::default())
}

fn ring_with(nodes: usize, constants: Constants) -> World<Lab2> {
    let mut sim = World::<Lab2>::new(nodes, constants, 1);
    sim.start_all();
    sim.run(3_000 * MS);
    sim
}

/// Whether a node reports a diagnostic for which `such` returns `true`.
fn has_diagnostic(sim: &World<Lab2>, at: usize, such: fn(&Diagnostic) -> bool) -> bool {
    let machine = sim.machine(at).expect("it runs");
    machine.problems().any(|trouble| such(&trouble))
}

fn assert_all_report(
    sim: &World<Lab2>,
    nodes: impl IntoIterator<Item = usize>,
    such: fn(&Diagnostic) -> bool,
) {
    for at in nodes {
        assert!(has_diagnostic(sim, at, such), "n{at}");
    }
}

/// Applies a fault, and runs for this number of milliseconds.
fn after(sim: &mut World<Lab2>, fault: &Fault, ms: u32) {
    sim.act(fault);
    sim.run(ms * MS);
}

/// Makes node 0 request the token for some work.
fn want(sim: &mut World<Lab2>, work_us: u64) {
    sim.act(&Fault::Want {
        node: 0,
        work_us,
        quorum: false,
    });
}

fn is_quiet(sim: &World<Lab2>) -> bool {
    sim.live().all(|at| !has_diagnostic(sim, at, |_| true))
}

#[test]
fn all_members_report_a_deaf_one() {
    let mut sim = ring(4);
    assert!(is_quiet(&sim));
    let deaf = |deaf| Fault::Deaf { node: 2, deaf };
    after(&mut sim, &deaf(true), 3_000);
    assert_all_report(&sim, [0, 1, 3], |it| {
        matches!(it, Diagnostic::MemberDeaf { .. })
    });
    after(&mut sim, &deaf(false), 2_000);
    assert!(is_quiet(&sim));
}

#[test]
fn a_member_reports_an_owner_that_it_does_not_hear() {
    let mut sim = ring(4);
    want(&mut sim, 60_000_000);
    sim.run(1_000 * MS);
    after(&mut sim, &Fault::Cut { from: 0, to: 2 }, 5_000);
    let such = |it: &Diagnostic| matches!(it, Diagnostic::OwnerUnheard { .. });
    let told: Vec<_> = (0..4)
        .filter(|&at| has_diagnostic(&sim, at, such))
        .collect();
    assert_eq!((told, sim.owner()), (vec![2], Some(0)));
    after(&mut sim, &Fault::Mend { from: 0, to: 2 }, 1_000);
    assert!(is_quiet(&sim));
}

#[test]
fn answers_that_come_after_the_offer_has_ended_are_reported() {
    let mut sim = ring(3);
    let by_us = 20_000;
    let jitter_us = 0;
    after(&mut sim, &Fault::Delay { by_us, jitter_us }, 2_000);
    let such = |it: &Diagnostic| matches!(it, Diagnostic::AnswerLate { .. });
    assert!(sim.live().any(|at| has_diagnostic(&sim, at, such)));
}

/// The node acknowledges the token so late that the givers may already have re-created it.
#[test]
fn a_member_that_acknowledges_the_token_too_late_reports_itself() {
    let mut sim = ring(3);
    let slow = |turn_us| Fault::Slow { node: 1, turn_us };
    let such = |it: &Diagnostic| matches!(it, Diagnostic::TakenLate { .. });
    after(&mut sim, &slow(2_000), 2_000);
    assert!(is_quiet(&sim), "slow, and in time");
    after(&mut sim, &slow(8_000), 2_000);
    assert!(has_diagnostic(&sim, 1, such));
    assert!(![0, 2].iter().any(|&at| has_diagnostic(&sim, at, such)));
}

/// The parts of the tables are too long for the network.
#[test]
fn tables_that_cannot_become_equal_are_reported() {
    let mut sim = ring(4);
    sim.kill(3);
    let (first, count, spoke) = (0, 100, false);
    let dead = Fault::Dead {
        first,
        count,
        spoke,
    };
    after(&mut sim, &dead, 2_000);
    sim.act(&Fault::Narrow { mtu: 300 });
    sim.start(3);
    sim.run(30_000 * MS);
    assert!(has_diagnostic(&sim, 3, |it| matches!(
        it,
        Diagnostic::TablesDiffer { .. }
    )));
    after(&mut sim, &Fault::Narrow { mtu: 1_500 }, 5_000);
    // The dead stations are still members.
    let mends = |it: &Diagnostic| !matches!(it, Diagnostic::NoQuorum { .. });
    assert!(!sim.live().any(|at| has_diagnostic(&sim, at, mends)));
    assert!(sim.common_digest().is_some());
}

#[test]
fn a_node_that_cannot_send_reports_itself() {
    let mut sim = ring(4);
    let refuse = |of_1000| Fault::Refuse { node: 2, of_1000 };
    let such = |it: &Diagnostic| matches!(it, Diagnostic::CannotSend);
    after(&mut sim, &refuse(500), 2_000);
    assert!(!has_diagnostic(&sim, 2, such), "some frames leave");
    after(&mut sim, &refuse(1_000), 2_000);
    assert!(has_diagnostic(&sim, 2, such));
    after(&mut sim, &refuse(0), 2_000);
    // The node remembers diagnostics of a single moment.
    let lasts = |it: &Diagnostic| !matches!(it, Diagnostic::TakenLate { .. });
    assert!(sim.live().all(|at| !has_diagnostic(&sim, at, lasts)));
}

#[test]
fn a_node_without_broadcasts_reports_itself_and_the_others_report_it() {
    let mut sim = ring(4);
    let lose = |lost| Fault::Broadcast { node: 2, lost };
    sim.act(&lose(true));
    // The node's own tenures do not count. In this time, each member broadcasts something.
    sim.run(16_000 * MS);
    assert!(has_diagnostic(&sim, 2, |it| matches!(
        it,
        Diagnostic::BroadcastsUnheard
    )));
    assert_all_report(&sim, [0, 1, 3], |it| {
        matches!(it, Diagnostic::MemberUnreached { .. })
    });
    after(&mut sim, &lose(false), 2_000);
    assert!(is_quiet(&sim));
}

#[test]
fn all_members_report_one_whose_times_are_far_from_the_rings() {
    for percent in [1, 10_000] {
        let mut sim = ring(4);
        let (node, expect) = (2, None);
        let start = |percent| Fault::Constants {
            node,
            percent,
            expect,
        };
        after(&mut sim, &start(percent), 3_000);
        assert_all_report(&sim, 0..4, |it| matches!(it, Diagnostic::Apart { .. }));
        after(&mut sim, &start(100), 2_000);
        assert!(is_quiet(&sim));
    }
}

#[test]
fn a_ring_without_a_possible_quorum_reports_it() {
    let constants = Constants {
        expect: Some(4),
        ..Constants::default()
    };
    let mut sim = ring_with(4, constants);
    assert!(is_quiet(&sim));
    sim.kill(2);
    sim.kill(3);
    sim.run(15_000 * MS);
    assert_all_report(
        &sim,
        [0, 1],
        |it| matches!(it, Diagnostic::NoQuorum { present: 2, silent, .. } if silent.count() == 2),
    );
    sim.start(3);
    sim.run(2_000 * MS);
    let such = |it: &Diagnostic| matches!(it, Diagnostic::NoQuorum { .. });
    assert!(!sim.live().any(|at| has_diagnostic(&sim, at, such)));
}

#[test]
fn all_members_report_an_interface_that_no_promise_fits() {
    let mut sim = ring(4);
    let set = |mtu| Fault::Mtu { node: 2, mtu };
    after(&mut sim, &set(68), 3_000);
    assert_all_report(&sim, 0..4, |it| {
        matches!(it, Diagnostic::MtuTooSmall { .. })
    });
    after(&mut sim, &set(1_500), 3_000);
    assert!(is_quiet(&sim));
}

/// The node receives an answer from time to time. Even if the node is late, it must not stand for election while an
/// owner exists.
#[test]
fn a_node_without_broadcasts_destroys_no_token() {
    let constants = Constants {
        idle_hold: ring_proto::lab2::FOREVER,
        ..Constants::default()
    };
    let mut sim = ring_with(4, constants);
    let owner = sim.owner().expect("there is one");
    let node = (owner + 2) % 4;
    let before = sim.stats().counters.elections;
    let lost = true;
    sim.act(&Fault::Broadcast { node, lost });
    for _ in 0..40 {
        // Each stall makes the node late by more than a heartbeat.
        after(&mut sim, &Fault::Pause { node }, 230);
        after(&mut sim, &Fault::Resume { node }, 370);
    }
    assert_eq!(sim.stats().counters.elections, before);
    assert_eq!((sim.owner(), sim.violations()), (Some(owner), &[][..]));
}

/// Both nodes have the same address, so each node takes the other node's frames for its own frames. The other members
/// report both nodes with their IPs.
#[test]
fn all_members_report_an_address_of_two_stations() {
    let mut sim = ring(4);
    after(&mut sim, &Fault::Twin { node: 3, of: 2 }, 3_000);
    assert_all_report(&sim, 0..4, |it| {
        matches!(it, Diagnostic::AddressShared { .. })
    });
}

#[test]
fn a_wrong_clock_is_reported_at_its_node_and_where_its_token_arrives() {
    let mut sim = ring(3);
    let owner = sim.owner().expect("a ring has one");
    let others: Vec<usize> = (0..3).filter(|&at| at != owner).collect();
    let [wrong, right] = others[..] else {
        unreachable!("three nodes, one of them the owner")
    };
    let by_us = 90 * 24 * 60 * 60 * 1_000_000;
    sim.act(&Fault::Wall { node: wrong, by_us });
    // No other node can be the next owner.
    sim.kill(owner);
    sim.kill(right);
    sim.run(3_000 * MS);
    assert_eq!(sim.owner(), Some(wrong));
    let such = |it: &Diagnostic| matches!(it, Diagnostic::ClockAhead { .. });
    assert!(has_diagnostic(&sim, wrong, such));
    sim.start(right);
    sim.run(2_000 * MS);
    let such = |it: &Diagnostic| matches!(it, Diagnostic::TokenAhead { .. });
    assert!(has_diagnostic(&sim, right, such) && !has_diagnostic(&sim, wrong, such));
}

#[test]
fn dropped_data_are_reported() {
    let mut sim = ring(3);
    sim.act(&Fault::Data {
        node: 0,
        len: 1_000,
    });
    want(&mut sim, 1_000);
    sim.run(1_000 * MS);
    after(&mut sim, &Fault::Mtu { node: 2, mtu: 576 }, 2_000);
    let such = |it: &Diagnostic| matches!(it, Diagnostic::DataDropped { .. });
    assert!(sim.live().any(|at| has_diagnostic(&sim, at, such)));
}

#[test]
fn a_node_learns_from_the_others_that_they_do_not_hear_it() {
    let mut sim = ring(4);
    let others = [0, 1, 3];
    for to in others {
        sim.act(&Fault::Cut { from: 2, to });
    }
    sim.run(20_000 * MS);
    let by_all = |it: &Diagnostic| matches!(it, Diagnostic::NotHeardBy { by } if by.count() == 3);
    let by_any = |it: &Diagnostic| matches!(it, Diagnostic::NotHeardBy { .. });
    assert!(has_diagnostic(&sim, 2, by_all));
    assert!(!others.iter().any(|&at| has_diagnostic(&sim, at, by_any)));
    for to in others {
        sim.act(&Fault::Mend { from: 2, to });
    }
    sim.run(5_000 * MS);
    assert!(is_quiet(&sim));
}

/// The preferred member answers heartbeats in time, but receives each offer after TAKE_TIMEOUT.
#[test]
fn an_owner_reports_a_preferred_member_that_does_not_take_the_token() {
    let mut schedule = Schedule::of(&Settings {
        seed: 1,
        nodes: 3,
        time: 1_000 * MS,
        faults: Faults::default(),
        idle_hold: Some(ring_proto::lab2::FOREVER),
    });
    schedule.preferences = vec![0, 200, 0];
    let mut sim = World::<Lab2>::of(&schedule);
    sim.start_all();
    sim.run(20_000 * MS);
    assert_eq!(sim.owner(), Some(1));
    after(
        &mut sim,
        &Fault::Crash {
            node: 1,
            guardian_us: None,
            ended_us: None,
        },
        2_000,
    );
    let slow = |turn_us| Fault::Slow { node: 1, turn_us };
    sim.act(&slow(100_000));
    after(&mut sim, &Fault::Start { node: 1 }, 60_000);
    let owner = sim.owner().expect("an owner");
    let such = |it: &Diagnostic| matches!(it, Diagnostic::PreferredRefuses { .. });
    assert!(owner != 1 && has_diagnostic(&sim, owner, such));
    after(&mut sim, &slow(0), 120_000);
    assert_eq!(sim.owner(), Some(1));
    assert!(is_quiet(&sim));
}

/// This `match` makes the build fail if a new diagnostic has no test.
const fn test_of(trouble: &Diagnostic) -> &'static str {
    match trouble {
        Diagnostic::MemberDeaf { .. } => "all_members_report_a_deaf_one",
        Diagnostic::AnswerLate { .. } => "answers_that_come_after_the_offer_has_ended_are_reported",
        Diagnostic::OwnerUnheard { .. } => "a_member_reports_an_owner_that_it_does_not_hear",
        Diagnostic::TablesDiffer { .. } => "tables_that_cannot_become_equal_are_reported",
        Diagnostic::CannotSend => "a_node_that_cannot_send_reports_itself",
        Diagnostic::AddressShared { .. } => "all_members_report_an_address_of_two_stations",
        Diagnostic::TokenAhead { .. } | Diagnostic::ClockAhead { .. } => {
            "a_wrong_clock_is_reported_at_its_node_and_where_its_token_arrives"
        }
        Diagnostic::DataDropped { .. } => "dropped_data_are_reported",
        Diagnostic::BroadcastsUnheard | Diagnostic::MemberUnreached { .. } => {
            "a_node_without_broadcasts_reports_itself_and_the_others_report_it"
        }
        Diagnostic::MtuTooSmall { .. } => "all_members_report_an_interface_that_no_promise_fits",
        Diagnostic::TakenLate { .. } => {
            "a_member_that_acknowledges_the_token_too_late_reports_itself"
        }
        Diagnostic::Apart { .. } => "all_members_report_one_whose_times_are_far_from_the_rings",
        Diagnostic::NoQuorum { .. } => "a_ring_without_a_possible_quorum_reports_it",
        Diagnostic::PreferredRefuses { .. } => {
            "an_owner_reports_a_preferred_member_that_does_not_take_the_token"
        }
        Diagnostic::NotHeardBy { .. } => "a_node_learns_from_the_others_that_they_do_not_hear_it",
    }
}

#[test]
fn each_diagnostic_has_a_test_in_this_file() {
    let file = include_str!("troubles.rs");
    let (tests, list) = file.split_once("const fn test_of").expect("the list");
    let (list, _) = list.split_once("#[test]").expect("its end");
    assert!(list.contains(test_of(&Diagnostic::CannotSend)));
    for name in list.split('"').skip(1).step_by(2) {
        let declared = format!("#[test]\nfn {name}()");
        assert!(tests.contains(&declared), "{name} is gone");
    }
}
