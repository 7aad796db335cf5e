//! Elections, warm and cold take-over, and configuration numbers (E1 to E24).

use std::time::Duration;

use super::rig::*;
use crate::ftn::server::OptionsError;

#[test]
fn options_that_cannot_work_are_refused() {
    let check = |options: Options, n| options.check(n);
    assert_eq!(check(options(), 1), Ok(()));
    let mut short = options();
    short.server_timeout = 3 * HB - MS;
    assert!(matches!(
        check(short, 1),
        Err(OptionsError::ServerTimeout { .. })
    ));
    for (q, n) in [(0, 1), (2, 1), (4, 3)] {
        assert_eq!(
            check(quorum(q), n),
            Err(OptionsError::Quorum {
                quorum: q,
                servers: n
            })
        );
    }
    let index = Server::new(options(), servers(2), 2, Durable::default(), 0);
    assert!(matches!(
        index,
        Err(OptionsError::Index {
            index: 2,
            servers: 2
        })
    ));
}

#[test]
fn the_only_server_leads_after_one_heartbeat() {
    let mut rig = Rig::start(1, 0, options(), Durable::default());
    rig.pass(HB - MS);
    assert_eq!(rig.role(), RoleKind::Electing);
    rig.pass(MS);
    assert_eq!((rig.role(), rig.states().as_str()), (RoleKind::Leader, "R"));
}

#[test]
fn elect_goes_to_all_others_every_quarter_of_a_heartbeat() {
    let mut rig = Rig::start(3, 0, options(), Durable::default());
    let said = rig.pass(HB);
    let expected = ["ELECT 0.0 for -1 to s1", "ELECT 0.0 for -1 to s2"];
    assert_eq!(said, [expected; 4].concat());
}

#[test]
fn a_server_that_hears_no_other_leads_after_st() {
    let mut rig = Rig::start(3, 1, options(), Durable::default());
    rig.pass(ST - MS);
    assert_eq!(rig.role(), RoleKind::Electing);
    rig.pass(MS);
    assert_eq!(rig.role(), RoleKind::Leader);
    assert_eq!(rig.states(), "DRD");
}

#[test]
fn a_first_start_is_quick_if_all_others_are_electing() {
    for (vote, role) in [
        (-1, RoleKind::Leader),
        (0, RoleKind::Leader),
        (2, RoleKind::Electing),
    ] {
        let mut rig = Rig::start(3, 0, options(), Durable::default());
        rig.pass(HB - MS);
        rig.elect(1, 0, -1);
        rig.elect(2, 0, vote);
        rig.pass(MS);
        assert_eq!(rig.role(), role, "{vote}");
    }
    // The start is not quick if one of the servers is silent.
    let mut rig = Rig::start(3, 0, options(), Durable::default());
    rig.pass(HB - MS);
    rig.elect(1, 0, -1);
    rig.pass(MS);
    assert_eq!(rig.role(), RoleKind::Electing);
}

#[test]
fn the_vote_goes_to_the_largest_seq_and_among_equals_to_the_lowest_index() {
    for (elects, vote) in [
        ([(0, 0), (2, 0)], 0),
        ([(0, 0), (2, seq(5, 1))], 2),
        ([(0, seq(5, 1)), (2, seq(5, 1))], 0),
    ] {
        let mut rig = Rig::start(3, 1, options(), Durable::default());
        rig.pass(ST - MS);
        for (from, seq) in elects {
            rig.elect(from, seq, -1);
        }
        let said = rig.pass(MS);
        let expected = [0, 2].map(|to| format!("ELECT 0.0 for {vote} to s{to}"));
        assert_eq!(said, expected);
        assert_eq!(rig.role(), RoleKind::Electing);
    }
}

/// A vote lasts 2 HB, and then the server votes -1 for HB. If all servers agree on the candidate, the same vote starts
/// again without a pause. If such servers also paused, servers that started at different times would pause in turns,
/// and never elect a leader.
#[test]
fn a_vote_without_success_pauses_for_a_heartbeat_unless_all_agree() {
    let rests = [vec![true; 8], vec![false; 4], vec![true; 2]].concat();
    for (others, expected) in [(2, rests), (0, vec![true; 14]), (-1, vec![true; 14])] {
        let mut rig = Rig::start(3, 1, options(), Durable::default());
        rig.pass(ST - MS);
        let mut votes = Vec::new();
        for _ in 0..14 {
            rig.elect(0, 0, -1);
            rig.elect(2, 0, others);
            let said = rig.pass(HB / 4);
            votes.extend(said.into_iter().filter(|said| said.ends_with("to s0")));
        }
        let votes: Vec<bool> = votes.iter().map(|v| v.ends_with("for 0 to s0")).collect();
        assert_eq!(votes, expected, "{others}");
    }
}

