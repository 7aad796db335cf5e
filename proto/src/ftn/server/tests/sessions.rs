//! Sessions (S7 to S18).

use std::time::Duration;

use ring_codec::ftn::{Flags, Message};

use super::rig::*;
use crate::ftn::SESSION_ID_MIN;

#[test]
fn login_gets_an_id_from_the_leader_and_config_from_a_follower() {
    let mut rig = Rig::leader(3);
    assert_eq!(rig.login(1), ["CONFIG 6 RDD to k1"]);
    let mut rig = Rig::follower(0);
    assert_eq!(rig.login(1), ["CONFIG 9 RRR to nobody at k1"]);
    rig.pass(ST);
    assert_eq!(rig.login(1), NONE);
}

#[test]
fn ids_are_random_and_an_address_keeps_its_id() {
    let mut rig = Rig::alone();
    let ids: Vec<i32> = (1..=50).map(|k| rig.begin(k)).collect();
    assert!(ids.iter().all(|&id| id >= SESSION_ID_MIN));
    assert!(!ids.is_sorted());
    rig.login(51);
    let id = rig.id(51);
    rig.login(51);
    assert_eq!(rig.id(51), id);
    rig.send(51, Message::Alive);
    rig.login(51);
    assert_eq!(rig.id(51), id);
}

#[test]
fn a_session_begins_with_its_second_message_and_the_next_state_lists_it() {
    let mut rig = Rig::leader(2);
    rig.login(1);
    assert_eq!(rig.snapshot().sessions.len(), 0);
    let id = rig.id(1);
    assert_eq!(
        rig.send_as(2, id, Message::Alive).len(),
        1,
        "a message from another address does not count"
    );
    assert_eq!(rig.snapshot().sessions.len(), 0);
    rig.pass(RETRY);
    let said = rig.send(1, Message::Alive);
    assert_eq!(said, ["STATE 4.2 RD [k1] to s1"]);
    assert!(rig.events.contains(&Event::SessionBegun {
        id,
        address: client(1)
    }));
}

#[test]
fn changes_of_the_list_cause_a_round_after_a_pause() {
    const SHORT_PAUSE: Duration = Duration::from_millis(10);
    let mut rig = Rig::leader(2);
    for k in 1..=21 {
        rig.login(k);
    }
    rig.pass(HB / 2);
    assert_eq!(only(&rig.send(1, Message::Alive), "STATE").len(), 1);
    for k in 2..=20 {
        assert_eq!(only(&rig.send(k, Message::Alive), "STATE"), NONE);
        assert_eq!(only(&rig.pass(SHORT_PAUSE - MS), "STATE"), NONE);
        assert_eq!(only(&rig.pass(MS), "STATE").len(), 1, "{k} sessions");
    }
    assert_eq!(only(&rig.send(21, Message::Alive), "STATE"), NONE);
    assert_eq!(only(&rig.pass(RETRY - MS), "STATE"), NONE);
    assert_eq!(only(&rig.pass(MS), "STATE").len(), 1, "the list is long");
}

#[test]
fn an_id_that_is_not_used_for_5_s_is_forgotten() {
    let mut rig = Rig::alone();
    rig.login(1);
    rig.pass(Duration::from_secs(5) - MS);
    rig.send(1, Message::Alive);
    assert_eq!(rig.snapshot().sessions.len(), 1);
    rig.login(2);
    rig.pass(Duration::from_secs(5));
    assert_eq!(rig.send(2, Message::Alive), ["CONFIG 2 R to nobody at k2"]);
    assert_eq!(rig.snapshot().sessions.len(), 1);
}

#[test]
fn at_most_4096_ids_wait_to_be_used() {
    let mut rig = Rig::alone();
    for k in 1..=4096 {
        rig.login(k);
    }
    assert_eq!(rig.login(4097), ["CONFIG 2 R to nobody at k4097"]);
    assert_eq!(rig.drop_count(DropReason::Full), 1);
}

#[test]
fn there_are_at_most_max_clients_sessions() {
    let options = Options {
        max_clients: 2,
        ..options()
    };
    let mut rig = Rig::alone_with(options);
    rig.begin(1);
    rig.login(2);
    assert_eq!(rig.login(3), ["CONFIG 2 R to nobody at k3"]);
    rig.send(2, Message::Alive);
    assert_eq!(rig.login(3), ["CONFIG 2 R to nobody at k3"]);
    assert_eq!(rig.login(1), ["CONFIG 2 R to k1"]);
}

