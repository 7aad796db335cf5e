//! The leader: authority, and HEARTBEAT (L1 to L15).

use super::rig::*;

fn with_quorum() -> Rig {
    Rig::leader_with(3, quorum(2))
}

#[test]
fn state_goes_to_all_others_every_heartbeat() {
    let mut rig = Rig::leader(3);
    let said = rig.pass(2 * HB);
    let expected =
        ["6.2", "6.3"].map(|seq| [1, 2].map(|to| format!("STATE {seq} RDD [] to s{to}")));
    assert_eq!(said, expected.concat());
}

#[test]
fn state_goes_to_all_others_at_once_after_a_change() {
    let mut rig = Rig::leader(3);
    let said = rig.heartbeat(1, seq(6, 1), B);
    assert_eq!(
        only(&said, "STATE"),
        ["STATE 9.1 RBD [] to s1", "STATE 9.1 RBD [] to s2"]
    );
}

/// The leader accepts BOOTING only from DOWN servers, and READY only from BOOTING servers. The leader accepts DOWN from
/// a BOOTING or READY server, because such a server has restarted.
#[test]
fn heartbeats_change_states_in_the_order_of_a_start() {
    let mut rig = Rig::leader(2);
    rig.heartbeat(1, rig.snapshot().seq, R);
    assert_eq!(
        rig.states(),
        "RD",
        "READY from a DOWN server only shows life"
    );
    for (says, states) in [
        (B, "RB"),
        (B, "RB"),
        (R, "RR"),
        (B, "RR"),
        (D, "RD"),
        (D, "RD"),
    ] {
        rig.heartbeat(1, rig.snapshot().seq, says);
        assert_eq!(rig.states(), states);
    }
}

#[test]
fn no_server_is_ready_before_the_leader() {
    let options = Options::default();
    let mut rig = Rig::start(2, 0, options, Durable::default());
    rig.pass(ST);
    for says in [B, R] {
        rig.heartbeat(1, rig.snapshot().seq, says);
    }
    assert_eq!(rig.states(), "BB");
}

/// Under the present configuration, the server may be responsible for more tokens. Other servers may still have to hand
/// over the additional tokens.
#[test]
fn ready_under_an_earlier_configuration_only_shows_life() {
    let mut rig = Rig::leader(3);
    for server in [1, 2] {
        rig.heartbeat(server, rig.snapshot().seq, B);
    }
    let both = rig.snapshot().seq;
    assert_eq!(rig.states(), "RBB");
    rig.heartbeat(2, rig.snapshot().seq, D);
    assert_eq!(rig.states(), "RBD");
    rig.heartbeat(1, both, R);
    assert_eq!(rig.states(), "RBD");
    rig.heartbeat(1, rig.snapshot().seq, R);
    assert_eq!(rig.states(), "RRD");
}

#[test]
fn configuration_numbers_grow_and_name_the_leader() {
    let mut rig = Rig::leader(3);
    let mut last = rig.snapshot().configuration;
    for says in [B, R, D, B] {
        rig.heartbeat(2, rig.snapshot().seq, says);
        let number = rig.snapshot().configuration;
        assert!(number > last && number.is_multiple_of(3));
        last = number;
    }
}

#[test]
fn a_heartbeat_from_before_the_servers_present_state_is_dropped() {
    let mut rig = Rig::leader(2);
    let former = rig.snapshot().seq;
    rig.heartbeat(1, former, B);
    let booting = rig.snapshot().seq;
    rig.heartbeat(1, booting, D);
    rig.heartbeat(1, rig.snapshot().seq, B);
    assert_eq!(rig.states(), "RB");
    rig.heartbeat(1, booting, R);
    assert_eq!(rig.states(), "RB");
    assert_eq!(rig.drop_count(DropReason::Late), 1);
}

#[test]
fn a_heartbeat_with_a_larger_number_makes_the_leader_exceed_it() {
    let mut rig = Rig::leader(3);
    let said = rig.heartbeat(1, seq(50, 0), D);
    assert_eq!(
        only(&said, "STATE"),
        ["STATE 51.1 RDD [] to s1", "STATE 51.1 RDD [] to s2"]
    );
    assert_eq!(rig.durable.configuration, 51);
}

