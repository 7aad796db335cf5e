//! Tests of `docs/reference/lab2/states.md O11` and W2: a token survives although some members know a stronger token
//! whose holder is dead.

use ring_codec::lab2::PROGRESS_MAX;

use super::rig::{
    BLANK, HEARTBEAT, Rig, TAKE_TIMEOUT, constants, here, mac, ms, ping, take, token, token_of,
    was_here,
};
use crate::lab2::{Command, Constants, Event, Reason, State, StoredState};

/// A token of another chain that is weaker than 10-n3-1.
const WEAKER: ring_codec::lab2::Token = token_of(9, 7, 1);
const OBJECTION: &str = "TOKEN_WAS_HERE_RECENTLY 10-n3-1 at n3 to n7";

/// Returns the time after which a node assumes that a known token is lost, if the node hears nothing of this token.
fn silent_after() -> std::time::Duration {
    HEARTBEAT + 2 * TAKE_TIMEOUT
}

/// Returns a WAITER that knows 10-n3-1 and has heard of n7's weaker token for a while.
fn waiter() -> Rig {
    let mut rig = Rig::waiter();
    rig.hear(7, ping(super::rig::ip(7)));
    rig.stall(silent_after());
    rig
}

#[test]
fn a_waiter_objects_to_a_weaker_token_of_another_chain() {
    let mut rig = waiter();
    assert_eq!(rig.hear_all(7, here(WEAKER)), [OBJECTION]);
    assert_eq!(rig.state(), State::Waiter);
    assert_eq!(rig.token(), "10-n3-1");
    assert_eq!(rig.machine.heard_about_token(), Some(rig.now.monotonic));
}

#[test]
fn a_waiter_objects_once_per_heart_beat_period() {
    let mut rig = waiter();
    assert_eq!(rig.hear_all(7, here(WEAKER)), [OBJECTION]);
    rig.stall(HEARTBEAT - ms(1));
    assert_eq!(rig.hear_all(7, here(WEAKER)), [""; 0]);
    assert_eq!(rig.hear(7, here(WEAKER)), [""; 0]);
    rig.stall(ms(1));
    assert_eq!(rig.hear(7, here(WEAKER)), [OBJECTION]);
}

#[test]
fn a_waiter_does_not_object_while_the_stronger_holder_is_heard() {
    let mut rig = waiter();
    rig.hear_all(3, here(token(10)));
    rig.stall(silent_after() - ms(1));
    assert_eq!(rig.hear_all(7, here(WEAKER)), [""; 0]);
    rig.hear_all(3, here(token(11)));
    rig.stall(silent_after() - ms(1));
    assert_eq!(rig.hear_all(7, here(WEAKER)), [""; 0]);
    rig.stall(ms(1));
    assert_eq!(rig.hear_all(7, here(WEAKER)).len(), 1);
}

#[test]
fn news_of_a_stronger_token_gives_its_holder_time_to_be_heard() {
    let mut rig = waiter();
    rig.hear(3, was_here(token(12), 3));
    assert_eq!(rig.hear_all(7, here(WEAKER)), [""; 0]);
    rig.stall(silent_after());
    rig.hear(3, was_here(token(12), 3));
    let sent = rig.hear_all(7, here(WEAKER));
    assert_eq!(
        sent,
        ["TOKEN_WAS_HERE_RECENTLY 12-n3-1 at n3 to n7"],
        "no news"
    );
}

#[test]
fn an_overtaken_heartbeat_of_the_same_chain_is_not_answered() {
    let mut rig = waiter();
    assert_eq!(rig.hear_all(7, here(token(9))), [""; 0]);
    assert_eq!(rig.hear_all(7, here(token(10))), ["PING to n7"]);
}

