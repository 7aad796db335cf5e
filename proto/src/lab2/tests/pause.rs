//! Tests of pauses (`docs/reference/lab2/faults.md Z1` to Z5): a paused member takes part, but never owns the token.

use ring_codec::lab2::{Message, NO_IP};

use super::rig::{
    ANSWER_TIMEOUT, HEARTBEAT, IDLE_HOLD, IN_VAIN, LOOSER_TIMEOUT, OTHER, Rig, SAME, TAKE_TIMEOUT,
    WAITER_TIMEOUT, constants, decode, generating, here, mac, ms, ping, take, token, token_of,
    was_here,
};
use crate::LinkState;
use crate::lab2::{Command, Constants, Event, FOREVER, Pause, Reason, State};

const OFFER: &str = "TAKE_TOKEN 12-n3-1 to n7";
const PING: &str = "PING to all";
const WANT: &str = "WANT_TOKEN to all";
const PAUSE: Command = Command::Pause(Some(Pause::PLAIN));
const RESUME: Command = Command::Pause(None);

fn paused_ping() -> Message<'static> {
    Message::Ping {
        digest: SAME,
        ip: NO_IP,
        promise: None,
        paused: true,
    }
}

/// Returns the paused flags of the last PINGs.
fn pings(rig: &Rig) -> Vec<bool> {
    let told = rig.frames.iter().filter_map(|it| match decode(it).message {
        Message::Ping { paused, .. } => Some(paused),
        _ => None,
    });
    told.collect()
}

fn paused_waiter() -> Rig {
    let mut rig = Rig::waiter();
    assert_eq!(rig.command(PAUSE), [PING]);
    assert_eq!(pings(&rig), [true]);
    rig
}

/// Returns an OWNER that knows that n7 is paused and n3 is not.
fn owner_beside_a_paused_member() -> Rig {
    let mut rig = Rig::owner();
    rig.hear_all(7, paused_ping());
    rig
}

fn offers(sent: &[String]) -> Vec<&str> {
    let lines = sent.iter().map(String::as_str);
    lines.filter(|line| line.starts_with("TAKE")).collect()
}

#[test]
fn a_paused_owner_hands_over_at_once_idle_or_not() {
    assert_eq!(Rig::owner().command(PAUSE), [PING, OFFER]);
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    assert_eq!(rig.command(PAUSE), [PING, OFFER]);
    assert_eq!(pings(&rig), [true]);
    assert!(!rig.machine.may_use_token());
    rig.hear(7, here(token(12)));
    assert_eq!(rig.state(), State::Waiter);
    assert!(rig.machine.is_paused());
}

#[test]
fn a_paused_giver_goes_on_with_its_offer() {
    let mut rig = Rig::giver();
    assert_eq!(rig.command(PAUSE), [PING]);
    assert_eq!(rig.pass_time(TAKE_TIMEOUT), [OFFER]);
}

#[test]
fn a_paused_node_refuses_offers_with_ping() {
    let looser = || {
        let mut rig = Rig::asking();
        rig.command(PAUSE);
        rig
    };
    for mut rig in [paused_waiter(), looser()] {
        let state = rig.state();
        assert_eq!(rig.hear(3, take(token(11))), ["PING to n3"]);
        assert_eq!(pings(&rig), [true]);
        assert_eq!(rig.state(), state);
        assert_eq!(rig.token(), "10-n3-1", "a refused token is not known");
    }
}

#[test]
fn a_paused_node_answers_weaker_offers_as_usual() {
    let mut rig = paused_waiter();
    let sent = rig.hear(9, take(token(9)));
    assert_eq!(sent, ["TOKEN_WAS_HERE_RECENTLY 10-n3-1 at n3 to n9"]);
}

#[test]
fn every_ping_of_a_paused_node_announces_the_pause() {
    let mut rig = paused_waiter();
    rig.pass_time(HEARTBEAT);
    rig.hear_all(3, here(token(10)));
    assert_eq!(pings(&rig), [true], "the answer to a heartbeat");
    rig.hear_all(9, here(token(11)));
    assert_eq!(pings(&rig), [true], "the greeting of a new member");
    rig.command(RESUME);
    assert_eq!(pings(&rig), [false]);
    rig.pass_time(HEARTBEAT);
    rig.hear_all(9, here(token(11)));
    assert_eq!(pings(&rig), [false]);
}

#[test]
fn a_pause_is_announced_once() {
    let mut rig = paused_waiter();
    assert_eq!(rig.command(PAUSE), [""; 0]);
    assert_eq!(rig.command(RESUME), [PING]);
    assert_eq!(rig.command(RESUME), [""; 0]);
}

