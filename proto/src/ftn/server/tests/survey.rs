//! Surveys, and the results of their claims (V1 to V16).

use ring_codec::ftn::Message;

use super::rig::*;
use crate::ftn::catalog::HoldKind::{
    Exclusive, ReturningExclusive, ReturningShared, Shared, Updated,
};

/// Returns server 1 of 3, in configuration 12. Server 2 has become DOWN.
fn surveying(clients: u16) -> (Rig, String) {
    let mut rig = Rig::follower(clients);
    rig.state(12, 1, &[R, R, D], clients);
    (rig, inherited_name(0))
}

#[test]
fn a_survey_asks_every_session_repeatedly_until_it_has_answered() {
    let mut rig = Rig::follower(2);
    let said = rig.state(12, 1, &[R, R, D], 2);
    assert_eq!(
        said,
        [
            "CONFIG 12 RRD to k1",
            "CONFIG 12 RRD to k2",
            "HEARTBEAT 12.1 R to s0"
        ]
    );
    rig.catalog(1, 12, (0, 1), 0, &[]);
    let mut times = Vec::new();
    for ms in 1..=1600 {
        if ms % 500 == 0 {
            rig.state(12, 1 + ms / 500, &[R, R, D], 2);
        }
        let said = only(&rig.pass(MS), "CONFIG");
        assert!(said.iter().all(|line| line.ends_with("k2")));
        times.extend(said.iter().map(|_| ms));
    }
    assert_eq!(times, [100, 300, 700, 1500]);
    assert_eq!(rig.snapshot().survey, Some(vec![rig.id(2)]));
    rig.catalog(2, 12, (0, 1), 0, &[]);
    assert_eq!(rig.snapshot().survey, None);
    assert!(
        rig.events
            .contains(&Event::SurveyEnded { configuration: 12 })
    );
}

#[test]
fn a_survey_does_not_wait_for_sessions_that_are_no_longer_listed() {
    let (mut rig, _) = surveying(2);
    rig.catalog(1, 12, (0, 1), 0, &[]);
    rig.state_of(12, 2, &[R, R, D], [1]);
    assert_eq!(rig.snapshot().survey, None);
}

#[test]
fn during_a_survey_only_known_tokens_are_served() {
    let (mut rig, inherited) = surveying(1);
    let own = name_of(1, &[R; 3], 0);
    assert_eq!(rig.request(1, 1, &own, X).len(), 1);
    assert_eq!(rig.request(1, 1, &inherited, X), NONE);
    assert_eq!(rig.deassign(1, 2, &inherited), NONE);
    rig.catalog(1, 12, (0, 1), 3, &[]);
    assert_eq!(rig.request(1, 3, &inherited, X).len(), 1);
}

/// After every WINDOW parts, the server sends its question to the session again at once.
#[test]
fn an_answer_in_parts_counts_when_all_parts_have_arrived() {
    let (mut rig, inherited) = surveying(1);
    for part in 0..39 {
        let said = rig.catalog(1, 12, (part, 40), 0, &[]);
        let asks = (part + 1).is_multiple_of(16);
        assert_eq!(said.len(), usize::from(asks), "{part}");
        assert_eq!(rig.catalog(1, 12, (part, 40), 0, &[]), NONE, "a duplicate");
    }
    assert!(rig.snapshot().survey.is_some());
    rig.catalog(1, 12, (39, 40), 0, &[(&inherited, Exclusive, "d")]);
    assert_eq!(rig.snapshot().survey, None);
    assert_eq!(rig.snapshot().held, 1);
}

#[test]
fn a_catalog_for_another_configuration_or_without_a_survey_is_late() {
    let mut rig = Rig::follower(1);
    rig.catalog(1, 9, (0, 1), 0, &[]);
    assert_eq!(rig.drop_count(DropReason::Late), 1);
    rig.state(12, 1, &[R, R, D], 1);
    rig.catalog(1, 9, (0, 1), 0, &[]);
    rig.catalog(1, 6, (0, 1), 0, &[]);
    assert_eq!(rig.drop_count(DropReason::Late), 3);
    assert!(rig.snapshot().survey.is_some());
    rig.catalog(1, 12, (0, 1), 0, &[]);
    rig.catalog(1, 12, (0, 1), 0, &[(&inherited_name(0), Exclusive, "")]);
    assert_eq!(rig.drop_count(DropReason::Late), 4);
    assert_eq!(rig.snapshot().held, 0);
}

