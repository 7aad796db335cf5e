//! Tests of OWNER (`docs/reference/lab2/states.md O1` to O10): heartbeats, other tokens, acceptance and
//! acknowledgement.

use std::time::Duration;

use ring_codec::lab2::Message;

use super::rig::{
    HEARTBEAT, IDLE_HOLD, Rig, SAME, TAKE_TIMEOUT, constants, decode, here, ms, take, token,
    token_of,
};
use crate::lab2::{Command, Constants, Event, Reason, State};

/// Returns an OWNER of 11-n3-1 with work.
fn owner_with_work() -> Rig {
    let mut rig = Rig::owner();
    assert_eq!(rig.command(Command::WantToken), [""; 0]);
    rig
}

fn no_idle_hold() -> Constants {
    Constants {
        idle_hold: Duration::ZERO,
        ..constants()
    }
}

#[test]
fn token_is_here_is_broadcast_every_heart_beat_period() {
    let mut rig = owner_with_work();
    let heartbeat = || "TOKEN_IS_HERE 11-n3-1 to all".to_owned();
    let sent = rig.timeline(ms(450));
    let expected: Vec<_> = (1..=4).map(|n| (ms(100 * n), heartbeat())).collect();
    assert_eq!(sent, expected);
}

#[test]
fn token_is_here_is_broadcast_at_once_whenever_the_data_changes() {
    let mut rig = owner_with_work();
    rig.pass_time(ms(30));
    let sent = rig.command(Command::SetData(b"news".into()));
    assert_eq!(sent, ["TOKEN_IS_HERE 11-n3-1 to all"]);
    let message = decode(&rig.frames[0]).message;
    assert!(matches!(
        message,
        Message::TokenIsHere { data: b"news", .. }
    ));
    let next = rig.timeline(HEARTBEAT);
    assert_eq!(next.len(), 1, "the period begins again: {next:?}");
    assert_eq!(next[0].0, HEARTBEAT);
}

#[test]
fn data_are_refused_if_they_are_too_long_or_the_node_is_no_free_owner() {
    let mut rig = owner_with_work();
    assert_eq!(rig.command(Command::SetData(vec![1; 1025])), [""; 0]);
    assert_eq!(rig.machine.data(), b"");
    assert_eq!(rig.command(Command::SetData(vec![1; 1024])).len(), 1);
    for mut rig in vec![Rig::waiter(), Rig::asking(), Rig::candidate(), Rig::giver()] {
        assert_eq!(rig.command(Command::SetData(b"x".into())), [""; 0]);
        assert_eq!(rig.machine.data(), b"");
        let refused = |event: &Event| matches!(event, Event::DataRefused { may_use: false, .. });
        assert!(rig.events.iter().any(refused));
    }
}

#[test]
fn a_new_owner_broadcasts_if_no_heartbeat_came_within_a_period() {
    let mut rig = Rig::waiter();
    rig.stall(HEARTBEAT - IDLE_HOLD / 2 - ms(1));
    assert_eq!(rig.hear(3, take(token(11))).len(), 1);

    let mut rig = Rig::waiter();
    rig.stall(HEARTBEAT);
    assert_eq!(
        rig.hear(3, take(token(11))),
        [
            "TOKEN_IS_HERE 11-n3-1 to n3",
            "TOKEN_IS_HERE 11-n3-1 to all"
        ]
    );
}

#[test]
fn a_unicast_heartbeat_does_not_count_as_broadcast() {
    let mut rig = Rig::waiter();
    rig.stall(HEARTBEAT);
    rig.hear(3, here(token(10)));
    assert_eq!(rig.hear(3, take(token(11))).len(), 2);
}

#[test]
fn a_new_owner_does_not_broadcast_if_it_did_within_a_period() {
    let mut rig = owner_with_work();
    rig.pass_time(HEARTBEAT);
    rig.hear(7, here(token(20)));
    assert_eq!(rig.state(), State::Waiter);
    let sent = rig.hear(7, take(token(21)));
    assert_eq!(sent, ["TOKEN_IS_HERE 21-n3-1 to n7"]);
}

#[test]
fn a_new_owners_heartbeats_follow_the_last_one_heard() {
    let mut rig = Rig::waiter();
    rig.stall(ms(40));
    rig.command(Command::WantToken);
    rig.hear(3, take(token(11)));
    let sent = rig.timeline(ms(70));
    assert_eq!(sent, [(ms(60), "TOKEN_IS_HERE 11-n3-1 to all".into())]);
}

#[test]
fn an_acknowledgement_waits_for_a_quick_handover_for_a_quarter_of_take_timeout() {
    let mut rig = Rig::waiter_with(no_idle_hold());
    let sent = rig.hear(3, take(token(11)));
    assert_eq!(sent, ["TAKE_TOKEN 12-n3-1 to n3"]);
    let sent = rig.timeline(TAKE_TIMEOUT / 4);
    assert_eq!(sent, [(ms(1), "TOKEN_IS_HERE 11-n3-1 to n3".into())]);
}

#[test]
fn an_acknowledgement_after_the_token_went_on_names_the_known_token() {
    let mut rig = Rig::waiter_with(no_idle_hold());
    rig.hear(7, Message::WantToken);
    assert_eq!(rig.hear(3, take(token(11))), ["TAKE_TOKEN 12-n3-1 to n7"]);
    rig.hear(7, here(token(12)));
    assert_eq!(rig.state(), State::Waiter);
    let sent = rig.pass_time(TAKE_TIMEOUT / 4);
    assert_eq!(sent, ["TOKEN_WAS_HERE_RECENTLY 12-n3-1 at n7 to n3"]);
}