/// If the leader kept its number although another server knows a larger number, the leader could not get authority. A
/// majority may have agreed on different states with the larger number, so READY servers become BOOTING.
#[test]
fn a_leader_without_authority_exceeds_a_larger_number_in_doubt() {
    let mut rig = with_quorum();
    rig.make_ready(1);
    rig.heartbeat(1, seq(50, 0), R);
    assert_eq!((rig.snapshot().configuration, &*rig.states()), (51, "RRD"));
    let known = rig.snapshot().seq;
    rig.heartbeat(1, known, R);
    rig.pass(3 * ST);
    assert!(!rig.snapshot().authority);
    rig.heartbeat(1, seq(60, 0), R);
    assert_eq!((rig.snapshot().configuration, &*rig.states()), (63, "BBD"));
    // A HEARTBEAT from before the doubt does not count.
    let late = rig.drop_count(DropReason::Late);
    rig.heartbeat(1, known, D);
    assert_eq!(rig.drop_count(DropReason::Late), late + 1);
    // The leader has as much time for acknowledgements as after a take-over.
    rig.pass(2 * ST - MS);
    rig.heartbeat(1, rig.snapshot().seq, B);
    assert_eq!(&*rig.states(), "BBD");
    rig.transfer(1, 63, (0, 1), &[]);
    assert_eq!(&*rig.states(), "RBD");
    rig.heartbeat(1, rig.snapshot().seq, R);
    assert_eq!(&*rig.states(), "RRD");
}

/// A leader in doubt was usually cut off. So the leader's measurements of silence prove nothing about the other
/// servers.
#[test]
fn a_doubt_gives_servers_and_sessions_their_full_time() {
    let mut rig = Rig::leader_with(3, quorum(2));
    for other in [1, 2] {
        rig.make_ready(other);
    }
    rig.begin(1);
    let known = rig.snapshot().seq;
    rig.heartbeat(1, known, R);
    rig.heartbeat(2, known, R);
    rig.pass(CT + ST);
    rig.heartbeat(1, seq(60, 0), R);
    // The other server's answer to the same round arrives late.
    rig.heartbeat(2, seq(60, 0), R);
    rig.heartbeat(1, rig.snapshot().seq, B);
    rig.pass(MS);
    assert!(rig.snapshot().authority);
    assert_eq!((&*rig.states(), rig.snapshot().sessions.len()), ("BBB", 1));
}

#[test]
fn a_doubt_starts_a_grace() {
    let options = Options {
        quorum: 2,
        ..Options::default()
    };
    let mut rig = Rig::start(3, 0, options, Durable::default());
    while rig.role() != RoleKind::Leader {
        rig.elect(1, 0, 0);
        rig.pass(HB / 4);
        assert!(
            rig.now.monotonic.as_nanos() < 60_000_000_000,
            "{:?}",
            rig.role()
        );
    }
    rig.pass(HB);
    assert!(rig.snapshot().grace < CT);
    rig.heartbeat(1, seq(60, 0), D);
    assert_eq!(rig.snapshot().grace, CT);
}

#[test]
fn a_leader_whose_quorum_is_no_majority_exceeds_a_larger_number_without_doubt() {
    let mut rig = Rig::leader_with(4, quorum(2));
    rig.pass(ST);
    assert!(!rig.snapshot().authority);
    let before = rig.states();
    rig.heartbeat(1, seq(50, 0), D);
    assert_eq!((rig.snapshot().configuration, rig.states()), (52, before));
}

/// The server acknowledges a seq from its state file. The leader in the test never sent a STATE with this seq.
#[test]
fn a_seq_from_a_state_file_is_no_acknowledgement() {
    let mut rig = with_quorum();
    rig.pass(ST);
    rig.heartbeat(1, seq(50, 0), D);
    rig.heartbeat(1, seq(50, 0), D);
    assert!(!rig.snapshot().authority);
}

#[test]
fn a_server_that_is_silent_for_st_is_down() {
    let mut rig = Rig::leader_of(3, 2);
    rig.pass(ST / 2);
    rig.heartbeat(1, rig.snapshot().seq, R);
    rig.pass(ST / 2 - MS);
    assert_eq!(rig.states(), "RRR");
    rig.pass(MS);
    assert_eq!(rig.states(), "RRD");
    rig.pass(ST / 2);
    assert_eq!(rig.states(), "RDD");
}

#[test]
fn authority_lasts_three_quarters_of_st_from_the_sending_of_the_acknowledged_round() {
    let mut rig = with_quorum();
    // Continue just after a round.
    while only(&rig.pass(MS), "STATE").is_empty() {}
    let old = rig.snapshot().seq;
    rig.heartbeat(1, old, D);
    rig.pass(ST * 3 / 4 - MS);
    assert!(rig.snapshot().authority);
    rig.pass(MS);
    assert!(!rig.snapshot().authority);
    // An acknowledgement of an old round gives no authority.
    rig.heartbeat(1, old, D);
    assert!(!rig.snapshot().authority);
    rig.heartbeat(2, rig.snapshot().seq, D);
    assert!(rig.snapshot().authority);
    assert!(
        rig.events
            .contains(&Event::AuthorityChanged { is_held: false })
    );
}

