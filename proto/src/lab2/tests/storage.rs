//! A state file that cannot be written.

use super::rig::*;
use crate::lab2::{Command, Event, Reason, State};

/// Nothing can be stored from here on.
fn full(mut rig: Rig) -> Rig {
    rig.disk_full = true;
    rig
}

/// What the node told all of itself last.
fn says_that_it_owns_nothing(rig: &mut Rig) -> Option<bool> {
    let said = rig.pass_time(ms(0));
    assert!(said.len() <= 1, "{said:?}");
    let frame = rig.frames.last().filter(|_| said == ["PING to all"])?;
    match decode(frame).message {
        ring_codec::lab2::Message::Ping { paused, .. } => Some(paused),
        _ => None,
    }
}

#[test]
fn a_token_that_cannot_be_stored_stays_with_its_giver() {
    let mut rig = full(Rig::waiter());
    assert_eq!(rig.hear(3, take(token(11))), [""; 0], "no acknowledgement");
    assert_eq!(rig.state(), State::Looser);
    assert!(!rig.machine.may_use_token());
    assert_eq!(rig.token(), "10-n3-1", "what was stored last");
    assert_eq!(says_that_it_owns_nothing(&mut rig), Some(true));
    // The giver repeats itself, and is told at once.
    assert_eq!(rig.hear(3, take(token(11))), ["PING to n3"]);
    assert!(rig.events.contains(&Event::StorageChanged { failed: true }));
}

#[test]
fn an_owner_that_cannot_store_its_offer_makes_none_and_loses_the_token() {
    let mut rig = full(Rig::owner());
    let said = rig.pass_time(IDLE_HOLD);
    assert_eq!(said, ["PING to all"]);
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
    let mut rig = full(Rig::candidate());
    let said = rig.pass_time(ANSWER_TIMEOUT + 3 * LOOSER_TIMEOUT);
    let tells = said.iter().find(|line| line.contains("TOKEN_IS_HERE"));
    assert_eq!(tells, None, "{said:?}");
    assert!(
        !said.iter().any(|line| line.starts_with("GENERATING")),
        "{said:?}"
    );
    assert_ne!(rig.state(), State::Owner);
}

#[test]
fn a_waiter_does_not_name_a_token_that_it_cannot_store() {
    let mut rig = full(Rig::waiter());
    rig.hear_all(3, here(token(20)));
    assert_eq!(rig.state(), State::Waiter);
    assert_eq!(says_that_it_owns_nothing(&mut rig), Some(true));
    let said = rig.hear(3, take(token(15)));
    assert_eq!(said, ["PING to n3"]);
    rig.hear(4, ping(ip(4)));
    let said = rig.hear_all(4, ring_codec::lab2::Message::WhereIsToken);
    assert_eq!(said, ["TOKEN_WAS_HERE_RECENTLY 10-n3-1 at n3 to n4"]);
}

#[test]
fn a_node_that_can_store_again_announces_it_and_accepts_the_token() {
    let mut rig = full(Rig::waiter());
    rig.hear_all(3, here(token(20)));
    assert_eq!(says_that_it_owns_nothing(&mut rig), Some(true));
    rig.disk_full = false;
    let said = rig.pass_time(HEARTBEAT);
    assert_eq!(said, ["PING to all"]);
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
    let mut rig = full(Rig::waiter());
    rig.hear_all(3, here(token(20)));
    let mut said = Vec::new();
    for n in 21..30 {
        said.extend(rig.hear_all(3, here(token(n))));
        said.extend(rig.pass_time(HEARTBEAT / 2));
    }
    let told = said.iter().filter(|line| *line == "PING to all").count();
    assert_eq!(told, 1, "{said:?}");
}

#[test]
fn work_with_a_stored_token_goes_on() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    let mut rig = full(rig);
    rig.pass_time(WAITER_TIMEOUT);
    assert!(rig.machine.may_use_token());
}
