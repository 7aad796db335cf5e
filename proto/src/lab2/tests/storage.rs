//! Tests of a state file that cannot be written.

use super::rig::*;
use crate::lab2::{Command, Event, Reason, State};

/// Makes all writes fail from now on.
fn fail_writes(mut rig: Rig) -> Rig {
    rig.disk_full = true;
    rig
}

/// Returns the paused flag of the last broadcast PING.
fn announced_pause(rig: &mut Rig) -> Option<bool> {
    let sent = rig.pass_time(ms(0));
    assert!(sent.len() <= 1, "{sent:?}");
    let frame = rig.frames.last().filter(|_| sent == ["PING to all"])?;
    match decode(frame).message {
        ring_codec::lab2::Message::Ping { paused, .. } => Some(paused),
        _ => None,
    }
}

#[test]
fn a_token_that_cannot_be_stored_stays_with_its_giver() {
    let mut rig = fail_writes(Rig::waiter());
    assert_eq!(rig.hear(3, take(token(11))), [""; 0], "no acknowledgement");
    assert_eq!(rig.state(), State::Looser);
    assert!(!rig.machine.may_use_token());
    assert_eq!(rig.token(), "10-n3-1", "the token that was stored last");
    assert_eq!(announced_pause(&mut rig), Some(true));
    // The giver repeats its offer, and this node answers at once.
    assert_eq!(rig.hear(3, take(token(11))), ["PING to n3"]);
    assert!(rig.events.contains(&Event::StorageChanged { failed: true }));
}

#[test]
fn an_owner_that_cannot_store_its_offer_makes_none_and_loses_the_token() {
    let mut rig = fail_writes(Rig::owner());
    let sent = rig.pass_time(IDLE_HOLD);
    assert_eq!(sent, ["PING to all"]);
    assert_eq!(rig.state(), State::Looser);
    assert!(rig.events.iter().any(|event| matches!(
        event,
        Event::StateChanged {
            reason: Reason::NotStored,
            ..
        }
    )));
    assert_eq!(rig.token(), "11-n3-1");
}

#[test]
fn a_candidate_that_cannot_store_the_token_is_not_elected() {
    let mut rig = fail_writes(Rig::candidate());
    let sent = rig.pass_time(ANSWER_TIMEOUT + 3 * LOOSER_TIMEOUT);
    let tells = sent.iter().find(|line| line.contains("TOKEN_IS_HERE"));
    assert_eq!(tells, None, "{sent:?}");
    assert!(
        !sent.iter().any(|line| line.starts_with("GENERATING")),
        "{sent:?}"
    );
    assert_ne!(rig.state(), State::Owner);
}

#[test]
fn a_waiter_does_not_name_a_token_that_it_cannot_store() {
    let mut rig = fail_writes(Rig::waiter());
    rig.hear_all(3, here(token(20)));
    assert_eq!(rig.state(), State::Waiter);
    assert_eq!(announced_pause(&mut rig), Some(true));
    let sent = rig.hear(3, take(token(15)));
    assert_eq!(sent, ["PING to n3"]);
    rig.hear(4, ping(ip(4)));
    let sent = rig.hear_all(4, ring_codec::lab2::Message::WhereIsToken);
    assert_eq!(sent, ["TOKEN_WAS_HERE_RECENTLY 10-n3-1 at n3 to n4"]);
}

#[test]
fn a_node_that_can_store_again_announces_it_and_accepts_the_token() {
    let mut rig = fail_writes(Rig::waiter());
    rig.hear_all(3, here(token(20)));
    assert_eq!(announced_pause(&mut rig), Some(true));
    rig.disk_full = false;
    let sent = rig.pass_time(HEARTBEAT);
    assert_eq!(sent, ["PING to all"]);
    assert!(rig.machine.is_stored());
    assert!(
        rig.events
            .contains(&Event::StorageChanged { failed: false })
    );
    rig.hear(3, take(token(21)));
    assert_eq!(rig.state(), State::Owner);
}

#[test]
fn a_failed_write_is_announced_once() {
    let mut rig = fail_writes(Rig::waiter());
    rig.hear_all(3, here(token(20)));
    let mut sent = Vec::new();
    for n in 21..30 {
        sent.extend(rig.hear_all(3, here(token(n))));
        sent.extend(rig.pass_time(HEARTBEAT / 2));
    }
    let told = sent.iter().filter(|line| *line == "PING to all").count();
    assert_eq!(told, 1, "{sent:?}");
}

#[test]
fn work_with_a_stored_token_goes_on() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    let mut rig = fail_writes(rig);
    rig.pass_time(WAITER_TIMEOUT);
    assert!(rig.machine.may_use_token());
}
