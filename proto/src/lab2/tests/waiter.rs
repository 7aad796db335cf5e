//! Tests of WAITER (`docs/reference/lab2/states.md W1` to W9).

use std::time::Duration;

use ring_codec::lab2::Message;

use super::rig::{
    IDLE_HOLD, LOOSER_TIMEOUT, Rig, WAITER_TIMEOUT, generating, here, ms, take, token, token_of,
    was_here,
};
use crate::lab2::{Event, Reason, State};

#[test]
fn token_is_here_updates_heard_about_token() {
    let mut rig = Rig::waiter();
    rig.stall(ms(300));
    assert_eq!(rig.hear_all(3, here(token(10))), ["PING to n3"]);
    assert_eq!(rig.machine.heard_about_token(), Some(rig.now.monotonic));
    assert_eq!(rig.pass_time(WAITER_TIMEOUT - ms(1)), [""; 0]);
    assert_eq!(rig.state(), State::Waiter);
    assert_eq!(rig.pass_time(ms(1)), ["WHERE_IS_TOKEN to all"]);
}

#[test]
fn a_token_is_here_that_waited_counts_from_its_arrival() {
    let mut rig = Rig::waiter();
    rig.stall(ms(300));
    rig.hear_late(3, here(token(10)), ms(50));
    assert_eq!(rig.pass_time(WAITER_TIMEOUT - ms(51)), [""; 0]);
    assert_eq!(rig.pass_time(ms(1)), ["WHERE_IS_TOKEN to all"]);
}

#[test]
fn a_unicast_token_is_here_counts() {
    let mut rig = Rig::waiter();
    rig.stall(ms(300));
    rig.hear(3, here(token(10)));
    assert_eq!(rig.machine.heard_about_token(), Some(rig.now.monotonic));
}

#[test]
fn only_token_is_here_and_handovers_update_heard_about_token() {
    let messages = [
        was_here(token(11), 3),
        Message::WhereIsToken,
        generating(token(11)),
        take(token(9)),
        Message::WantToken,
        Message::Leaving,
    ];
    for message in messages {
        let mut rig = Rig::waiter();
        let heard = rig.machine.heard_about_token();
        rig.stall(ms(300));
        rig.hear(3, message);
        assert_eq!(rig.machine.heard_about_token(), heard, "{message:?}");
        rig.pass_time(ms(100));
        assert_eq!(rig.state(), State::Looser, "{message:?}");
    }
}

#[test]
fn an_accepted_offer_updates_heard_about_token() {
    let mut rig = Rig::waiter();
    rig.stall(ms(300));
    rig.hear(3, take(token(11)));
    assert_eq!(rig.machine.heard_about_token(), Some(rig.now.monotonic));
}

#[test]
fn a_completed_handover_updates_heard_about_token() {
    let mut rig = Rig::giver();
    rig.stall(ms(2));
    rig.hear(7, was_here(token(12), 7));
    assert_eq!(rig.state(), State::Waiter);
    assert_eq!(rig.machine.heard_about_token(), Some(rig.now.monotonic));
    assert_eq!(rig.pass_time(WAITER_TIMEOUT - ms(1)), [""; 0]);
    assert_eq!(rig.pass_time(ms(1)), ["WHERE_IS_TOKEN to all"]);
}

#[test]
fn take_token_is_compared_with_the_strongest_token_seen() {
    let mut rig = Rig::waiter();
    rig.hear(3, was_here(token(15), 7));
    rig.hear(3, take(token(14)));
    assert_eq!(rig.state(), State::Waiter);
    rig.hear(3, take(token(16)));
    assert_eq!(rig.state(), State::Owner);
}

#[test]
fn take_token_not_stronger_than_known_is_answered_with_token_was_here_recently() {
    for offer in [token(10), token(9), token_of(10, 4, 1)] {
        let mut rig = Rig::waiter();
        let sent = rig.hear(7, take(offer));
        assert_eq!(sent, ["TOKEN_WAS_HERE_RECENTLY 10-n3-1 at n3 to n7"]);
        assert_eq!(rig.state(), State::Waiter);
    }
}

#[test]
fn after_waiter_timeout_a_waiter_becomes_looser() {
    let mut rig = Rig::waiter();
    assert_eq!(rig.pass_time(WAITER_TIMEOUT - ms(1)), [""; 0]);
    assert_eq!(rig.pass_time(ms(1)), ["WHERE_IS_TOKEN to all"]);
    assert!(rig.events.contains(&Event::StateChanged {
        from: State::Waiter,
        to: State::Looser,
        reason: Reason::WaiterTimeout,
        token: Some(token(10)),
    }));
    assert_eq!(rig.machine.owner(), None);
}

#[test]
fn the_holders_data_is_known_with_its_token() {
    let mut rig = Rig::waiter();
    let message = |progress, data| Message::TokenIsHere {
        token: token(progress),
        digest: super::rig::SAME,
        data,
        beat: None,
    };
    rig.hear_all(3, message(10, b"new"));
    assert_eq!(rig.machine.data(), b"new", "the same token, changed data");
    rig.hear_all(3, message(9, b"old"));
    assert_eq!(rig.machine.data(), b"new", "a weaker token's data");
    rig.hear_all(3, message(11, b""));
    assert_eq!(rig.machine.data(), b"");
}

#[test]
fn a_token_taken_brings_its_data() {
    let mut rig = Rig::waiter();
    let message = Message::TakeToken {
        token: token(11),
        digest: super::rig::SAME,
        data: b"cargo",
    };
    rig.hear(3, message);
    assert_eq!(rig.machine.data(), b"cargo");
    rig.pass_time(IDLE_HOLD);
    let passed_on = super::rig::decode(&rig.frames[0]).message;
    assert!(
        matches!(passed_on, Message::TakeToken { data: b"cargo", .. }),
        "{passed_on:?}"
    );
}

#[test]
fn a_process_stalled_for_longer_than_waiter_timeout_wakes_up_as_looser() {
    let mut rig = Rig::waiter();
    rig.stall(WAITER_TIMEOUT * 10);
    assert_eq!(rig.wake(), ["WHERE_IS_TOKEN to all"]);
    let sent = rig.timeline(LOOSER_TIMEOUT / 2);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(
        sent[0].0 > Duration::ZERO,
        "the node waits for answers first"
    );
}