#[test]
fn a_newer_configuration_starts_the_survey_again() {
    let (mut rig, inherited) = surveying(2);
    rig.catalog(1, 12, (0, 1), 0, &[(&inherited, Exclusive, "d")]);
    let said = rig.state(15, 1, &[R, R, D], 2);
    assert_eq!(only(&said, "CONFIG").len(), 2);
    assert!(
        rig.events
            .contains(&Event::SurveyAborted { configuration: 12 })
    );
    rig.catalog(1, 15, (0, 1), 0, &[]);
    rig.catalog(2, 15, (0, 1), 0, &[]);
    assert_eq!((rig.snapshot().held, rig.snapshot().tokens), (0, 0));
}

/// All servers that are DOWN in the new configuration were already DOWN when this server knew all its tokens. So this
/// server has no new tokens.
#[test]
fn a_configuration_without_new_tokens_ends_the_survey() {
    let (mut rig, _) = surveying(1);
    rig.state(15, 1, &[R, R, B], 1);
    assert_eq!(rig.snapshot().survey, None);
}

#[test]
fn a_follower_ends_a_survey_only_with_a_recent_state() {
    let (mut rig, _) = surveying(1);
    rig.pass(ST * 3 / 4);
    rig.catalog(1, 12, (0, 1), 0, &[]);
    assert!(rig.snapshot().survey.is_some());
    rig.state(12, 2, &[R, R, D], 1);
    assert!(rig.snapshot().survey.is_none());
}

/// If a session begins during a survey, it may be an adopted session. A session that the leader adopted may hold
/// tokens.
#[test]
fn a_session_that_begins_during_a_survey_is_asked_too() {
    let (mut rig, _) = surveying(1);
    let said = rig.state(12, 2, &[R, R, D], 2);
    assert_eq!(only(&said, "CONFIG"), ["CONFIG 12 RRD to k2"]);
    rig.catalog(1, 12, (0, 1), 0, &[]);
    assert_eq!(rig.snapshot().survey, Some(vec![rig.id(2)]));
}

#[test]
fn claims_determine_the_holders() {
    let (mut rig, _) = surveying(3);
    let names: Vec<String> = (0..5).map(inherited_name).collect();
    let claims = |k: usize| {
        let all = [
            vec![
                (0, Exclusive),
                (1, Shared),
                (2, ReturningExclusive),
                (3, ReturningShared),
            ],
            vec![
                (0, ReturningExclusive),
                (1, Updated),
                (3, ReturningShared),
                (4, Exclusive),
            ],
            vec![(1, ReturningShared), (4, Exclusive)],
        ];
        all[k].clone()
    };
    for k in 0..3_u16 {
        let claims = claims(k.into());
        let data = format!("d{k}");
        let holdings: Vec<(&str, _, &str)> = claims
            .iter()
            .map(|(name, holding)| (names[*name].as_str(), *holding, data.as_str()))
            .collect();
        rig.catalog(k + 1, 12, (0, 1), 100, &holdings);
    }
    let listing = rig.list(1, 200, b"").concat();
    let access = |nth: usize| {
        let entry = listing.split_once(&crate::ftn::catalog::hex_digits(names[nth].as_bytes()));
        let entry = entry
            .unwrap()
            .1
            .split_once("\"bytes\"")
            .unwrap()
            .0
            .to_owned();
        let ids = entry
            .split_once('[')
            .unwrap()
            .1
            .split_once(']')
            .unwrap()
            .0
            .to_owned();
        let holders: Vec<u16> = (1..=3)
            .filter(|&k| ids.contains(&rig.id(k).to_string()))
            .collect();
        (entry.contains("\"access\":-1"), holders)
    };
    assert_eq!(access(0), (true, vec![1]), "x; rx is dropped");
    assert_eq!(access(1), (false, vec![1, 2, 3]), "s, u and rs");
    assert_eq!(access(2), (true, vec![1]), "only rx");
    assert_eq!(access(3), (false, vec![1, 2]), "only rs");
    assert_eq!(access(4), (false, vec![2, 3]), "two x are a conflict");
    let counters = rig.server.counters();
    assert_eq!((counters.reclaimed, counters.conflicts), (5, 1));
    assert!(rig.events.contains(&Event::TookOverTokens {
        server: Some(2),
        held: 5
    }));
}

/// The kinds of hold are x, rx, u, rs and s, from the best source of data to the worst source. Among sessions with the
/// same kind of hold, the session with the lowest id is the best source. The server counts tokens with different data
/// from different clients.
#[test]
fn without_a_transfer_the_best_claim_has_the_data() {
    let (mut rig, inherited) = surveying(4);
    let claims = [
        (Shared, "s"),
        (Updated, "u2"),
        (Updated, "u3"),
        (ReturningShared, "rs"),
    ];
    // The order of arrival does not matter.
    for k in [3_u16, 1, 4, 2] {
        let (holding, data) = claims[usize::from(k) - 1];
        rig.catalog(k, 12, (0, 1), 10, &[(&inherited, holding, data)]);
    }
    let said = rig.request(1, 10, &inherited, S);
    assert_eq!(said, [format!("GRANT 10 {inherited}=u2 to k1")]);
    assert_eq!(rig.server.counters().conflicting_data, 1);
}

