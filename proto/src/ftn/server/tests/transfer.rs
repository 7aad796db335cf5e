//! Section 4: TRANSFER from the server that had the tokens, and what a server that boots waits for.

use ring_codec::ftn::{Assignment, Holders, Message};

use super::rig::*;
use crate::ftn::catalog::Holding::{Exclusive, ReturningExclusive, ReturningShared, Shared};

/// Some other server X BOOTING: it stops serving what is X's, and sends X TRANSFER(c) with all those tokens, each
/// part repeated until TRANSFERRED; then deletes them.
#[test]
fn tokens_go_to_a_server_that_boots_and_stay_until_it_has_them() {
    let mut rig = Rig::follower(2);
    rig.state(12, 1, &[R, R, D], 2);
    let (held, free) = (gained(0), gained(1));
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
    assert_eq!(only(&rig.pass(RETRY), "REVOKE"), NONE, "its queue is gone");
    assert_eq!(rig.snapshot().tokens, 2);
    rig.hear(
        2,
        Message::Transferred {
            msgnum: 14,
            part: 0,
        },
    );
    assert_eq!(rig.snapshot().tokens, 2);
    rig.hear(
        2,
        Message::Transferred {
            msgnum: 15,
            part: 0,
        },
    );
    assert_eq!(rig.snapshot().tokens, 0);
    assert_eq!(only(&rig.pass(HB), "TRANSFER"), NONE);
    assert_eq!(rig.server.counters().transferred, 2);
}

/// At least one part even if empty.
#[test]
fn a_server_with_nothing_to_hand_over_says_so() {
    let mut rig = Rig::follower(0);
    rig.state(12, 1, &[R, R, D], 0);
    let said = rig.state(15, 1, &[R, R, B], 0);
    assert_eq!(only(&said, "TRANSFER"), ["TRANSFER 15 0/1 [] to s2"]);
}

/// In parts of at most PART bytes or one token, up to WINDOW at a time.
#[test]
fn a_transfer_goes_in_windows_of_small_parts() {
    let mut rig = Rig::follower(1);
    rig.state(12, 1, &[R, R, D], 1);
    rig.catalog(1, 12, (0, 1), 0, &[]);
    for (m, nth) in (1..).step_by(2).zip(0..60) {
        let name = gained(nth);
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
        let said = rig.hear(2, Message::Transferred { msgnum: 15, part });
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

/// What belongs to a READY server is deleted.
#[test]
fn tokens_of_a_ready_server_are_deleted() {
    let mut rig = Rig::follower(1);
    rig.state(12, 1, &[R, R, D], 1);
    rig.catalog(1, 12, (0, 1), 10, &[(&gained(0), Exclusive, "")]);
    rig.state(15, 1, &[R, R, B], 1);
    assert_eq!(rig.snapshot().tokens, 1);
    rig.state(18, 1, &[R, R, R], 1);
    assert_eq!(rig.snapshot().tokens, 0);
    assert_eq!(only(&rig.pass(HB), "TRANSFER"), NONE);
}

/// Server 1 of 3, BOOTING under configuration 6; k1 has a session.
fn booting() -> Rig {
    let mut rig = Rig::start(3, 1, options(), Durable::default());
    rig.state(3, 1, &[R, D, R], 1);
    rig.state(6, 1, &[R, B, R], 1);
    rig
}

/// A BOOTING server awaits the answers of all sessions and all parts of the TRANSFER of every server that is not
/// DOWN, and is READY then.
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
    // It is READY by its own word, and serves only when the configuration says so as well.
    let name = name_of(1, &[R; 3], 0);
    assert_eq!(rig.request(1, 1, &name, X), NONE);
    rig.state(9, 1, &[R; 3], 1);
    assert_eq!(rig.request(1, 1, &name, X).len(), 1);
}

/// … the leader READY.
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

/// READY is under way while the configuration changes and shows the server BOOTING again, which surveys once more;
/// then the leader hears that READY, and the server is READY in the middle of its survey.
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
    assert_eq!(
        rig.request(1, 20, &name, X),
        [format!("GRANT 20 {name}=new to k1")]
    );
}

/// It takes and acknowledges TRANSFER only with its present c.
#[test]
fn a_transfer_for_another_configuration_is_not_acknowledged() {
    let mut rig = booting();
    for c in [3, 9] {
        assert_eq!(rig.transfer(0, c, (0, 1), &[]), NONE);
    }
    assert_eq!(rig.dropped(Reason::Late), 2);
    // A repeated part is acknowledged again: the first TRANSFERRED may be lost. So it is after the survey.
    assert_eq!(rig.transfer(0, 6, (0, 1), &[]).len(), 1);
    assert_eq!(rig.transfer(0, 6, (0, 1), &[]).len(), 1);
    rig.transfer(2, 6, (0, 1), &[]);
    rig.catalog(1, 6, (0, 1), 0, &[]);
    assert_eq!(rig.snapshot().state, R);
    assert_eq!(rig.transfer(2, 6, (0, 1), &[]), ["TRANSFERRED 6 0 to s2"]);
}

/// Holders are those who claimed it, whatever TRANSFER said; its data are those of the TRANSFER.
#[test]
fn catalogs_decide_holders_and_transfers_data() {
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
    rig.hear(0, message);
    rig.transfer(2, 6, (0, 1), &[]);
    rig.state(9, 1, &[R; 3], 1);
    assert_eq!(rig.snapshot().held, 1);
    assert_eq!(
        rig.request(1, 10, &name, S),
        [format!("GRANT 10 {name}=new to k1")]
    );
    assert_eq!(
        rig.request(1, 11, &other, X),
        [format!("GRANT 11 {other}=new to k1")]
    );
    assert_eq!(rig.server.counters().conflicting_data, 0);
}

/// Of those that return a token, those hold it whom TRANSFER names.
#[test]
fn who_has_returned_a_token_to_the_former_server_does_not_hold_it() {
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
        rig.hear(
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
        // The other's update was done before, or is not its own any more.
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
