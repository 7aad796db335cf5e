//! Tests of `docs/reference/lab2/passing.md P30` to P32: requests for the token, and the order in which members get the
//! token.

use std::time::Duration;

use ring_codec::lab2::{Message, NO_IP, Token};

use super::rig::{
    ANSWER_TIMEOUT, HAND_OVER, HEARTBEAT, IDLE_HOLD, Rig, TAKE_TIMEOUT, WAITER_TIMEOUT, constants,
    here, ms, ping, take, token, token_of, was_here,
};
use crate::lab2::{Command, Constants, State};

const WANT: &str = "WANT_TOKEN to all";

#[test]
fn a_member_with_work_broadcasts_want_token_at_once_and_every_heart_beat_period() {
    let mut rig = Rig::waiter();
    assert_eq!(rig.command(Command::WantToken), [WANT]);
    let sent = rig.timeline(3 * HEARTBEAT);
    let every: Vec<_> = (1..=3).map(|n| (n * HEARTBEAT, WANT.into())).collect();
    assert_eq!(sent, every);
}

#[test]
fn a_member_with_work_requests_the_token_in_every_state_but_owner() {
    let without = vec![Rig::waiter(), Rig::asking(), Rig::candidate(), Rig::giver()];
    for mut rig in without {
        assert_eq!(rig.command(Command::WantToken), [WANT]);
    }
    let mut rig = Rig::owner();
    assert_eq!(rig.command(Command::WantToken), [""; 0]);
}

#[test]
fn a_request_goes_on_through_an_election() {
    let mut rig = Rig::waiter();
    rig.pass_time(HEARTBEAT / 2);
    rig.command(Command::WantToken);
    let mut sent = rig.timeline(WAITER_TIMEOUT);
    rig.hear(3, ping(NO_IP));
    sent.extend(rig.timeline(2 * ANSWER_TIMEOUT + 3 * HEARTBEAT));
    assert_eq!(rig.state(), State::Owner);
    let wants: Vec<_> = sent.iter().filter(|(_, line)| line == WANT).collect();
    assert_eq!(wants.len(), 5, "every 100 ms up to the election: {sent:?}");
}

/// Broadcasts do not reach the holder, so the holder keeps the token indefinitely.
#[test]
fn after_waiter_timeout_the_request_is_also_sent_to_the_holder_by_unicast() {
    let mut rig = Rig::waiter();
    rig.command(Command::WantToken);
    let mut sent = Vec::new();
    let mut passes = |rig: &mut Rig, time| {
        for _ in 0..time {
            sent.extend(rig.hear_all(3, here(token(10))));
            sent.extend(rig.pass_time(HEARTBEAT));
        }
        std::mem::take(&mut sent)
    };
    let alone = |sent: &[String]| sent.iter().filter(|it| *it == "WANT_TOKEN to n3").count();
    let sent = passes(&mut rig, 4);
    assert_eq!(alone(&sent), 1, "{sent:?}");
    let sent = passes(&mut rig, 8);
    assert_eq!(alone(&sent), 2, "{sent:?}");
    rig.command(Command::WorkDone);
    rig.command(Command::WantToken);
    let sent = passes(&mut rig, 3);
    assert_eq!(alone(&sent), 0, "{sent:?}");
}

#[test]
fn a_request_ends_when_the_token_comes() {
    let mut rig = Rig::waiter();
    rig.command(Command::WantToken);
    rig.hear(3, take(token(11)));
    let sent = rig.pass_time(5 * HEARTBEAT);
    assert!(!sent.contains(&WANT.into()));
}

#[test]
fn a_request_ends_when_the_work_is_given_up() {
    let mut rig = Rig::waiter();
    rig.command(Command::WantToken);
    rig.command(Command::WorkDone);
    assert_eq!(rig.pass_time(3 * HEARTBEAT), [""; 0]);
}

#[test]
fn an_owner_with_work_keeps_the_token() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    assert_eq!(rig.hear_all(3, Message::WantToken), [""; 0]);
    let sent = rig.pass_time(ms(1_000));
    assert!(sent.iter().all(|line| line.starts_with("TOKEN_IS_HERE")));
}

#[test]
fn an_owner_without_work_hands_over_at_once_to_a_member_that_wants_the_token() {
    let mut rig = Rig::owner();
    let sent = rig.hear_all(3, Message::WantToken);
    assert_eq!(
        sent,
        ["TAKE_TOKEN 12-n3-1 to n3"],
        "not to n7, the next one"
    );
}

#[test]
fn an_owner_whose_work_is_done_hands_over_to_the_next_wanting_member() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    for n in [2, 9, 8] {
        rig.hear_all(n, Message::WantToken);
    }
    assert_eq!(rig.command(Command::WorkDone), ["TAKE_TOKEN 12-n3-1 to n8"]);
    rig.hear(8, here(token(12)));
    // n7 has had the token. n9 and n2 still want the token.
    let sent = rig.hear(7, take(token(20)));
    assert!(
        sent.contains(&"TAKE_TOKEN 21-n3-1 to n9".into()),
        "{sent:?}"
    );
    rig.hear(9, here(token(21)));
    let sent = rig.hear(9, take(token(30)));
    assert!(
        sent.contains(&"TAKE_TOKEN 31-n3-1 to n2".into()),
        "{sent:?}"
    );
}