/// The msgnum of the RETURN for a claimed token is above the FLOOR.
#[test]
fn messages_below_the_floor_are_late() {
    let (mut rig, inherited) = surveying(1);
    rig.catalog(1, 12, (0, 1), 10, &[(&inherited, Exclusive, "d")]);
    assert_eq!(rig.request(1, 9, &inherited, X), NONE);
    assert_eq!(rig.deassign(1, 9, &inherited), NONE);
    assert_eq!(rig.drop_count(DropReason::Late), 2);
    assert_eq!(rig.update(1, 10, &inherited, "e"), ["CONFIRM 10 to k1"]);
    assert_eq!(rig.deassign(1, 11, &inherited), ["CONFIRM 11 to k1"]);
    assert_eq!(rig.snapshot().held, 0);
}

#[test]
fn a_catalog_without_markers_is_a_complete_answer_of_unknown_kind() {
    let (mut rig, inherited) = surveying(1);
    let entries = [token(&inherited, "d")];
    let holdings = entries[..].into();
    rig.send(1, Message::Catalog { holdings });
    assert_eq!(rig.snapshot().survey, None);
    let said = rig.request(1, 5, &inherited, X);
    assert_eq!(said, [format!("GRANT 5 {inherited}=d to k1")]);
}

#[test]
fn a_catalog_with_a_broken_marker_is_dropped() {
    let (mut rig, _) = surveying(1);
    for marker in ["", "x", "12 1 1 0"] {
        let entries = [token("", marker)];
        let holdings = entries[..].into();
        rig.send(1, Message::Catalog { holdings });
    }
    assert_eq!(rig.drop_count(DropReason::Malformed), 3);
    assert!(rig.snapshot().survey.is_some());
}

#[test]
fn claims_of_tokens_that_the_server_knows_change_nothing() {
    let mut rig = Rig::follower(2);
    let own = name_of(1, &[R; 3], 0);
    rig.request(1, 1, &own, X);
    rig.state(12, 1, &[R, R, D], 2);
    rig.catalog(1, 12, (0, 1), 10, &[]);
    rig.catalog(2, 12, (0, 1), 10, &[(&own, Exclusive, "mine")]);
    assert_eq!(rig.request(2, 10, &own, X), [format!("REVOKE {own} to k1")]);
}

/// The client keeps its held token, even if this server has no memory for the token.
#[test]
fn held_tokens_are_taken_over_even_if_memory_is_full() {
    let options = Options {
        max_memory: 0,
        ..options()
    };
    let mut rig = Rig::start(3, 1, options, Durable::default());
    rig.state(3, 1, &[R, D, R], 1);
    rig.state(6, 1, &[R, B, R], 1);
    let [held, free] = [0, 1].map(|nth| name_of(1, &[R; 3], nth));
    rig.transfer(0, 6, (0, 1), &[(&free, "f")]);
    rig.transfer(2, 6, (0, 1), &[]);
    rig.catalog(1, 6, (0, 1), 10, &[(&held, Exclusive, "h")]);
    let snapshot = rig.snapshot();
    assert_eq!((snapshot.state, snapshot.tokens, snapshot.held), (R, 1, 1));
}

/// Number of the first round of a leader whose configuration is not proven.
const UNPROVEN: u32 = 1 << 30;

/// The number of the round shows a follower that a quorum knows the configuration.
#[test]
fn a_survey_waits_for_a_round_that_says_that_the_configuration_is_proven() {
    let mut rig = Rig::start(3, 1, quorum(2), Durable::default());
    rig.state(3, UNPROVEN + 1, &[R, D, R], 0);
    rig.state(6, UNPROVEN + 1, &[R, B, R], 0);
    for other in [0, 2] {
        rig.transfer(other, 6, (0, 1), &[]);
    }
    rig.state(6, UNPROVEN + 2, &[R, B, R], 0);
    assert!(rig.snapshot().survey.is_some());
    rig.state(6, (1 << 31) + 3, &[R, B, R], 0);
    assert_eq!((rig.snapshot().survey, rig.snapshot().state), (None, R));
}

/// Leaders of a different implementation count their rounds from 1.
#[test]
fn a_survey_does_not_wait_for_a_leader_that_does_not_say_whether_its_configuration_is_proven() {
    let mut rig = Rig::start(3, 1, quorum(2), Durable::default());
    rig.state(3, 1, &[R, D, R], 0);
    rig.state(6, 1, &[R, B, R], 0);
    for other in [0, 2] {
        rig.transfer(other, 6, (0, 1), &[]);
    }
    assert_eq!((rig.snapshot().survey, rig.snapshot().state), (None, R));
}