#[test]
fn a_paused_node_looks_for_the_token_but_does_not_stand() {
    let mut rig = paused_waiter();
    let sent = rig.pass_time(WAITER_TIMEOUT + 10 * LOOSER_TIMEOUT);
    assert_eq!(sent, vec!["WHERE_IS_TOKEN to all"; 11]);
    assert_eq!(rig.state(), State::Looser);
}

#[test]
fn a_paused_node_does_not_stand_against_a_weaker_candidate() {
    let mut rig = Rig::asking();
    rig.command(PAUSE);
    assert_eq!(
        rig.hear_all(9, generating(token_of(1, 9, 1))),
        ["PING to n9"]
    );
    assert_eq!(rig.state(), State::Looser);
}

#[test]
fn a_paused_candidate_stands_down() {
    let mut rig = Rig::candidate();
    assert_eq!(rig.command(PAUSE), [PING]);
    assert_eq!(rig.state(), State::Looser);
    assert!(rig.events.iter().any(|event| matches!(
        event,
        Event::StateChanged {
            reason: Reason::Paused,
            ..
        }
    )));
    let sent = rig.timeline(2 * LOOSER_TIMEOUT);
    let asks = (LOOSER_TIMEOUT, "WHERE_IS_TOKEN to all".to_owned());
    assert_eq!(sent.first(), Some(&asks), "the others have their time");
    assert_eq!(rig.state(), State::Looser);
}

#[test]
fn a_resumed_node_stands_again() {
    let mut rig = Rig::asking();
    rig.command(PAUSE);
    rig.pass_time(ANSWER_TIMEOUT);
    rig.command(RESUME);
    rig.pass_time(LOOSER_TIMEOUT + 2 * ANSWER_TIMEOUT);
    assert_eq!(rig.state(), State::Owner);
}

#[test]
fn a_paused_owner_without_a_taker_keeps_the_token_unused() {
    let mut rig = Rig::owner();
    rig.hear_all(3, paused_ping());
    rig.hear_all(7, paused_ping());
    rig.command(Command::WantToken);
    assert_eq!(rig.command(PAUSE), [PING]);
    let sent = rig.pass_time(3 * HEARTBEAT);
    assert_eq!(offers(&sent), [""; 0]);
    assert_eq!(sent.len(), 3, "the node continues its heartbeats: {sent:?}");
    assert_eq!(rig.state(), State::Owner);
    assert!(!rig.machine.may_use_token());
    // An operator resumes one of the members.
    rig.hear_all(3, ping(NO_IP));
    assert_eq!(
        offers(&rig.pass_time(IDLE_HOLD)),
        ["TAKE_TOKEN 12-n3-1 to n3"]
    );
}

#[test]
fn a_resumed_owner_may_use_the_kept_token() {
    let mut rig = Rig::owner();
    rig.hear_all(3, paused_ping());
    rig.hear_all(7, paused_ping());
    rig.command(Command::WantToken);
    rig.command(PAUSE);
    assert_eq!(rig.command(RESUME), [PING]);
    assert!(rig.machine.may_use_token());
    rig.hear_all(3, ping(NO_IP));
    let sent = rig.pass_time(HEARTBEAT);
    assert_eq!(offers(&sent), [""; 0], "the owner has work");
}

#[test]
fn a_paused_owner_without_a_taker_tries_again_every_heartbeat() {
    let patient = Constants {
        idle_hold: FOREVER,
        ..constants()
    };
    let mut rig = Rig::owner_with(patient);
    rig.command(PAUSE);
    let sent = rig.pass_time(HEARTBEAT);
    assert!(
        offers(&sent).iter().any(|it| it.ends_with("to n3")),
        "{sent:?}"
    );
    assert_eq!(rig.state(), State::Owner);
    // The members were skipped once because they were paused.
    let sent = rig.pass_time(4 * HEARTBEAT);
    assert!(!offers(&sent).is_empty(), "{sent:?}");
}

#[test]
fn a_paused_member_is_offered_nothing_until_it_announces_the_end() {
    let mut rig = owner_beside_a_paused_member();
    assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 12-n3-1 to n3"]);
    let mut rig = owner_beside_a_paused_member();
    rig.hear_all(7, ping(NO_IP));
    assert_eq!(rig.pass_time(IDLE_HOLD), [OFFER]);
    // Other frames do not announce the pause.
    let mut rig = owner_beside_a_paused_member();
    rig.hear(7, was_here(token(1), 3));
    assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 12-n3-1 to n3"]);
}

#[test]
fn an_owner_among_paused_members_hands_over_once_one_is_resumed() {
    let mut rig = owner_beside_a_paused_member();
    rig.hear_all(3, paused_ping());
    assert_eq!(offers(&rig.pass_time(3 * HEARTBEAT)), [""; 0]);
    rig.hear_all(3, ping(NO_IP));
    assert_eq!(
        offers(&rig.pass_time(IDLE_HOLD)),
        ["TAKE_TOKEN 12-n3-1 to n3"]
    );
}