#[test]
fn without_authority_a_leader_only_sends_state() {
    let mut rig = with_quorum();
    rig.begin(1);
    rig.heartbeat(1, rig.snapshot().seq, B);
    rig.heartbeat(1, rig.snapshot().seq, B);
    let states = rig.states();
    rig.pass(ST);
    assert!(!rig.snapshot().authority);
    assert!(only(&rig.renew(1, 7), "CONFIRM").is_empty());
    assert!(only(&rig.request(1, 8, "a", X), "GRANT").is_empty());
    assert!(only(&rig.send(1, ring_codec::ftn::Message::Logout), "CONFIG").is_empty());
    let said = rig.pass(2 * CT);
    assert!(!only(&said, "STATE").is_empty());
    assert_eq!((rig.states(), rig.snapshot().sessions.len()), (states, 1));
}

/// If an isolated leader could change states, the leader would mark all other servers DOWN. When the split heals, this
/// leader would have the largest number.
#[test]
fn an_isolated_leader_keeps_its_number() {
    let mut rig = with_quorum();
    rig.heartbeat(1, rig.snapshot().seq, B);
    let number = rig.snapshot().configuration;
    rig.pass(10 * ST);
    assert_eq!(rig.snapshot().configuration, number);
}

/// If no quorum acknowledged the last change, a different server may lead without a larger number. So the leader gives
/// up, and its ELECT contains the newest seq that a quorum acknowledged.
#[test]
fn a_leader_whose_last_change_no_quorum_has_acknowledged_gives_up() {
    let mut rig = with_quorum();
    // Continue just after a round.
    while only(&rig.pass(MS), "STATE").is_empty() {}
    let acknowledged = rig.snapshot().seq;
    rig.heartbeat(1, acknowledged, D);
    rig.heartbeat(1, acknowledged, B);
    assert!(rig.snapshot().seq > acknowledged);
    rig.pass(ST - MS);
    assert_eq!(rig.role(), RoleKind::Leader);
    let said = rig.pass(MS);
    assert_eq!(rig.role(), RoleKind::Electing);
    let says = format!(
        "ELECT {}.{} for -1",
        acknowledged >> 32,
        acknowledged & 0xffff_ffff
    );
    assert!(only(&said, "ELECT")[0].starts_with(&says), "{said:?}");
}

/// After a quorum acknowledges the last change, no server can lead with a lower number.
#[test]
fn a_leader_whose_last_change_was_acknowledged_continues() {
    let mut rig = with_quorum();
    rig.heartbeat(1, rig.snapshot().seq, B);
    rig.heartbeat(1, rig.snapshot().seq, B);
    rig.pass(10 * ST);
    assert_eq!(rig.role(), RoleKind::Leader);
}

#[test]
fn a_leader_follows_a_larger_number_and_answers_a_lower_one() {
    let mut rig = Rig::leader(3);
    assert_eq!(rig.state(5, 9, &[D, D, R], 0), ["STATE 6.1 RDD [] to s2"]);
    assert_eq!(rig.role(), RoleKind::Leader);
    let said = rig.state(11, 1, &[D, D, R], 0);
    assert_eq!(said, ["HEARTBEAT 11.1 B to s2"]);
    assert_eq!(rig.server.leader(), Some(2));
}

#[test]
fn heartbeats_to_a_server_that_does_not_lead_are_dropped() {
    let mut rig = Rig::follower(0);
    assert_eq!(rig.heartbeat(2, seq(9, 1), R), NONE);
    assert_eq!(rig.drop_count(DropReason::NotLeader), 1);
}

#[test]
fn one_state_lists_all_sessions() {
    let mut rig = Rig::leader(2);
    for k in 1..=2500 {
        rig.begin(k);
    }
    let said = only(&rig.pass(2 * HB), "STATE");
    let last = said.last().unwrap();
    assert_eq!(last.matches('k').count(), 2500);
}

/// The next round announces that a quorum knows the configuration.
#[test]
fn a_survey_ends_when_a_quorum_knows_its_configuration() {
    let mut rig = with_quorum();
    rig.make_ready(1);
    rig.make_ready(2);
    rig.heartbeat(1, rig.snapshot().seq, R);
    let said = rig.heartbeat(2, rig.snapshot().seq, D);
    assert_eq!(rig.states(), "RRD");
    let number = rig.snapshot().configuration;
    assert_eq!(only(&said, "STATE").len(), 2);
    assert!(rig.snapshot().authority && rig.snapshot().survey.is_some());
    let said = rig.heartbeat(1, rig.snapshot().seq, R);
    assert_eq!(rig.snapshot().survey, None);
    let round = (1_i128 << 31) + 2;
    let expected = [1, 2].map(|to| format!("STATE {number}.{round} RRD [] to s{to}"));
    assert_eq!(only(&said, "STATE"), expected);
    // The leader sends this additional round only once.
    let said = rig.heartbeat(1, rig.snapshot().seq, R);
    assert!(only(&said, "STATE").is_empty());
}
