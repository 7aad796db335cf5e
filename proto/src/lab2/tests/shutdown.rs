//! Tests of shutdown (`docs/reference/lab2/faults.md Z6` to Z9): the node first hands the token over and then sends
//! LEAVING.

use ring_codec::lab2::{Message, NO_IP};

use super::rig::{
    ANSWER_TIMEOUT, HAND_OVER, HEARTBEAT, IN_VAIN, Rig, TAKE_TIMEOUT, here, ip, mac, ms, ping,
    take, token, token_of, was_here,
};
use crate::lab2::{Command, Constants, DropReason, Event, Pause, State};
use crate::{LinkState, Machine};

const OFFER: &str = "TAKE_TOKEN 12-n3-1 to n7";
const LEAVING: &str = "LEAVING to all";

fn leaving_owner() -> Rig {
    let mut rig = Rig::owner();
    assert_eq!(rig.command(Command::ShutDown), [OFFER]);
    rig
}

#[test]
fn an_owner_hands_the_token_over_once_and_then_sends_leaving() {
    for prior in [Command::WorkDone, Command::WantToken] {
        let mut rig = Rig::owner();
        rig.command(prior);
        assert_eq!(rig.command(Command::ShutDown), [OFFER]);
        assert_eq!(rig.command(Command::ShutDown), [""; 0]);
        assert!(!rig.machine.is_finished());
        assert_eq!(rig.hear(7, here(token(12))), [LEAVING]);
        assert!(rig.machine.is_finished());
    }
}

#[test]
fn a_giver_waits_for_its_handover() {
    let mut rig = Rig::giver();
    assert_eq!(rig.command(Command::ShutDown), [""; 0]);
    assert_eq!(rig.pass_time(TAKE_TIMEOUT), [OFFER]);
    assert_eq!(rig.hear(7, was_here(token(12), 7)), [LEAVING]);
}

#[test]
fn after_a_successor_that_does_not_answer_the_next_is_tried() {
    let mut rig = leaving_owner();
    let sent = rig.pass_time(HAND_OVER);
    assert_eq!(sent, [OFFER, OFFER, IN_VAIN, "TAKE_TOKEN 14-n5-1 to n3"]);
    assert_eq!(rig.hear(3, here(token_of(14, 5, 1))), [LEAVING]);
}

#[test]
fn without_a_successor_the_node_leaves() {
    let mut rig = leaving_owner();
    let sent = rig.pass_time(2 * HAND_OVER);
    assert_eq!(sent.last().unwrap(), LEAVING);
    assert!(rig.machine.is_finished());
}

#[test]
fn a_lone_owner_leaves_at_once() {
    for paused in [false, true] {
        let mut rig = Rig::looser();
        rig.pass_time(2 * ANSWER_TIMEOUT);
        rig.command(Command::Pause(paused.then_some(Pause::PLAIN)));
        assert_eq!(rig.state(), State::Owner);
        assert_eq!(rig.command(Command::ShutDown), [LEAVING]);
        assert!(rig.machine.is_finished());
    }
}

#[test]
fn a_node_without_the_token_leaves_at_once() {
    for mut rig in vec![Rig::waiter(), Rig::asking(), Rig::candidate()] {
        assert_eq!(rig.command(Command::ShutDown), [LEAVING]);
        assert!(rig.machine.is_finished());
    }
}

#[test]
fn without_a_link_nothing_is_sent() {
    let mut rig = Rig::waiter();
    rig.link(LinkState::Down);
    assert_eq!(rig.command(Command::ShutDown), [""; 0]);
    assert!(rig.machine.is_finished());

    let mut rig = leaving_owner();
    assert_eq!(rig.link(LinkState::Down), [""; 0]);
    assert!(rig.machine.is_finished());
}

#[test]
fn a_node_that_is_shutting_down_accepts_no_take_token() {
    for offer in [token(20), token_of(12, 9, 1)] {
        let mut rig = leaving_owner();
        let sent = rig.hear(3, take(offer));
        assert!(!sent.iter().any(|line| line.starts_with("TOKEN_IS_HERE")));
        assert_ne!(
            rig.machine.token().filter(|_| rig.state() == State::Owner),
            Some(offer)
        );
    }
}