#[test]
fn a_giver_tries_the_next_member_when_its_successor_is_paused() {
    let mut rig = Rig::giver();
    let sent = rig.hear(7, paused_ping());
    assert_eq!(sent, [IN_VAIN, "TAKE_TOKEN 14-n5-1 to n3"]);
    let failed = |event: &Event| matches!(event, Event::HandoverFailed { to, .. } if *to == mac(7));
    assert_eq!(rig.events.iter().filter(|event| failed(event)).count(), 1);
    assert_eq!(rig.pass_time(TAKE_TIMEOUT), ["TAKE_TOKEN 14-n5-1 to n3"]);
}

#[test]
fn a_paused_node_that_shares_an_address_causes_no_storm_of_offers() {
    let mut rig = owner_beside_a_paused_member();
    rig.hear_all(3, paused_ping());
    for first in [true, false] {
        // Each of the members also sends frames of other kinds than WANT_TOKEN.
        rig.hear(7, ping(NO_IP));
        let sent = rig.hear_all(7, Message::WantToken);
        assert_eq!(offers(&sent).len(), 1, "{sent:?}");
        let failed = rig.hear(7, paused_ping()) != [""; 0];
        assert_eq!(failed, first);
    }
    assert_eq!(
        offers(&rig.pass_time(TAKE_TIMEOUT)).len(),
        1,
        "the offer has its time"
    );
}

#[test]
fn a_ping_is_answered_with_at_most_the_next_offer_and_a_part_of_the_table() {
    let mut rig = Rig::giver();
    for n in 8..=250 {
        rig.hear(n, was_here(token(1), 3));
    }
    assert!(rig.members().len() > 132);
    let other = Message::Ping {
        digest: OTHER,
        ip: NO_IP,
        promise: None,
        paused: true,
    };
    let sent = rig.hear(7, other);
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!(offers(&sent).len(), 1, "{sent:?}");
}

#[test]
fn a_giver_ignores_the_pause_of_other_members() {
    let mut rig = Rig::giver();
    assert_eq!(rig.hear(3, paused_ping()), [""; 0]);
    assert_eq!(rig.pass_time(TAKE_TIMEOUT), [OFFER]);
}

#[test]
fn a_paused_node_does_not_request_the_token() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    assert_eq!(rig.command(PAUSE), [PING, OFFER]);
    rig.hear(7, here(token(12)));
    for number in 1..4 {
        assert_eq!(
            rig.pass_time(HEARTBEAT),
            [""; 0],
            "after {number} heartbeats"
        );
        rig.hear_all(7, here(token(12)));
    }
    let sent = rig.command(RESUME);
    assert_eq!(sent, [PING, WANT]);
    assert_eq!(rig.pass_time(HEARTBEAT), [WANT]);
}

#[test]
fn a_member_that_asks_for_the_token_or_has_left_is_not_paused() {
    let is_paused = |rig: &Rig| {
        let mut members = rig.machine.members();
        members.find(|it| it.mac == mac(7)).map(|it| it.paused)
    };
    for over in [Message::WantToken, Message::Leaving] {
        let mut rig = Rig::waiter();
        rig.hear_all(7, paused_ping());
        assert_eq!(is_paused(&rig), Some(true));
        rig.hear_all(7, over);
        assert_eq!(is_paused(&rig), Some(false));
    }
}

#[test]
fn a_paused_member_confirms_the_holder() {
    let mut rig = paused_waiter();
    for _ in 0..5 {
        rig.pass_time(HEARTBEAT - ms(1));
        rig.hear_all(3, here(token(10)));
    }
    let heartbeat_with_beat = Message::TokenIsHere {
        token: token(10),
        digest: SAME,
        data: b"",
        beat: Some(7),
    };
    rig.hear_all(3, heartbeat_with_beat);
    let promised = rig.frames.iter().any(|it| {
        let message = decode(it).message;
        matches!(
            message,
            Message::Ping {
                promise: Some(_),
                paused: true,
                ..
            }
        )
    });
    assert!(promised);
}

#[test]
fn a_pause_without_a_link_counts_when_the_link_is_up() {
    let mut rig = Rig::waiter();
    rig.link(LinkState::Down);
    assert_eq!(rig.command(PAUSE), [""; 0]);
    rig.link_up();
    rig.pass_time(5 * LOOSER_TIMEOUT);
    assert_eq!(rig.state(), State::Looser);
    rig.hear(3, take(token(20)));
    assert_eq!(pings(&rig), [true]);
}

#[test]
fn a_node_that_shuts_down_cannot_be_paused() {
    let mut rig = Rig::owner();
    assert_eq!(rig.command(Command::ShutDown), [OFFER]);
    assert_eq!(rig.command(PAUSE), [""; 0]);
    assert!(!rig.machine.is_paused());
}