#[test]
fn a_looser_objects_to_a_weaker_token_as_it_becomes_waiter() {
    let known = Some(token(10));
    let durable = StoredState { known, ..BLANK };
    let (mut rig, _) = Rig::start(constants(), durable);
    rig.hear(7, ping(super::rig::ip(7)));
    assert_eq!(
        rig.hear_all(7, here(WEAKER)),
        [OBJECTION],
        "after a restart"
    );
    assert_eq!(rig.state(), State::Waiter);
}

#[test]
fn an_owner_mints_beyond_a_stronger_token_of_another_chain() {
    for want in [true, false] {
        let mut rig = Rig::owner();
        if want {
            rig.command(Command::WantToken);
        }
        let sent = rig.hear(7, was_here(token_of(40, 7, 1), 9));
        assert_eq!(sent, ["TOKEN_IS_HERE 42-n5-1 to all"]);
        assert!(rig.machine.may_use_token());
        assert_eq!(rig.machine.owner(), Some(mac(5)));
        let minted = Some(token_of(42, 5, 1));
        assert_eq!(
            (rig.durable.known, rig.durable.my_token_number),
            (minted, 1)
        );
        assert!(rig.events.contains(&Event::StateChanged {
            from: State::Owner,
            to: State::Owner,
            reason: Reason::StrongerToken,
            token: minted,
        }));
        let again = rig.hear(3, was_here(token_of(40, 7, 1), 9));
        assert_eq!(again, [""; 0], "n3 knows the same as n7");
    }
}

#[test]
fn an_owner_that_mints_goes_on_with_its_work() {
    let mut rig = Rig::owner();
    rig.pass_time(ms(4));
    rig.hear(7, was_here(token_of(40, 7, 1), 9));
    let sent = rig.timeline(ms(6));
    assert_eq!(sent, [(ms(6), "TAKE_TOKEN 43-n5-1 to n7".into())]);
}

#[test]
fn an_owner_does_not_mint_for_a_weaker_token_or_its_own_chain() {
    for told in [token_of(11, 7, 1), token_of(9, 1, 1), token(11), token(12)] {
        let mut rig = Rig::owner();
        assert_eq!(rig.hear(7, was_here(told, 9)), [""; 0]);
        assert_eq!(rig.token(), "11-n3-1");
    }
}

#[test]
fn an_owner_does_not_mint_at_the_largest_progress() {
    let forged = token_of(PROGRESS_MAX - 1, 7, 1);
    let mut rig = Rig::owner();
    let sent = rig.hear(7, was_here(forged, 7));
    assert_eq!(sent, [format!("TOKEN_IS_HERE {PROGRESS_MAX}-n5-1 to all")]);
    let forged = token_of(PROGRESS_MAX, 1, 1);
    for _ in 0..3 {
        assert_eq!(rig.hear(7, was_here(forged, 7)), [""; 0]);
        assert_eq!(rig.durable.my_token_number, 1);
    }
}

#[test]
fn during_a_handover_news_of_a_stronger_token_completes_it() {
    let mut rig = Rig::giver();
    assert_eq!(rig.hear(9, was_here(token_of(40, 9, 1), 9)), [""; 0]);
    assert_eq!(rig.state(), State::Waiter);
}

#[test]
fn an_offer_weaker_than_the_known_token_is_refused() {
    let mut rig = waiter();
    assert_eq!(rig.hear(7, take(WEAKER)), [OBJECTION]);
}

#[test]
fn a_giver_that_gives_way_does_not_object() {
    let constants = Constants {
        take_timeout: ms(60),
        take_attempts: 5,
        ..constants()
    };
    let (mut rig, _) = Rig::start(constants, BLANK);
    rig.hear(3, take(token(11)));
    let sent = rig.pass_time(ms(250));
    assert!(
        sent.contains(&"TAKE_TOKEN 12-n3-1 to n3".into()),
        "{sent:?}"
    );
    let between = token_of(11, 2, 1);
    assert_eq!(rig.hear(7, here(between)), ["PING to n7"]);
    assert_eq!(rig.state(), State::Waiter);
}