#[test]
fn a_renewal_is_confirmed_when_all_servers_know_the_session() {
    let mut rig = Rig::leader_of(3, 2);
    rig.login(1);
    rig.pass(RETRY);
    assert!(only(&rig.renew(1, 7), "CONFIRM").is_empty());
    let listed = rig.snapshot().seq;
    assert!(only(&rig.heartbeat(1, listed, R), "CONFIRM").is_empty());
    assert!(only(&rig.heartbeat(2, listed - 1, R), "CONFIRM").is_empty());
    assert_eq!(
        only(&rig.heartbeat(2, listed, R), "CONFIRM"),
        ["CONFIRM 7 to k1"]
    );
    // Once all servers know the session, it is confirmed at once.
    assert_eq!(rig.renew(1, 8), ["CONFIRM 8 to k1"]);
}

#[test]
fn state_goes_every_retry_to_the_servers_that_delay_a_confirmation() {
    let mut rig = Rig::leader_of(3, 2);
    rig.login(1);
    rig.pass(HB / 2);
    rig.renew(1, 7);
    rig.heartbeat(1, rig.snapshot().seq, R);
    let said = rig.pass(3 * RETRY);
    assert_eq!(said.len(), 3);
    assert!(
        said.iter().all(|line| line.contains("[k1] to s2")),
        "{said:?}"
    );
}

/// If too few servers for a quorum are BOOTING or READY, the acknowledgements of DOWN servers count too.
#[test]
fn a_renewal_needs_the_acknowledgement_of_a_quorum() {
    let mut rig = Rig::leader_with(3, quorum(2));
    rig.login(1);
    assert!(only(&rig.renew(1, 7), "CONFIRM").is_empty());
    rig.pass(RETRY);
    let said = rig.heartbeat(2, rig.snapshot().seq, D);
    assert_eq!(only(&said, "CONFIRM"), ["CONFIRM 7 to k1"]);
}

#[test]
fn only_the_last_of_several_renewals_is_confirmed() {
    let mut rig = Rig::leader_of(2, 1);
    rig.login(1);
    rig.renew(1, 7);
    rig.renew(1, 9);
    rig.renew(1, 8);
    rig.pass(RETRY);
    let said = rig.heartbeat(1, rig.snapshot().seq, R);
    assert_eq!(only(&said, "CONFIRM"), ["CONFIRM 9 to k1"]);
}

#[test]
fn an_invalid_renewal_is_dropped() {
    let mut rig = Rig::alone();
    rig.begin(1);
    for (data, flags) in [
        ("", Flags::Deassign),
        ("x", Flags::Deassign),
        ("-2", Flags::Deassign),
        ("+2", Flags::Deassign),
        ("18446744073709551616", Flags::Deassign),
        ("2", Flags::Update),
        ("2", Flags::Both),
    ] {
        let token = token("", data);
        let message = Message::Return {
            msgnum: 1,
            token,
            flags,
        };
        assert_eq!(rig.send(1, message), NONE, "{data}");
    }
    assert_eq!(rig.drop_count(DropReason::Malformed), 7);
}

#[test]
fn a_session_ends_ct_after_its_last_message_of_any_type() {
    let mut rig = Rig::alone();
    let id = rig.begin(1);
    rig.begin(2);
    rig.request(1, 1, "a", X);
    rig.request(2, 1, "a", X);
    for msgnum in 2..6 {
        rig.pass(CT - MS);
        rig.send(
            1,
            if msgnum % 2 == 0 {
                Message::Alive
            } else {
                request(msgnum, "b", X)
            },
        );
        rig.send(2, Message::Alive);
    }
    assert_eq!(rig.snapshot().sessions.len(), 2);
    rig.pass(CT - MS);
    rig.send(2, Message::Alive);
    assert_eq!(only(&rig.pass(MS), "GRANT"), ["GRANT 1 a= to k2"]);
    assert_eq!(rig.snapshot().sessions, [(rig.id(2), client(2))]);
    assert!(rig.events.contains(&Event::SessionExpired {
        id,
        address: client(1)
    }));
    assert_eq!(rig.server.counters().sessions_expired, 1);
}