#[test]
fn every_node_remembers_the_wanting_members_until_its_own_turn() {
    for mut rig in vec![Rig::waiter(), Rig::asking(), Rig::candidate()] {
        rig.hear_all(7, Message::WantToken);
        let sent = rig.hear(3, take(token(50)));
        assert!(
            sent.contains(&"TAKE_TOKEN 51-n3-1 to n7".into()),
            "{sent:?}"
        );
    }
}

#[test]
fn a_request_is_served_when_this_node_hands_over_to_its_member() {
    let mut rig = Rig::owner();
    rig.hear_all(7, Message::WantToken);
    rig.hear(7, here(token(12)));
    rig.hear(3, take(token(13)));
    assert_eq!(rig.pass_time(IDLE_HOLD - ms(1)), [""; 0]);
}

#[test]
fn a_request_after_the_offer_is_a_new_one() {
    let mut rig = Rig::owner();
    rig.hear_all(7, Message::WantToken);
    // n7 has taken the token, handed it over and asked again before n5 learns of the handover.
    rig.hear_all(7, Message::WantToken);
    rig.hear(7, was_here(token(13), 3));
    let sent = rig.hear(3, take(token(14)));
    assert!(
        sent.contains(&"TAKE_TOKEN 15-n3-1 to n7".into()),
        "{sent:?}"
    );
}

#[test]
fn a_request_is_served_when_its_member_hands_over_to_this_node() {
    let mut rig = Rig::waiter();
    rig.hear_all(7, Message::WantToken);
    rig.hear(7, take(token(11)));
    assert_eq!(rig.pass_time(IDLE_HOLD - ms(1)), [""; 0]);
}

#[test]
fn a_request_is_served_when_its_member_holds_the_token() {
    let mut rig = Rig::waiter();
    rig.hear_all(7, Message::WantToken);
    rig.hear_all(7, here(token(11)));
    rig.hear(3, take(token(12)));
    assert_eq!(
        rig.pass_time(IDLE_HOLD - ms(1)),
        [""; 0],
        "n7 has had the token"
    );
}

#[test]
fn a_request_ends_when_its_member_fails_or_leaves() {
    let mut rig = Rig::owner();
    rig.hear_all(7, Message::WantToken);
    rig.pass_time(HAND_OVER);
    rig.hear(3, here(token_of(14, 5, 1)));
    rig.hear(3, take(token_of(15, 5, 1)));
    assert_eq!(rig.pass_time(IDLE_HOLD - ms(1)), [""; 0]);

    let mut rig = Rig::waiter();
    rig.hear_all(7, Message::WantToken);
    rig.hear_all(7, Message::Leaving);
    rig.hear(3, take(token(11)));
    assert_eq!(rig.pass_time(IDLE_HOLD - ms(1)), [""; 0]);
}

#[test]
fn after_a_failed_handover_the_next_wanting_member_comes_before_work_here() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    for n in [7, 3] {
        rig.hear_all(n, Message::WantToken);
    }
    assert_eq!(rig.command(Command::WorkDone), ["TAKE_TOKEN 12-n3-1 to n7"]);
    assert_eq!(rig.command(Command::WantToken), [WANT]);
    let sent = rig.pass_time(HAND_OVER);
    assert_eq!(sent.last().unwrap(), "TAKE_TOKEN 14-n5-1 to n3", "{sent:?}");
}

#[test]
fn a_busy_owner_serves_all_although_one_never_takes_the_token() {
    let mut rig = Rig::owner();
    let mut served = 0;
    for _ in 0..10 {
        rig.command(Command::WantToken);
        for n in [7, 3] {
            rig.hear_all(n, Message::WantToken);
        }
        rig.pass_time(HEARTBEAT);
        rig.command(Command::WorkDone);
        rig.command(Command::WantToken);
        let sent = rig.pass_time(HAND_OVER);
        let is_offer = |line: &String| line.starts_with("TAKE_TOKEN") && line.ends_with("to n3");
        served += usize::from(sent.iter().any(is_offer));
        let held = rig.machine.token().expect("held");
        let after = |hops| Token {
            progress: held.progress + hops,
            ..held
        };
        rig.hear(3, here(after(1)));
        rig.hear(3, take(after(2)));
        assert_eq!(rig.state(), State::Owner);
    }
    assert_eq!(served, 10);
}

