//! Tests of frames that the link refuses: if a frame was not sent, the event that it announces has not happened.

use ring_codec::lab2::{Message, NO_IP};

use super::rig::{
    ANSWER_TIMEOUT, BLANK, HEARTBEAT, IDLE_HOLD, IN_VAIN, LOOSER_TIMEOUT, Rig, TAKE_TIMEOUT,
    constants, generating, here, mac, ms, ping, token, token_of,
};
use crate::lab2::{Command, Event, State};

fn everything(_: &str) -> bool {
    true
}

fn nothing(_: &str) -> bool {
    false
}

/// Returns an OWNER after the link refused its first offer. After this refusal, the link accepts frames.
fn owner_with_unsent_offer() -> Rig {
    let mut rig = Rig::owner();
    rig.refuse = everything;
    rig.pass_time(IDLE_HOLD);
    assert!(rig.machine.may_use_token(), "nothing was offered");
    rig.refuse = nothing;
    rig
}

#[test]
fn a_failed_send_is_counted_under_its_kind() {
    let mut rig = Rig::candidate();
    rig.refuse = everything;
    rig.pass_time(ANSWER_TIMEOUT);
    let kind = ring_codec::lab2::Kind::TokenIsHere;
    assert!(rig.events.contains(&Event::TransmitFailed { kind }));
    assert!(!rig.events.contains(&Event::Transmitted { kind }));
}

#[test]
fn a_looser_whose_candidacy_was_not_sent_stays_looser_and_asks_again() {
    let mut rig = Rig::asking();
    rig.refuse = |line| line.starts_with("GENERATING_TOKEN");
    assert_eq!(rig.pass_time(ANSWER_TIMEOUT), [""; 0]);
    assert_eq!(rig.state(), State::Looser);
    rig.refuse = nothing;
    let sent = rig.timeline(LOOSER_TIMEOUT);
    assert_eq!(
        sent,
        [
            (ANSWER_TIMEOUT, "WHERE_IS_TOKEN to all".into()),
            (2 * ANSWER_TIMEOUT, "GENERATING_TOKEN 11-n5-1 to all".into()),
        ]
    );
}

#[test]
fn a_looser_whose_counter_candidacy_was_not_sent_stays_looser() {
    let mut rig = Rig::asking();
    rig.refuse = everything;
    rig.hear_all(7, generating(token_of(2, 7, 1)));
    assert_eq!(rig.state(), State::Looser);
}

#[test]
fn a_candidate_is_owner_only_after_its_first_heartbeat_was_sent() {
    let mut rig = Rig::candidate();
    rig.refuse = everything;
    rig.pass_time(ANSWER_TIMEOUT + 3 * TAKE_TIMEOUT - ms(1));
    assert_eq!(rig.state(), State::Generating);
    assert!(!rig.machine.may_use_token());
    rig.refuse = nothing;
    let sent = rig.timeline(ms(1));
    assert_eq!(sent, [(ms(1), "TOKEN_IS_HERE 11-n5-1 to all".into())]);
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(rig.durable.my_token_number, 1, "one election, one number");
}

#[test]
fn an_unsent_question_is_repeated_after_take_timeout() {
    let mut rig = Rig::asking();
    rig.refuse = everything;
    rig.pass_time(ANSWER_TIMEOUT);
    rig.refuse = |line| line.starts_with("WHERE_IS_TOKEN");
    rig.pass_time(LOOSER_TIMEOUT + ms(1));
    assert_eq!(rig.state(), State::Looser);
    rig.refuse = nothing;
    assert_eq!(rig.timeline(TAKE_TIMEOUT).len(), 1);
}

#[test]
fn silence_after_an_unsent_question_means_nothing() {
    let (mut rig, _) = Rig::start(constants(), BLANK);
    rig.link(crate::LinkState::Down);
    rig.refuse = everything;
    rig.link_up();
    rig.pass_time(ms(1_000));
    assert_eq!(rig.state(), State::Looser);
    let stood = |event: &Event| {
        matches!(
            event,
            Event::StateChanged {
                to: State::Generating,
                ..
            }
        )
    };
    assert!(!rig.events.iter().any(stood));
    rig.refuse = nothing;
    let sent = rig.timeline(TAKE_TIMEOUT);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0].1, "WHERE_IS_TOKEN to all");
    let sent = rig.timeline(ANSWER_TIMEOUT);
    assert_eq!(sent.len(), 1, "{sent:?}");
}

#[test]
fn an_unsent_heartbeat_is_repeated_after_take_timeout() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig.refuse = everything;
    rig.pass_time(HEARTBEAT);
    rig.refuse = nothing;
    let sent = rig.timeline(TAKE_TIMEOUT + HEARTBEAT);
    let heartbeat = || "TOKEN_IS_HERE 11-n3-1 to all".into();
    assert_eq!(
        sent,
        [
            (TAKE_TIMEOUT, heartbeat()),
            (TAKE_TIMEOUT + HEARTBEAT, heartbeat())
        ]
    );
}

