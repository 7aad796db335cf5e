//! TRANSFER, and the messages that a BOOTING server awaits (K5 to K8, V7).

use ring_codec::ftn::{Assignment, Holders, Message};

use super::rig::*;
use crate::ftn::catalog::HoldKind::{Exclusive, ReturningExclusive, ReturningShared, Shared};

#[test]
fn tokens_go_to_a_booting_server_and_are_kept_until_it_has_them() {
    let mut rig = Rig::follower(2);
    rig.state(12, 1, &[R, R, D], 2);
    let (held, free) = (inherited_name(0), inherited_name(1));
    rig.catalog(1, 12, (0, 1), 10, &[(&held, Exclusive, "h")]);
    rig.catalog(2, 12, (0, 1), 10, &[]);
    rig.request(1, 11, &free, X);
    rig.update_and_deassign(1, 12, &free, "f");
    rig.request(2, 11, &held, X);
    let said = rig.state(15, 1, &[R, R, B], 2);
    let mut tokens = [format!("{held}=h x"), format!("{free}=f free")];
    tokens.sort();
    let lines = only(&said, "TRANSFER");
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("TRANSFER 15 0/1 [") && lines[0].ends_with("] to s2"));
    assert!(
        tokens.iter().all(|token| lines[0].contains(token)),
        "{lines:?}"
    );
    assert_eq!(
        rig.request(2, 12, &held, X),
        ["CONFIG 15 RRB to nobody at k2"]
    );
    assert_eq!(only(&rig.pass(RETRY * 3), "TRANSFER").len(), 2);
    assert_eq!(only(&rig.pass(RETRY), "REVOKE"), NONE, "the queue is empty");
    assert_eq!(rig.snapshot().tokens, 2);
    rig.receive_transferred(2, 14, 0);
    assert_eq!(rig.snapshot().tokens, 2);
    rig.receive_transferred(2, 15, 0);
    assert_eq!(rig.snapshot().tokens, 0);
    assert_eq!(only(&rig.pass(HB), "TRANSFER"), NONE);
    assert_eq!(rig.server.counters().transferred, 2);
}

#[test]
fn a_transfer_without_tokens_has_one_empty_part() {
    let mut rig = Rig::follower(0);
    rig.state(12, 1, &[R, R, D], 0);
    let said = rig.state(15, 1, &[R, R, B], 0);
    assert_eq!(only(&said, "TRANSFER"), ["TRANSFER 15 0/1 [] to s2"]);
}

#[test]
fn a_transfer_goes_in_windows_of_small_parts() {
    let mut rig = Rig::follower(1);
    rig.state(12, 1, &[R, R, D], 1);
    rig.catalog(1, 12, (0, 1), 0, &[]);
    for (m, nth) in (1..).step_by(2).zip(0..60) {
        let name = inherited_name(nth);
        rig.request(1, m, &name, X);
        rig.update_and_deassign(
            1,
            m + 1,
            &name,
            &"d".repeat(if nth == 7 { 5000 } else { 700 }),
        );
    }
    let said = only(&rig.state(15, 1, &[R, R, B], 1), "TRANSFER");
    assert_eq!(said.len(), 16);
    let parts = said[0]
        .split_once('/')
        .unwrap()
        .1
        .split_once(' ')
        .unwrap()
        .0;
    let parts: i32 = parts.parse().unwrap();
    assert_eq!(parts, 60);
    let sizes = rig.datagrams.iter().map(|(_, bytes)| bytes.len());
    assert!(sizes.filter(|&size| size > crate::ftn::PART).count() <= 1);
    for part in 0..parts {
        let said = rig.receive_transferred(2, 15, part);
        let next = part + 16;
        assert_eq!(said.len(), usize::from(next < parts));
        if next < parts {
            assert!(
                said[0].starts_with(&format!("TRANSFER 15 {next}/{parts}")),
                "{said:?}"
            );
        }
    }
    assert_eq!(rig.snapshot().tokens, 0);
}

#[test]
fn tokens_of_a_ready_server_are_deleted() {
    let mut rig = Rig::follower(1);
    rig.state(12, 1, &[R, R, D], 1);
    rig.catalog(1, 12, (0, 1), 10, &[(&inherited_name(0), Exclusive, "")]);
    rig.state(15, 1, &[R, R, B], 1);
    assert_eq!(rig.snapshot().tokens, 1);
    rig.state(18, 1, &[R, R, R], 1);
    assert_eq!(rig.snapshot().tokens, 0);
    assert_eq!(only(&rig.pass(HB), "TRANSFER"), NONE);
}

/// Returns server 1 of 3. It is BOOTING in configuration 6. Client k1 has a session.
fn booting() -> Rig {
    let mut rig = Rig::start(3, 1, options(), Durable::default());
    rig.state(3, 1, &[R, D, R], 1);
    rig.state(6, 1, &[R, B, R], 1);
    rig
}

#[test]
fn a_booting_server_awaits_all_sessions_and_all_transfers() {
    let mut rig = booting();
    rig.catalog(1, 6, (0, 1), 0, &[]);
    rig.transfer(0, 6, (0, 1), &[]);
    rig.transfer(2, 6, (1, 2), &[]);
    rig.transfer(2, 6, (1, 2), &[]);
    assert_eq!(rig.snapshot().state, B);
    let said = rig.transfer(2, 6, (0, 2), &[]);
    assert_eq!(said, ["TRANSFERRED 6 0 to s2", "HEARTBEAT 6.1 R to s0"]);
    // Its own state is READY, but it serves only when the configuration shows it READY too.
    let name = name_of(1, &[R; 3], 0);
    assert_eq!(rig.request(1, 1, &name, X), NONE);
    rig.state(9, 1, &[R; 3], 1);
    assert_eq!(rig.request(1, 1, &name, X).len(), 1);
}

