//! Tests of GENERATING (`docs/reference/lab2/states.md C1` to C6).

use ring_codec::lab2::Message;

use super::rig::{
    ANSWER_TIMEOUT, HEARTBEAT, LOOSER_TIMEOUT, Rig, TAKE_TIMEOUT, WAITER_TIMEOUT, generating, here,
    mac, ms, take, token, token_of, was_here,
};
use crate::lab2::{Command, Event, Reason, State};

/// Candidates that are stronger and weaker than 11-n5-1.
const STRONGER: [(u64, u8); 2] = [(12, 7), (11, 3)];
const WEAKER: [(u64, u8); 2] = [(10, 3), (11, 7)];

#[test]
fn it_waits_looser_answer_timeout_and_is_elected() {
    let mut rig = Rig::candidate();
    assert_eq!(rig.pass_time(ANSWER_TIMEOUT - ms(1)), [""; 0]);
    assert_eq!(rig.state(), State::Generating);
    assert_eq!(rig.pass_time(ms(1)), ["TOKEN_IS_HERE 11-n5-1 to all"]);
    assert_eq!(rig.state(), State::Owner);
    assert!(rig.machine.may_use_token());
    assert_eq!(rig.machine.owner(), Some(mac(5)));
    assert!(rig.events.contains(&Event::StateChanged {
        from: State::Generating,
        to: State::Owner,
        reason: Reason::Elected,
        token: Some(token_of(11, 5, 1)),
    }));
}

#[test]
fn the_first_heartbeat_begins_the_period() {
    let mut rig = Rig::candidate();
    rig.command(Command::WantToken);
    rig.pass_time(ANSWER_TIMEOUT);
    let sent = rig.timeline(HEARTBEAT);
    assert_eq!(sent, [(HEARTBEAT, "TOKEN_IS_HERE 11-n5-1 to all".into())]);
}

#[test]
fn the_candidates_number_is_the_next_one() {
    let mut rig = Rig::candidate();
    rig.pass_time(ANSWER_TIMEOUT);
    rig.hear(3, here(token(50)));
    let sent = rig.pass_time(WAITER_TIMEOUT + ANSWER_TIMEOUT);
    assert_eq!(sent.last().unwrap(), "GENERATING_TOKEN 51-n5-2 to all");
}

#[test]
fn a_stronger_generating_token_makes_it_a_quiet_looser() {
    for (progress, author) in STRONGER {
        let mut rig = Rig::candidate();
        rig.pass_time(ms(40));
        let rival = token_of(progress, author, 1);
        assert_eq!(rig.hear_all(3, generating(rival)), [""; 0]);
        assert_eq!(rig.state(), State::Looser);
        let sent = rig.timeline(LOOSER_TIMEOUT);
        assert_eq!(sent, [(LOOSER_TIMEOUT, "WHERE_IS_TOKEN to all".into())]);
    }
}

#[test]
fn a_weaker_generating_token_is_answered_with_its_own() {
    for (progress, author) in WEAKER {
        let mut rig = Rig::candidate();
        rig.pass_time(ms(40));
        let rival = token_of(progress, author, 1);
        let sent = rig.hear_all(3, generating(rival));
        assert_eq!(sent, ["GENERATING_TOKEN 11-n5-1 to n3"]);
        assert_eq!(rig.state(), State::Generating);
        let sent = rig.timeline(ANSWER_TIMEOUT - ms(40));
        assert_eq!(sent.len(), 1, "the node still waits for answers: {sent:?}");
    }
}

#[test]
fn token_was_here_recently_makes_it_a_quiet_looser() {
    for strength in [9, 10, 20] {
        let mut rig = Rig::candidate();
        rig.pass_time(ms(40));
        assert_eq!(rig.hear(3, was_here(token(strength), 3)), [""; 0]);
        assert_eq!(rig.state(), State::Looser);
        let sent = rig.timeline(LOOSER_TIMEOUT);
        assert_eq!(sent, [(LOOSER_TIMEOUT, "WHERE_IS_TOKEN to all".into())]);
    }
}

#[test]
fn token_is_here_makes_it_waiter() {
    let confirms: &[&str] = &["PING to n3"];
    for (strength, sent) in [(1, &[] as &[&str]), (10, confirms), (20, confirms)] {
        let mut rig = Rig::candidate();
        assert_eq!(rig.hear_all(3, here(token(strength))), sent);
        assert_eq!(rig.state(), State::Waiter);
        assert_eq!(rig.pass_time(WAITER_TIMEOUT - ms(1)), [""; 0]);
    }
}

#[test]
fn a_stronger_take_token_makes_it_owner() {
    let mut rig = Rig::candidate();
    let sent = rig.hear(3, take(token(11)));
    assert_eq!(sent[0], "TOKEN_IS_HERE 11-n3-1 to n3");
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(rig.pass_time(ms(9)), [""; 0], "the candidacy is over");
    assert_eq!(rig.token(), "11-n3-1");
}

#[test]
fn take_token_not_stronger_than_known_is_not_answered() {
    let mut rig = Rig::candidate();
    assert_eq!(rig.hear(3, take(token(10))), [""; 0]);
    assert_eq!(rig.state(), State::Generating);
}

#[test]
fn an_elected_owner_passes_after_idle_hold() {
    let mut rig = Rig::candidate();
    rig.pass_time(ANSWER_TIMEOUT);
    let sent = rig.timeline(ms(10));
    assert_eq!(sent, [(ms(10), "TAKE_TOKEN 12-n5-1 to n3".into())]);
}

#[test]
fn the_last_known_data_is_the_new_tokens() {
    let mut rig = Rig::waiter();
    rig.hear_all(
        3,
        Message::TokenIsHere {
            token: token(10),
            digest: super::rig::SAME,
            data: b"cargo",
            beat: None,
        },
    );
    rig.pass_time(WAITER_TIMEOUT + 2 * ANSWER_TIMEOUT);
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(rig.machine.data(), b"cargo");
}

#[test]
fn an_unsent_first_heartbeat_is_repeated_as_it_was_although_the_clock_went_back() {
    let mut rig = Rig::candidate();
    rig.now.wall = 5_000_000_000;
    rig.refuse = |_| true;
    rig.pass_time(ANSWER_TIMEOUT);
    let first = rig
        .machine
        .token()
        .expect("the token is known before its first heartbeat");
    rig.now.wall = 1_000;
    rig.refuse = |_| false;
    rig.pass_time(TAKE_TIMEOUT);
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(rig.machine.token(), Some(first));
}