#[test]
fn an_unsent_offer_is_repeated_after_take_timeout() {
    let mut rig = owner_with_unsent_offer();
    let sent = rig.timeline(TAKE_TIMEOUT);
    assert_eq!(sent, [(TAKE_TIMEOUT, "TAKE_TOKEN 12-n3-1 to n7".into())]);
    assert!(!rig.machine.may_use_token());
}

#[test]
fn an_unsent_offer_may_go_to_another_member() {
    let mut rig = owner_with_unsent_offer();
    rig.hear_all(7, Message::Leaving);
    let sent = rig.pass_time(TAKE_TIMEOUT);
    assert_eq!(sent, ["TAKE_TOKEN 12-n3-1 to n3"]);
}

#[test]
fn an_unsent_offer_does_not_wait_for_idle_hold() {
    let mut rig = owner_with_unsent_offer();
    rig.command(Command::WantToken);
    rig.pass_time(TAKE_TIMEOUT);
    let sent = rig.command(Command::WorkDone);
    assert_eq!(sent, ["TAKE_TOKEN 12-n3-1 to n7"]);
}

/// Found on a real interface. Whenever a member asked for the token, the OWNER repeated its offer to the first member,
/// and the link refused this offer. So the OWNER never tried the other members, and never gave the token up.
#[test]
fn unsent_offers_fail_at_all_members_even_if_they_ask_meanwhile() {
    let mut rig = Rig::owner();
    rig.refuse = |line| line.starts_with("TAKE_TOKEN");
    for _ in 0..200 {
        for member in [3, 7] {
            rig.hear(member, ping(NO_IP));
            rig.hear_all(member, Message::WantToken);
        }
        rig.pass_time(TAKE_TIMEOUT / 2);
    }
    assert!(rig.machine.is_unfit());
}

#[test]
fn an_unsent_attempt_does_not_count() {
    let mut rig = Rig::giver();
    rig.refuse = |line| line.starts_with("TAKE_TOKEN");
    rig.pass_time(2 * TAKE_TIMEOUT);
    rig.refuse = nothing;
    let sent = rig.pass_time(3 * TAKE_TIMEOUT + TAKE_TIMEOUT / 2);
    let again = "TAKE_TOKEN 12-n3-1 to n7";
    assert_eq!(sent, [again, again, IN_VAIN, "TAKE_TOKEN 14-n5-1 to n3"]);
}

#[test]
fn a_handover_fails_if_its_repetitions_cannot_be_sent() {
    let mut rig = Rig::giver();
    rig.refuse = |line| line.starts_with("TAKE_TOKEN") && line.ends_with("n7");
    let sent = rig.pass_time(4 * TAKE_TIMEOUT);
    assert_eq!(
        sent,
        [IN_VAIN, "TAKE_TOKEN 14-n5-1 to n3"],
        "n7 may have received the first offer"
    );
}

#[test]
fn a_member_that_no_frame_can_be_sent_to_is_passed_over_without_minting() {
    let mut rig = Rig::owner();
    rig.refuse = |line| line.starts_with("TAKE_TOKEN") && line.ends_with("n7");
    let sent = rig.timeline(IDLE_HOLD + 3 * TAKE_TIMEOUT);
    let other = "TAKE_TOKEN 12-n3-1 to n3".to_owned();
    assert_eq!(sent, [(IDLE_HOLD + 3 * TAKE_TIMEOUT, other)]);
    let failed = Event::HandoverFailed {
        to: mac(7),
        in_a_row: 1,
        minted: None,
    };
    assert!(rig.events.contains(&failed), "{:?}", rig.events);
    assert_eq!(rig.penalty_of(7), 1);
}

#[test]
fn an_owner_that_can_send_no_unicast_keeps_its_lease_until_it_lets_go() {
    let mut rig = Rig::owner();
    rig.refuse = |line| !line.ends_with("to all");
    let mut let_go = None;
    for beat in 1..40 {
        rig.pass_time(HEARTBEAT);
        let state = rig.state();
        if state != State::Owner {
            let_go = Some(beat);
            break;
        }
        for member in [3, 7] {
            rig.hear_all(member, Message::WantToken);
        }
    }
    assert!(let_go.is_some_and(|beat| beat > 4), "{let_go:?}");
    assert!(rig.machine.is_unfit());
}

#[test]
fn an_unsent_offer_is_no_handover() {
    let mut rig = owner_with_unsent_offer();
    rig.hear(7, here(token(11)));
    assert_eq!(rig.state(), State::Owner);
}

#[test]
fn an_unsent_want_token_is_repeated_after_a_heart_beat_period() {
    let mut rig = Rig::waiter();
    rig.refuse = everything;
    rig.command(Command::WantToken);
    rig.refuse = nothing;
    let sent = rig.timeline(HEARTBEAT);
    assert_eq!(sent, [(HEARTBEAT, "WANT_TOKEN to all".into())]);
}

#[test]
fn an_unsent_leaving_does_not_keep_the_node() {
    let mut rig = Rig::waiter();
    rig.refuse = everything;
    rig.command(Command::ShutDown);
    assert!(rig.machine.is_finished());
}
