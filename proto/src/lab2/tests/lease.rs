//! Tests of the lease. If an OWNER could not broadcast a heartbeat for WAITER_TIMEOUT, the other members may have
//! elected a new owner. So the OWNER gives the token up before it does anything else.

use ring_codec::lab2::Message;

use super::rig::{HEARTBEAT, IDLE_HOLD, Rig, TAKE_TIMEOUT, WAITER_TIMEOUT, here, ms, take, token};
use crate::lab2::{Command, Event, Reason, State};

const QUESTION: &str = "WHERE_IS_TOKEN to all";

fn owner_with_work() -> Rig {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig
}

fn refuse_heartbeats(line: &str) -> bool {
    line.starts_with("TOKEN_IS_HERE") && line.ends_with("to all")
}

#[test]
fn an_owner_that_can_send_no_heartbeat_for_waiter_timeout_becomes_looser() {
    let mut rig = owner_with_work();
    rig.refuse = refuse_heartbeats;
    rig.pass_time(WAITER_TIMEOUT - ms(1));
    assert_eq!(rig.state(), State::Owner);
    assert!(rig.pass_time(ms(1)).contains(&QUESTION.into()));
    assert_eq!(rig.state(), State::Looser);
    let reason = Reason::LeaseExpired;
    let changed =
        |event: &Event| matches!(event, Event::StateChanged { reason: r, .. } if *r == reason);
    assert!(rig.events.iter().any(changed));
}

#[test]
fn every_sent_heartbeat_restarts_the_lease() {
    let mut rig = owner_with_work();
    rig.pass_time(HEARTBEAT);
    rig.refuse = refuse_heartbeats;
    rig.pass_time(WAITER_TIMEOUT - ms(1));
    assert_eq!(rig.state(), State::Owner);
    rig.pass_time(ms(1));
    assert_eq!(rig.state(), State::Looser);
}

#[test]
fn a_new_owners_lease_counts_from_the_last_broadcast_heartbeat() {
    let mut rig = Rig::waiter();
    rig.command(Command::WantToken);
    rig.stall(ms(60));
    rig.hear(3, take(token(11)));
    rig.refuse = refuse_heartbeats;
    rig.pass_time(WAITER_TIMEOUT - ms(61));
    assert_eq!(rig.state(), State::Owner);
    rig.pass_time(ms(1));
    assert_eq!(rig.state(), State::Looser);
}

#[test]
fn a_stalled_owner_acts_as_looser_from_its_first_input_on() {
    let inputs: [fn(&mut Rig) -> Vec<String>; 7] = [
        Rig::wake,
        |rig| rig.hear_all(7, Message::WhereIsToken),
        |rig| rig.hear_all(7, here(token(1))),
        |rig| rig.hear(7, take(token(1))),
        |rig| rig.command(Command::WorkDone),
        |rig| rig.command(Command::SetData(b"x".into())),
        Rig::link_up,
    ];
    for (at, input) in inputs.into_iter().enumerate() {
        let mut rig = owner_with_work();
        rig.stall(WAITER_TIMEOUT);
        let sent = input(&mut rig);
        assert_ne!(rig.state(), State::Owner, "input {at}");
        assert!(!rig.machine.may_use_token());
        let as_owner =
            |line: &String| line.starts_with("TOKEN_IS_HERE") || line.starts_with("TAKE_TOKEN");
        assert!(!sent.iter().any(as_owner), "input {at}: {sent:?}");
        assert!(rig.machine.data().is_empty());
    }
}

#[test]
fn a_stalled_owner_that_wakes_up_just_in_time_is_owner() {
    let mut rig = owner_with_work();
    rig.stall(WAITER_TIMEOUT - ms(1));
    assert_eq!(rig.wake(), ["TOKEN_IS_HERE 11-n3-1 to all"]);
    assert_eq!(rig.state(), State::Owner);
}

#[test]
fn a_giver_has_a_lease_too() {
    let mut rig = Rig::giver();
    rig.stall(WAITER_TIMEOUT - IDLE_HOLD);
    assert_eq!(rig.wake(), [QUESTION]);
    assert_eq!(rig.state(), State::Looser);
    assert_eq!(rig.pass_time(2 * TAKE_TIMEOUT), [""; 0], "no more offers");
}

#[test]
fn a_token_that_was_given_up_is_still_known() {
    let mut rig = owner_with_work();
    rig.stall(WAITER_TIMEOUT);
    rig.wake();
    assert_eq!(rig.token(), "11-n3-1");
    let sent = rig.pass_time(ms(100));
    assert!(sent.contains(&"GENERATING_TOKEN 12-n5-1 to all".into()));
}

#[test]
fn an_owner_whose_work_outlasts_its_lease_requests_the_token_again() {
    let mut rig = owner_with_work();
    rig.stall(WAITER_TIMEOUT);
    let mut sent = rig.wake();
    sent.extend(rig.pass_time(HEARTBEAT));
    assert!(sent.contains(&"WANT_TOKEN to all".into()), "{sent:?}");
}
