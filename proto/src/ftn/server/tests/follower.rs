//! STATE at a follower (F1 to F8).

use ring_codec::ftn::{ListedSession, Message};

use super::rig::*;

#[test]
fn a_state_is_answered_at_once_and_then_every_heartbeat() {
    let mut rig = Rig::start(3, 1, options(), Durable::default());
    assert_eq!(rig.state(3, 1, &[R, D, D], 2), ["HEARTBEAT 3.1 B to s0"]);
    assert_eq!(rig.snapshot().sessions.len(), 2);
    assert_eq!(rig.durable.configuration, 3);
    assert_eq!(rig.pass(2 * HB), ["HEARTBEAT 3.1 B to s0"; 2]);
}

#[test]
fn a_state_that_is_not_newer_is_dropped() {
    let mut rig = Rig::follower(0);
    assert_eq!(rig.state(9, 1, &[D; 3], 0), NONE);
    assert_eq!(rig.state(6, 9, &[D; 3], 0), NONE);
    assert_eq!(rig.states(), "RRR");
    assert_eq!(rig.drop_count(DropReason::Late), 2);
}

#[test]
fn a_state_is_dropped_if_seq_number_and_sender_do_not_agree() {
    let mut rig = Rig::follower(0);
    let state = |seq, leader| Message::State {
        seq,
        leader,
        sstates: [R; 3].as_slice().into(),
        clients: [].as_slice().into(),
    };
    for (from, seq, leader) in [
        (0, seq(9, 2), 12),
        (0, seq(12, 1), 9),
        (2, seq(12, 1), 12),
        (0, seq(12, 0), 12),
    ] {
        assert_eq!(rig.deliver(from, state(seq, leader)), NONE);
    }
    assert_eq!(rig.drop_count(DropReason::Malformed), 4);
    assert_eq!(rig.deliver(0, state(seq(12, 1), 12)).len(), 1);
}

#[test]
fn another_leader_is_followed_only_st_after_the_last_state_of_the_present_one() {
    let mut rig = Rig::follower(0);
    rig.pass(ST - MS);
    assert_eq!(rig.state(11, 1, &[D, R, R], 0), NONE);
    assert_eq!(rig.drop_count(DropReason::OtherLeader), 1);
    rig.pass(MS);
    assert_eq!(rig.state(11, 2, &[D, R, R], 0), ["HEARTBEAT 11.2 R to s2"]);
}

#[test]
fn a_server_without_a_view_names_its_larger_number_and_does_not_follow() {
    let mut rig = Rig::start(3, 1, options(), Durable { configuration: 20 });
    assert_eq!(rig.state(3, 1, &[R, D, D], 0), ["HEARTBEAT 20.0 D to s0"]);
    assert_eq!(rig.role(), RoleKind::Electing);
    assert_eq!(rig.state(21, 1, &[R, D, D], 0), ["HEARTBEAT 21.1 B to s0"]);
}

/// A server is DOWN directly after its start. If a STATE does not show this server DOWN, the leader has not noticed the
/// restart.
#[test]
fn a_server_that_has_just_started_says_down_until_a_state_shows_it_down() {
    let mut rig = Rig::start(3, 1, options(), Durable::default());
    assert_eq!(rig.state(3, 1, &[R, R, R], 0), ["HEARTBEAT 3.1 D to s0"]);
    assert_eq!(rig.state(3, 2, &[R, B, R], 0), ["HEARTBEAT 3.2 D to s0"]);
    assert_eq!(rig.state(6, 1, &[R, D, R], 0), ["HEARTBEAT 6.1 B to s0"]);
}

#[test]
fn a_server_that_is_shown_down_forgets_its_tokens_and_boots() {
    let mut rig = Rig::follower(2);
    let name = name_of(1, &[R; 3], 0);
    rig.request(1, 1, &name, X);
    rig.request(2, 1, &name, X);
    assert_eq!(rig.snapshot().tokens, 1);
    assert_eq!(rig.state(12, 1, &[R, D, R], 2), ["HEARTBEAT 12.1 B to s0"]);
    assert_eq!((rig.snapshot().tokens, rig.snapshot().waiting), (0, 0));
    assert_eq!(rig.pass(HB / 2), NONE, "the queue has left no REVOKE");
    rig.state(12, 2, &[R, D, R], 2);
    assert_eq!(rig.server.counters().resets, 1);
    assert_eq!(rig.server.counters().tokens_forgotten, 1);
    assert!(rig.events.contains(&Event::Reset {
        tokens_forgotten: 1
    }));
}

#[test]
fn a_follower_serves_for_three_quarters_of_st_and_follows_for_st() {
    let mut rig = Rig::follower(1);
    let name = name_of(1, &[R; 3], 0);
    rig.pass(ST * 3 / 4 - MS);
    assert_eq!(rig.request(1, 1, &name, X).len(), 1);
    rig.pass(MS);
    assert_eq!(rig.request(1, 1, &name, X), NONE);
    assert_eq!(rig.deassign(1, 2, &name), NONE);
    assert_eq!(rig.drop_count(DropReason::NotServing), 2);
    rig.pass(ST / 4 - MS);
    assert_eq!(rig.role(), RoleKind::Follower);
    rig.pass(MS);
    assert_eq!(rig.role(), RoleKind::Electing);
}

#[test]
fn tokens_of_sessions_that_are_no_longer_listed_are_free() {
    let mut rig = Rig::follower(3);
    let name = name_of(1, &[R; 3], 0);
    rig.request(1, 1, &name, X);
    rig.request(2, 1, &name, X);
    rig.request(3, 1, &name, X);
    let said = rig.state_of(9, 2, &[R; 3], [3]);
    assert_eq!(
        said,
        [
            format!("GRANT 1 {name}= to k3"),
            "HEARTBEAT 9.2 R to s0".into()
        ]
    );
    assert_eq!(rig.snapshot().waiting, 0);
    // An ended session cannot request tokens.
    let said = rig.request(1, 9, &name, X);
    assert_eq!(said, ["CONFIG 9 RRR to nobody at k1"]);
}

#[test]
fn a_state_with_an_invalid_address_or_id_is_dropped() {
    let mut rig = Rig::follower(0);
    for (id, address) in [
        (5, &b"k1"[..]),
        (-5, b"198.51.100.1:5001"),
        (0, b"1 1"),
        (0, b"x"),
    ] {
        let clients = [ListedSession { id, address }];
        let message = Message::State {
            seq: seq(9, 2),
            leader: 9,
            sstates: [R; 3].as_slice().into(),
            clients: clients[..].into(),
        };
        assert_eq!(rig.deliver(0, message), NONE);
    }
    assert_eq!(rig.drop_count(DropReason::Malformed), 4);
}