#[test]
fn no_acknowledgement_is_sent_once_the_token_has_come_round_again() {
    let mut rig = Rig::waiter_with(no_idle_hold());
    rig.hear(3, take(token(11)));
    let sent = rig.hear(3, take(token(13)));
    assert_eq!(sent, ["TAKE_TOKEN 14-n3-1 to n3"]);
    let sent = rig.timeline(TAKE_TIMEOUT / 4);
    assert_eq!(
        sent,
        [(ms(1), "TOKEN_IS_HERE 13-n3-1 to n3".into())],
        "only the second offer is acknowledged"
    );
}

#[test]
fn no_acknowledgement_is_sent_after_a_broadcast() {
    let mut rig = Rig::waiter_with(no_idle_hold());
    rig.stall(HEARTBEAT);
    assert_eq!(
        rig.hear(3, take(token(11))),
        ["TOKEN_IS_HERE 11-n3-1 to all", "TAKE_TOKEN 12-n3-1 to n3"]
    );
    assert_eq!(rig.pass_time(TAKE_TIMEOUT / 2), [""; 0]);
}

#[test]
fn an_owner_with_work_acknowledges_at_once_whatever_the_idle_hold() {
    for mut rig in [Rig::waiter_with(no_idle_hold()), Rig::waiter()] {
        rig.command(Command::WantToken);
        let sent = rig.hear(3, take(token(11)));
        assert_eq!(
            sent,
            ["TOKEN_IS_HERE 11-n3-1 to n3"],
            "the acknowledgement precedes the work"
        );
    }
}

#[test]
fn another_nodes_stronger_token_destroys_this_one() {
    for all in [false, true] {
        let mut rig = owner_with_work();
        let sent = if all {
            rig.hear_all(7, here(token_of(12, 7, 1)))
        } else {
            rig.hear(7, here(token_of(12, 7, 1)))
        };
        assert!(sent.contains(&"PING to n7".into()), "{sent:?}");
        assert_eq!(rig.state(), State::Waiter);
        assert!(!rig.machine.may_use_token());
        assert_eq!(rig.token(), "12-n7-1");
        assert!(rig.events.contains(&Event::StateChanged {
            from: State::Owner,
            to: State::Waiter,
            reason: Reason::StrongerToken,
            token: Some(token_of(12, 7, 1)),
        }));
    }
}

/// If frames of two owners take long to arrive, each owner answers old heartbeats of the other owner. Without a pause,
/// each answer would cause two more answers.
#[test]
fn weaker_tokens_of_other_chains_are_answered_again_after_a_pause() {
    let mut rig = owner_with_work();
    assert_eq!(rig.hear_all(7, here(token_of(10, 7, 1))).len(), 2);
    rig.pass_time(TAKE_TIMEOUT - ms(1));
    assert_eq!(rig.hear_all(7, here(token_of(10, 7, 1))), [""; 0]);
    rig.pass_time(ms(1));
    assert_eq!(rig.hear_all(3, here(token_of(9, 7, 1))).len(), 2);
}

#[test]
fn old_tokens_of_the_own_chain_are_answered_once_per_period() {
    let mut rig = owner_with_work();
    assert_eq!(rig.hear_all(7, here(token(9))).len(), 2);
    assert_eq!(rig.hear_all(7, here(token(9))), [""; 0]);
    assert_eq!(rig.hear_all(3, here(token(8))), [""; 0]);
    rig.pass_time(HEARTBEAT);
    assert_eq!(rig.hear_all(3, here(token(8))).len(), 2);
}

/// In a fast rotation, the token can overtake a heartbeat. The token would also overtake the answer to this heartbeat,
/// and the next owner would send two more answers.
#[test]
fn an_overtaken_heartbeat_of_the_own_chain_is_not_answered() {
    let mut rig = Rig::waiter();
    rig.hear(3, take(token(15)));
    for overtaken in [14, 11] {
        assert_eq!(rig.hear_all(3, here(token(overtaken))), [""; 0]);
    }
    assert_eq!(rig.hear_all(3, here(token(10))).len(), 2);
}

#[test]
fn a_take_token_that_is_not_stronger_is_answered_with_token_is_here() {
    for offer in [token(10), token_of(11, 4, 1)] {
        let mut rig = Rig::owner();
        let sent = rig.hear(7, take(offer));
        assert_eq!(sent, ["TOKEN_IS_HERE 11-n3-1 to n7"]);
        assert_eq!(rig.token(), "11-n3-1");
    }
}

#[test]
fn all_members_have_the_data_of_the_token_that_they_know() {
    let mut rig = Rig::owner();
    rig.command(Command::SetData(b"cargo".into()));
    rig.hear_all(7, Message::WhereIsToken);
    let answer = decode(&rig.frames[0]).message;
    assert!(matches!(
        answer,
        Message::TokenIsHere { data: b"cargo", .. }
    ));
    rig.hear(
        7,
        Message::TakeToken {
            token: token(20),
            digest: SAME,
            data: b"other",
        },
    );
    let acknowledgement = decode(&rig.frames[0]).message;
    assert!(matches!(
        acknowledgement,
        Message::TokenIsHere { data: b"other", .. }
    ));
}