#[test]
fn want_token_does_not_make_a_member_eligible_that_has_just_failed() {
    let mut rig = Rig::owner();
    rig.hear_all(3, Message::Leaving);
    rig.hear_all(7, Message::WantToken);
    rig.pass_time(HAND_OVER);
    assert!(rig.machine.may_use_token());
    assert_eq!(rig.hear_all(7, Message::WantToken), [""; 0]);
    rig.hear(7, ping(NO_IP));
    let sent = rig.hear_all(7, Message::WantToken);
    assert_eq!(sent, ["TAKE_TOKEN 14-n5-1 to n7"]);
}

#[test]
fn a_failed_member_that_asks_again_has_its_turn_in_the_next_tenure() {
    let mut rig = Rig::owner();
    for n in [7, 3] {
        rig.hear_all(n, Message::WantToken);
    }
    let sent = rig.pass_time(HAND_OVER);
    assert_eq!(sent.last().unwrap(), "TAKE_TOKEN 14-n5-1 to n3", "{sent:?}");
    rig.hear_all(7, Message::WantToken);
    rig.hear(3, here(token_of(14, 5, 1)));
    let sent = rig.hear(3, take(token_of(15, 5, 1)));
    assert!(
        sent.contains(&"TAKE_TOKEN 16-n5-1 to n7".into()),
        "{sent:?}"
    );
}

#[test]
fn want_token_of_a_penalized_member_makes_it_eligible_at_once() {
    let mut rig = Rig::owner();
    rig.hear_all(7, Message::Leaving);
    let sent = rig.hear_all(7, Message::WantToken);
    assert_eq!(sent, ["TAKE_TOKEN 12-n3-1 to n7"]);
}

#[test]
fn a_handover_with_work_left_is_followed_by_want_token() {
    let mut rig = Rig::giver();
    rig.command(Command::WantToken);
    assert_eq!(rig.hear(7, here(token(12))), [WANT]);
}

#[test]
fn an_owner_that_loses_its_token_with_work_left_sends_want_token() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    let sent = rig.hear(7, here(token(20)));
    assert_eq!(sent, ["PING to n7", WANT]);
}

#[test]
fn an_owner_with_work_that_accepts_a_stronger_token_does_not_request_it() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig.stall(HEARTBEAT);
    assert_eq!(
        rig.hear(7, take(token(20))),
        [
            "TOKEN_IS_HERE 20-n3-1 to n7",
            "TOKEN_IS_HERE 20-n3-1 to all"
        ]
    );
}

#[test]
fn a_giver_that_wants_the_token_again_acknowledges_without_cancelling_its_request() {
    let constants = Constants {
        idle_hold: Duration::ZERO,
        ..constants()
    };
    let mut rig = Rig::waiter_with(constants);
    rig.hear(7, ping(NO_IP));
    assert_eq!(rig.hear(3, take(token(11))), ["TAKE_TOKEN 12-n3-1 to n7"]);
    assert_eq!(rig.command(Command::WantToken), [WANT]);
    let sent = rig.pass_time(ms(1));
    assert_eq!(sent, ["TOKEN_WAS_HERE_RECENTLY 12-n3-1 at n7 to n3"]);
}

/// TOKEN_IS_HERE cancels the requests of its author at all members. Found by the simulator: a slow member took a
/// giver's offer, and handed the token on. Meanwhile the giver sent a heartbeat, and this heartbeat canceled the
/// giver's own request. So the next owners skipped the giver.
#[test]
fn a_giver_that_wants_the_token_again_repeats_it_after_its_heartbeat() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig.pass_time(HEARTBEAT - ms(1));
    rig.hear_all(7, Message::WantToken);
    rig.command(Command::WorkDone);
    assert_eq!(rig.command(Command::WantToken), [WANT]);
    let sent = rig.pass_time(TAKE_TIMEOUT);
    let is_here = sent
        .iter()
        .position(|line| line == "TOKEN_IS_HERE 11-n3-1 to all");
    let after = &sent[is_here.expect("a heartbeat")..];
    assert!(after.iter().any(|line| line == WANT), "{sent:?}");
}

#[test]
fn an_owner_acknowledges_before_its_work_begins() {
    let constants = Constants {
        idle_hold: ms(1),
        ..constants()
    };
    let mut rig = Rig::waiter_with(constants);
    assert_eq!(rig.hear(3, take(token(11))), [""; 0]);
    let sent = rig.command(Command::WantToken);
    assert_eq!(sent, ["TOKEN_IS_HERE 11-n3-1 to n3"]);
}

#[test]
fn a_leaving_node_requests_nothing() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig.command(Command::ShutDown);
    let sent = rig.hear(7, was_here(token(12), 7));
    assert_eq!(sent, ["LEAVING to all"]);
}

#[test]
fn a_new_member_that_wants_the_token_gets_it_from_a_lone_owner_at_once() {
    let mut rig = Rig::looser();
    rig.pass_time(ms(250));
    let sent = rig.hear_all(7, Message::WantToken);
    assert_eq!(sent, ["TAKE_TOKEN 2-n5-1 to n7", "PING to n7"]);
    rig.hear(7, ping(NO_IP));
}