#[test]
fn a_vote_for_a_silent_server_ends() {
    let mut rig = Rig::start(3, 1, options(), Durable::default());
    rig.pass(ST - MS);
    rig.elect(0, 0, 0);
    let said = rig.pass(3 * HB);
    assert_eq!(
        said.last().map(String::as_str),
        Some("ELECT 0.0 for -1 to s2")
    );
}

#[test]
fn a_deaf_server_stays_electing_and_serves_nothing() {
    let mut rig = Rig::follower(1);
    let name = name_of(1, &[R; 3], 0);
    for _ in 0..60 {
        rig.pass(HB / 4);
        // s2 still hears the leader.
        rig.elect(2, seq(9, 1), 0);
    }
    assert_eq!(rig.role(), RoleKind::Electing);
    assert_eq!(rig.request(1, 1, &name, X), NONE);
    // When s2 no longer names another leader, this server leads.
    rig.pass(4 * HB);
    assert_eq!(rig.role(), RoleKind::Leader);
}

#[test]
fn a_leader_needs_the_votes_of_a_quorum() {
    let mut rig = Rig::start(3, 0, quorum(2), Durable::default());
    rig.pass(ST + HB);
    assert_eq!(rig.role(), RoleKind::Electing);
    rig.elect(2, 0, 0);
    rig.pass(HB);
    assert_eq!(rig.role(), RoleKind::Leader);
}

/// A server sends no HEARTBEAT and does not vote directly after its start. Just before its restart, the server may have
/// acknowledged the STATE of a leader.
#[test]
fn with_a_quorum_a_server_that_has_just_started_is_silent_for_st() {
    let mut rig = Rig::start(3, 1, quorum(2), Durable::default());
    rig.elect(0, 0, -1);
    rig.elect(2, 0, -1);
    let mut said = rig.pass(HB);
    rig.elect(0, 0, 0);
    said.extend(rig.pass(HB / 4));
    assert!(said.iter().all(|line| line.contains("for -1")), "{said:?}");
    assert_eq!(rig.state(3, 1, &[R, D, D], 0), NONE);
    assert_eq!(rig.pass(ST - 5 * HB / 4 - MS), NONE);
    assert_eq!(rig.state(3, 2, &[R, D, D], 0), NONE);
    rig.pass(MS);
    assert_eq!(rig.state(3, 3, &[R, D, D], 0), ["HEARTBEAT 3.3 B to s0"]);
}

#[test]
fn elect_is_answered_by_the_leader_with_state_and_by_a_follower_with_elect() {
    let mut rig = Rig::leader(2);
    assert_eq!(rig.elect(1, 0, -1), ["STATE 4.1 RD [] to s1"]);
    let mut rig = Rig::follower(0);
    rig.pass(HB);
    assert_eq!(rig.elect(2, 0, -1), ["ELECT 9.1 for 0 to s2"]);
}

#[test]
fn followers_do_not_answer_each_other_without_end() {
    let mut rig = Rig::follower(0);
    rig.pass(HB);
    assert_eq!(rig.elect(2, seq(9, 1), 0), NONE);
    assert_eq!(rig.elect(2, seq(9, 1), 2).len(), 1);
    assert_eq!(rig.elect(2, seq(9, 1), 2), NONE);
}

#[test]
fn a_new_leader_exceeds_every_number_in_its_file_and_in_messages() {
    let mut rig = Rig::start(2, 0, options(), Durable { configuration: 17 });
    rig.pass(ST);
    assert_eq!(rig.durable, Durable { configuration: 20 });
    assert_eq!(rig.snapshot().configuration, 20);
    let mut rig = Rig::start(2, 0, options(), Durable::default());
    rig.elect(1, seq(41, 3), 1);
    assert_eq!(rig.durable, Durable { configuration: 41 });
    rig.pass(ST + 2 * HB);
    assert_eq!(rig.snapshot().configuration, 44);
}