#[test]
fn a_booting_server_is_not_ready_before_its_leader() {
    let mut rig = Rig::start(3, 1, options(), Durable::default());
    rig.state(3, 1, &[B, D, D], 0);
    rig.state(6, 1, &[B, B, D], 0);
    rig.transfer(0, 6, (0, 1), &[]);
    assert_eq!(rig.snapshot().state, B);
    rig.state(9, 1, &[R, B, D], 0);
    rig.transfer(0, 9, (0, 1), &[]);
    assert_eq!(rig.snapshot().state, R);
}

/// The configuration changes and shows the server BOOTING again, so the server starts a second survey. Then the leader
/// receives the READY that the server sent after the first survey.
#[test]
fn a_server_that_becomes_ready_during_its_second_survey_serves_after_it() {
    let mut rig = booting();
    let name = name_of(1, &[R; 3], 0);
    rig.catalog(1, 6, (0, 1), 10, &[(&name, Exclusive, "old")]);
    rig.transfer(0, 6, (0, 1), &[(&name, "new")]);
    rig.transfer(2, 6, (0, 1), &[]);
    assert_eq!(rig.snapshot().state, R);
    rig.state(9, 1, &[R, B, D], 1);
    assert_eq!(rig.snapshot().state, B);
    rig.state(12, 1, &[R, R, D], 1);
    assert_eq!(rig.request(1, 20, &name, X), NONE);
    rig.catalog(1, 12, (0, 1), 10, &[(&name, Exclusive, "old")]);
    assert_eq!(rig.snapshot().state, R);
    let said = rig.request(1, 20, &name, X);
    assert_eq!(said, [format!("GRANT 20 {name}=new to k1")]);
}

#[test]
fn a_transfer_for_another_configuration_is_not_acknowledged() {
    let mut rig = booting();
    for c in [3, 9] {
        assert_eq!(rig.transfer(0, c, (0, 1), &[]), NONE);
    }
    assert_eq!(rig.drop_count(DropReason::Late), 2);
    // A repeated part is acknowledged again, even after the survey: the first TRANSFERRED may be lost.
    assert_eq!(rig.transfer(0, 6, (0, 1), &[]).len(), 1);
    assert_eq!(rig.transfer(0, 6, (0, 1), &[]).len(), 1);
    rig.transfer(2, 6, (0, 1), &[]);
    rig.catalog(1, 6, (0, 1), 0, &[]);
    assert_eq!(rig.snapshot().state, R);
    assert_eq!(rig.transfer(2, 6, (0, 1), &[]), ["TRANSFERRED 6 0 to s2"]);
}

#[test]
fn catalogs_determine_holders_and_transfers_determine_data() {
    let mut rig = booting();
    let name = name_of(1, &[R; 3], 0);
    let other = name_of(1, &[R; 3], 1);
    rig.catalog(1, 6, (0, 1), 10, &[(&name, Shared, "old")]);
    let assignments = [&name, &other].map(|name| Assignment {
        token: token(name, "new"),
        holders: Holders::Exclusive(1 << 21),
    });
    let message = Message::Transfer {
        msgnum: 6,
        part: 0,
        parts: 1,
        assignments: assignments[..].into(),
    };
    rig.deliver(0, message);
    rig.transfer(2, 6, (0, 1), &[]);
    rig.state(9, 1, &[R; 3], 1);
    assert_eq!(rig.snapshot().held, 1);
    let said = rig.request(1, 10, &name, S);
    assert_eq!(said, [format!("GRANT 10 {name}=new to k1")]);
    let said = rig.request(1, 11, &other, X);
    assert_eq!(said, [format!("GRANT 11 {other}=new to k1")]);
    assert_eq!(rig.server.counters().conflicting_data, 0);
}

#[test]
fn a_session_that_returned_a_token_to_the_former_server_does_not_hold_it() {
    for named in [1, 2] {
        let mut rig = Rig::start(3, 1, options(), Durable::default());
        rig.state(3, 1, &[R, D, R], 2);
        rig.state(6, 1, &[R, B, R], 2);
        let name = name_of(1, &[R; 3], 0);
        let holder = rig.id(named);
        let sessions = [holder];
        let assignments = [Assignment {
            token: ring_codec::ftn::Token {
                name: name.as_bytes(),
                data: b"d",
            },
            holders: Holders::Shared(sessions[..].into()),
        }];
        rig.deliver(
            0,
            Message::Transfer {
                msgnum: 6,
                part: 0,
                parts: 1,
                assignments: assignments[..].into(),
            },
        );
        rig.transfer(2, 6, (0, 1), &[]);
        rig.catalog(1, 6, (0, 1), 3, &[(&name, ReturningExclusive, "d")]);
        rig.catalog(2, 6, (0, 1), 3, &[(&name, ReturningShared, "d")]);
        assert_eq!(rig.snapshot().state, R);
        // The other session's update was already applied, or no longer counts.
        rig.state(9, 1, &[R; 3], 2);
        for k in [3 - named, named] {
            let name = name.clone();
            rig.update_and_deassign(k, 4, &name, "new");
            let counters = rig.server.counters();
            let (done, refused) = if k == named { (1, 1) } else { (0, 1) };
            assert_eq!(
                (counters.updates, counters.updates_refused),
                (done, refused)
            );
        }
    }
}