#[test]
fn a_finished_node_sends_and_receives_nothing() {
    let mut rig = Rig::waiter();
    rig.command(Command::ShutDown);
    rig.events.clear();
    assert_eq!(rig.hear(3, take(token(20))), [""; 0]);
    let reason = DropReason::NotListening;
    assert_eq!(rig.events, [Event::Dropped { reason }]);
    assert_eq!(rig.command(Command::WantToken), [""; 0]);
    assert_eq!(rig.command(Command::ShutDown), [""; 0]);
    assert_eq!(rig.link(LinkState::Down), [""; 0]);
    assert_eq!(rig.link_up(), [""; 0]);
    assert_eq!(rig.pass_time(ms(5_000)), [""; 0]);
    assert_eq!(rig.machine.poll_timeout(), None);
}

#[test]
fn heartbeats_go_on_until_the_token_is_handed_over() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig.pass_time(HEARTBEAT - ms(1));
    rig.command(Command::ShutDown);
    let sent = rig.pass_time(TAKE_TIMEOUT);
    assert!(
        sent.contains(&"TOKEN_IS_HERE 11-n3-1 to all".into()),
        "{sent:?}"
    );
}

#[test]
fn an_unsent_offer_is_repeated_during_a_shutdown() {
    let mut rig = Rig::owner();
    rig.refuse = |_| true;
    rig.command(Command::ShutDown);
    rig.refuse = |_| false;
    rig.command(Command::WantToken);
    assert_eq!(rig.pass_time(TAKE_TIMEOUT), [OFFER]);
}

#[test]
fn no_heartbeat_follows_leaving() {
    let mut rig = Rig::owner_with(Constants::default());
    rig.pass_time(HEARTBEAT - TAKE_TIMEOUT);
    rig.refuse = |line| line.starts_with("TAKE_TOKEN");
    rig.command(Command::ShutDown);
    rig.hear_all(3, Message::Leaving);
    rig.hear_all(7, Message::Leaving);
    let sent = rig.pass_time(HEARTBEAT);
    assert_eq!(
        sent.last().map(String::as_str),
        Some("LEAVING to all"),
        "{sent:?}"
    );
}

#[test]
fn leave_without_a_shutdown_has_no_effect() {
    let mut rig = Rig::owner();
    assert_eq!(rig.command(Command::Leave), [""; 0]);
    assert_eq!(rig.state(), State::Owner);
}

#[test]
fn a_member_that_leaves_is_passed_over_from_then_on_and_eligible_when_it_is_heard_again() {
    let mut rig = Rig::owner();
    rig.hear_all(7, Message::Leaving);
    assert_eq!(rig.penalty_of(7), 1 << 10);
    assert_eq!(rig.pass_time(ms(10)), ["TAKE_TOKEN 12-n3-1 to n3"]);

    let mut rig = Rig::owner();
    rig.hear_all(7, Message::Leaving);
    rig.hear(7, ping(NO_IP));
    assert_eq!(rig.penalty_of(7), 0);
    assert_eq!(rig.pass_time(ms(10)), [OFFER]);
}

/// Found by fuzzing: the node announced its data in heartbeats after LEAVING.
#[test]
fn no_command_causes_a_frame_after_leaving() {
    let mut rig = leaving_owner();
    assert_eq!(rig.command(Command::Leave), [LEAVING]);
    assert!(rig.machine.is_finished());
    assert!(!rig.machine.may_use_token());
    assert_eq!(rig.command(Command::SetData(b"late".to_vec())), [""; 0]);
    assert_eq!(rig.command(Command::WantToken), [""; 0]);
    assert_eq!(rig.command(Command::WorkDone), [""; 0]);
    assert_eq!(rig.pass_time(ms(5_000)), [""; 0]);
}

/// Found by fuzzing: the node finished its shutdown, but then asked for the token.
#[test]
fn a_node_whose_address_changes_while_it_shuts_down_is_finished_and_silent() {
    let mut rig = leaving_owner();
    let sent = rig.link(LinkState::Up {
        mac: mac(6),
        ip: ip(6),
        mtu: 1500,
    });
    assert_eq!(sent, [""; 0]);
    assert!(rig.machine.is_finished());
    assert_eq!(rig.pass_time(ms(5_000)), [""; 0]);
}