/// A new leader is in doubt if it knows a number above the number of its view. A new leader is also in doubt if its
/// view is not proven.
#[test]
fn a_new_leader_is_in_doubt_if_a_majority_may_have_changed_the_states() {
    let unproven = 1 << 30;
    let (sure, doubts) = ("DRR", "DBB");
    for (needed, round, seen, states) in [
        (2, 2, 9, sure),
        (2, 2, 18, doubts),
        (2, unproven + 2, 9, doubts),
        (1, 2, 18, sure),
    ] {
        let mut rig = Rig::follower_with(
            1,
            Options {
                quorum: needed,
                ..Options::default()
            },
        );
        rig.state(9, round, &[R; 3], 1);
        rig.elect(0, seq(seen, 0), 0);
        for _ in 0..40 {
            if rig.role() == RoleKind::Leader {
                break;
            }
            rig.pass(HB / 4);
            rig.elect(2, 0, 1);
        }
        assert_eq!((rig.role(), &*rig.states()), (RoleKind::Leader, states));
        // A leader in doubt may lack sessions, so it has a grace.
        assert_eq!(rig.snapshot().grace.is_zero(), states == sure);
    }
}

/// If no number is known, state files may be lost. The leader then uses c ≥ n · ((Unix time - 1767225600) / 16) plus 30
/// days.
#[test]
fn the_numbers_of_a_cold_leader_grow_with_the_wall_clock() {
    let mut rig = Rig::start(3, 1, options(), Durable::default());
    rig.now.wall = (1_767_225_600 + 16 * 1000) * 1_000_000_000;
    rig.pass(ST);
    let first = rig.events.iter().find_map(|event| match event {
        Event::TookOver { configuration, .. } => Some(*configuration),
        _ => None,
    });
    assert_eq!(first, Some(3 * 163_000 + 1));
}

#[test]
fn a_warm_leader_keeps_sessions_and_states_and_marks_the_old_leader_down() {
    let mut rig = Rig::follower(2);
    rig.pass(ST + 2 * HB);
    assert_eq!(
        (rig.role(), rig.states().as_str()),
        (RoleKind::Leader, "DRR")
    );
    assert_eq!(rig.snapshot().sessions.len(), 2);
    assert_eq!(rig.snapshot().configuration, 10);
    assert_eq!(rig.snapshot().grace, Duration::ZERO);
    let warm = rig
        .events
        .iter()
        .any(|e| matches!(e, Event::TookOver { warm: true, .. }));
    assert!(warm);
}

#[test]
fn a_warm_leader_gives_each_session_ct_and_each_server_st() {
    let mut rig = Rig::follower(1);
    rig.pass(ST + HB);
    assert_eq!(rig.role(), RoleKind::Leader);
    rig.pass(ST - MS);
    assert_eq!(rig.states(), "DRR");
    rig.pass(MS);
    assert_eq!(rig.states(), "DRD");
    rig.pass(CT - ST - MS);
    assert_eq!(rig.snapshot().sessions.len(), 1);
    rig.pass(MS);
    assert_eq!(rig.snapshot().sessions.len(), 0);
}

#[test]
fn after_3_st_without_state_a_server_is_cold() {
    let mut rig = Rig::follower(1);
    let mut last = Vec::new();
    while rig.snapshot().role != RoleKind::Leader {
        // s2 names another leader for a long time.
        if rig.now.monotonic.as_nanos() < 30_000_000_000 {
            rig.elect(2, seq(9, 1), 0);
        }
        last.extend(only(&rig.pass(HB / 4), "ELECT"));
    }
    assert!(last.iter().any(|line| line.starts_with("ELECT 9.1")));
    assert!(last.last().unwrap().starts_with("ELECT 0.0"));
    assert!(
        rig.events
            .iter()
            .any(|e| matches!(e, Event::TookOver { warm: false, .. }))
    );
    assert_eq!(rig.states(), "DRD");
    assert_eq!(rig.snapshot().sessions.len(), 0);
}

#[test]
fn a_follower_that_shuts_down_sends_down_and_then_nothing() {
    let mut rig = Rig::follower(1);
    assert_eq!(rig.command(Command::ShutDown), ["HEARTBEAT 9.1 D to s0"]);
    assert_eq!(rig.state(9, 2, &[R; 3], 1), NONE);
    assert_eq!(rig.pass(2 * CT), NONE);
}

#[test]
fn a_server_that_cannot_store_the_number_sends_nothing_until_it_can() {
    let mut rig = Rig::start(2, 0, options(), Durable::default());
    rig.disk_full = true;
    assert!(only(&rig.pass(ST + 2 * HB), "STATE").is_empty());
    assert_eq!(rig.durable, Durable::default());
    rig.disk_full = false;
    assert!(!only(&rig.pass(2 * HB), "STATE").is_empty());
    assert_eq!(rig.durable.configuration, rig.snapshot().configuration);
}