#[test]
fn logout_ends_a_session_and_is_answered_with_config() {
    let mut rig = Rig::alone();
    let id = rig.begin(1);
    rig.begin(2);
    rig.request(1, 1, "a", X);
    rig.request(2, 1, "a", X);
    let said = rig.send(1, Message::Logout);
    assert_eq!(said, ["GRANT 1 a= to k2", "CONFIG 2 R to nobody at k1"]);
    assert!(rig.events.contains(&Event::SessionLoggedOut {
        id,
        address: client(1)
    }));
    assert_eq!(rig.send(1, Message::Logout), ["CONFIG 2 R to nobody at k1"]);
    assert_eq!(rig.server.counters().sessions_logout, 1);
}

/// An invariant checks that each session has one entry for its expiry.
#[test]
fn many_logouts_of_a_client_leave_no_data_behind() {
    let mut rig = Rig::alone();
    rig.begin(9);
    for _ in 0..1_000 {
        rig.begin(1);
        rig.send(1, Message::Logout);
    }
    // The other session still expires.
    rig.pass(CT);
    assert_eq!(rig.snapshot().sessions, []);
}

#[test]
fn messages_for_another_server_are_answered_with_config() {
    let mut rig = Rig::follower(1);
    assert_eq!(rig.renew(1, 1), ["CONFIG 9 RRR to nobody at k1"]);
    let name = name_of(2, &[R; 3], 0);
    let said = rig.request(1, 1, &name, X);
    assert_eq!(said, ["CONFIG 9 RRR to nobody at k1"]);
    assert_eq!(rig.deassign(1, 2, &name), ["CONFIG 9 RRR to nobody at k1"]);
    assert_eq!(rig.server.counters().redirected, 3);
    assert_eq!(rig.send(1, Message::Alive), NONE);
    // The client would mistake a CONFIG for the confirmation of its LOGOUT.
    assert_eq!(rig.send(1, Message::Logout), NONE);
}

fn cold() -> Rig {
    let mut rig = Rig::start(1, 0, Options::default(), Durable::default());
    rig.pass(HB);
    assert_eq!(rig.snapshot().grace, CT);
    rig
}

#[test]
fn a_cold_leader_adopts_a_session_that_renews() {
    let mut rig = cold();
    let said = rig.renew(1, 7);
    assert_eq!(said, ["CONFIG 1 B to k1", "CONFIRM 7 to k1"]);
    let id = rig.id(1);
    assert_eq!(rig.snapshot().sessions, [(id, client(1))]);
    assert!(rig.events.contains(&Event::SessionAdopted {
        id,
        address: client(1)
    }));
    // No other message begins a session. The id of another session does not count. An id below the smallest id does not
    // count either.
    assert!(rig.send(2, Message::Alive)[0].contains("nobody"));
    for wrong in [id, SESSION_ID_MIN - 1] {
        assert!(rig.send_as(3, wrong, renewal(1, "1"))[0].contains("nobody"));
    }
    assert_eq!(rig.server.counters().adopted, 1);
}

/// A client that knows a larger configuration number would ignore this leader's CONFIG.
#[test]
fn a_cold_leader_does_not_adopt_a_client_that_knows_a_larger_number() {
    let mut rig = Rig::start(3, 0, Options::default(), Durable::default());
    rig.pass(ST);
    let known = rig.snapshot().configuration;
    rig.send(1, renewal(7, "100"));
    assert_eq!(rig.snapshot().sessions, []);
    assert_eq!(rig.snapshot().configuration, known);
}

#[test]
fn a_cold_leader_adopts_sessions_and_grants_nothing_during_its_grace() {
    let mut rig = cold();
    rig.renew(1, 7);
    rig.catalog(
        1,
        1,
        (0, 1),
        100,
        &[("a", crate::ftn::catalog::HoldKind::Exclusive, "data")],
    );
    rig.begin(2);
    rig.catalog(2, 1, (0, 1), 0, &[]);
    assert_eq!(rig.request(2, 1, "a", X), NONE);
    rig.pass(CT - MS);
    for k in [1, 2] {
        rig.send(k, Message::Alive);
    }
    assert_eq!(rig.states(), "B");
    rig.pass(MS);
    assert_eq!(rig.states(), "R");
    assert!(rig.events.contains(&Event::GraceEnded));
    // The token has survived the restart of the only server.
    assert_eq!(rig.request(2, 2, "a", X), ["REVOKE a to k1"]);
    let said = rig.deassign(1, 100, "a");
    assert_eq!(said, ["CONFIRM 100 to k1", "GRANT 2 a=data to k2"]);
    assert!(rig.renew(3, 1)[0].contains("nobody"));
}
