//! Section 4, OWNER: a token that was acknowledged too late.

use std::time::Duration;

use super::rig::{
    HEARTBEAT, IDLE_HOLD, Rig, TAKE_TIMEOUT, here, ms, take, token, token_of, was_here,
};
use crate::lab2::{Command, State};

/// For how long nobody may rely on a token that was acknowledged too late.
fn unsure_for() -> Duration {
    HEARTBEAT + 3 * TAKE_TIMEOUT
}

/// A WAITER whose applications may rely on a token as soon as there is one.
fn settled() -> Rig {
    let mut rig = Rig::waiter();
    while rig.settles_in() > Duration::ZERO {
        rig.hear_all(3, here(token(10)));
        rig.sleep_through(HEARTBEAT);
    }
    rig.hear_all(3, here(token(10)));
    rig
}

#[test]
fn an_acknowledgement_that_leaves_in_time_leaves_no_unsure_for() {
    let mut rig = settled();
    rig.stalls = TAKE_TIMEOUT;
    assert_eq!(
        rig.hear(3, take(token(11))),
        ["TOKEN_IS_HERE 11-n3-1 to n3"]
    );
    assert_eq!(rig.settles_in(), Duration::ZERO);
}

#[test]
fn nobody_relies_on_a_token_whose_acknowledgement_left_too_late() {
    let mut rig = settled();
    rig.stalls = TAKE_TIMEOUT + ms(1);
    rig.hear(3, take(token(11)));
    rig.stalls = Duration::ZERO;
    assert!(rig.machine.may_use_token());
    assert_eq!(rig.settles_in(), unsure_for());
    assert_eq!(
        rig.wake(),
        ["TOKEN_IS_HERE 11-n3-1 to all"],
        "who knows better is to say so"
    );
    rig.hear(4, was_here(token_of(15, 5, 1), 5));
    assert_eq!(
        (rig.state(), rig.token().as_str()),
        (State::Waiter, "15-n5-1")
    );
}

#[test]
fn what_the_offer_has_waited_before_it_was_read_counts() {
    let mut rig = settled();
    rig.stalls = ms(1);
    rig.hear_late(3, take(token(11)), TAKE_TIMEOUT);
    assert_eq!(rig.settles_in(), unsure_for());
}

#[test]
fn nobody_relies_on_a_token_whose_acknowledgement_the_link_refuses() {
    let mut rig = settled();
    rig.refuse = |line| line.starts_with("TOKEN_IS_HERE");
    rig.hear(3, take(token(11)));
    assert_eq!(rig.settles_in(), unsure_for());
}

#[test]
fn work_that_waits_for_the_end_of_that_has_its_idle_hold_then() {
    let mut rig = settled();
    rig.command(Command::WantToken);
    rig.stalls = TAKE_TIMEOUT + ms(1);
    rig.hear(3, take(token(11)));
    rig.stalls = Duration::ZERO;
    rig.pass_time(unsure_for() + IDLE_HOLD - ms(1));
    let turn_is_over = |rig: &Rig| rig.machine.is_turn_over(rig.now.monotonic);
    assert_eq!((rig.state(), turn_is_over(&rig)), (State::Owner, false));
    rig.pass_time(ms(1));
    assert!(turn_is_over(&rig));
}

#[test]
fn a_token_without_work_goes_on_as_ever() {
    let mut rig = settled();
    rig.stalls = TAKE_TIMEOUT + ms(1);
    rig.hear(3, take(token(11)));
    rig.stalls = Duration::ZERO;
    let said = rig.pass_time(IDLE_HOLD);
    let offered = said
        .iter()
        .any(|line| line.starts_with("TAKE_TOKEN 12-n3-1"));
    assert!(offered, "{said:?}");
}
