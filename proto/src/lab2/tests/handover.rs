//! Tests of the handover (`docs/reference/lab2/passing.md P1` to P29).

use std::time::Duration;

use ring_codec::lab2::{Kind, Message, NO_IP};

use super::rig::{
    HAND_OVER, HEARTBEAT, IDLE_HOLD, IN_VAIN, Rig, TAKE_TIMEOUT, WAITER_TIMEOUT, constants, here,
    mac, ms, ping, take, token, token_of, was_here,
};
use crate::lab2::{Command, Constants, Event, FOREVER, Reason, State};

const OFFER: &str = "TAKE_TOKEN 12-n3-1 to n7";
const WANT: &str = "WANT_TOKEN to all";

#[test]
fn with_an_infinite_idle_hold_the_token_stays_until_it_is_wanted() {
    let leader = Constants {
        idle_hold: FOREVER,
        ..constants()
    };
    let mut rig = Rig::owner_with(leader);
    let sent = rig.pass_time(100_000 * HEARTBEAT);
    assert!(sent.iter().all(|it| it.starts_with("TOKEN_IS_HERE")));
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(
        rig.hear_all(3, Message::WantToken),
        ["TAKE_TOKEN 12-n3-1 to n3"]
    );
}

#[test]
fn without_work_the_token_is_handed_over_after_idle_hold() {
    let mut rig = Rig::owner();
    assert_eq!(rig.timeline(IDLE_HOLD), [(IDLE_HOLD, OFFER.into())]);
}

#[test]
fn with_long_work_the_token_is_handed_over_when_the_work_is_done() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    let sent = rig.pass_time(ms(350));
    assert!(sent.iter().all(|line| line.starts_with("TOKEN_IS_HERE")));
    assert_eq!(rig.command(Command::WorkDone), [OFFER]);
}

#[test]
fn a_program_that_works_again_within_idle_hold_has_the_token_still() {
    let mut rig = Rig::owner();
    for _ in 0..4 {
        rig.command(Command::WantToken);
        assert!(rig.machine.may_use_token());
        assert_eq!(rig.command(Command::WorkDone), [""; 0]);
        let sent = rig.pass_time(IDLE_HOLD / 4 - ms(1));
        assert!(!sent.contains(&OFFER.into()), "{sent:?}");
    }
}

/// The hold must end even if no member asks for the token, because this node possibly does not hear a member that wants
/// the token.
#[test]
fn a_program_that_locks_again_and_again_keeps_the_token_for_one_idle_hold() {
    let mut rig = Rig::owner();
    let begun = rig.now.monotonic;
    loop {
        rig.command(Command::WantToken);
        assert!(rig.machine.may_use_token());
        let held = rig.now.monotonic.since(begun);
        assert_eq!(
            rig.machine.is_hold_over(rig.now.monotonic),
            held >= IDLE_HOLD
        );
        rig.pass_time(ms(2));
        let held = rig.now.monotonic.since(begun);
        let sent = rig.command(Command::WorkDone);
        assert_eq!(sent == [OFFER], held >= IDLE_HOLD, "{held:?}: {sent:?}");
        if held >= IDLE_HOLD {
            break;
        }
    }
    // The node's next work waits until the token is here again, and then may use the token for as long as before.
    assert_eq!(rig.command(Command::WantToken), ["WANT_TOKEN to all"]);
    rig.hear(7, here(token(12)));
    rig.hear(3, take(token(13)));
    rig.pass_time(IDLE_HOLD / 2);
    assert_eq!(rig.command(Command::WorkDone), [""; 0]);
    assert!(!rig.machine.is_hold_over(rig.now.monotonic));
}

/// If the owner did not hold the token again, each piece of work would reduce the penalties of members by one turn. So
/// the owner would soon offer the token to a dead member.
#[test]
fn a_token_that_no_member_takes_is_held_again_despite_repeated_work() {
    let mut rig = Rig::owner();
    rig.hear_all(7, Message::Leaving);
    rig.hear_all(3, Message::Leaving);
    let (mut offers, turns) = (0, rig.penalty_of(3));
    for _ in 0..500 {
        rig.command(Command::WantToken);
        offers += usize::from(rig.command(Command::WorkDone) != [""; 0]);
        rig.pass_time(ms(1));
    }
    let taken = Duration::from_millis(u64::from(turns - rig.penalty_of(3)));
    assert!(offers == 0 && taken * 10 <= ms(500), "{taken:?}");
}

#[test]
fn work_that_ends_twice_does_not_extend_the_hold() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig.command(Command::WorkDone);
    let half = IDLE_HOLD / 2;
    assert_eq!(rig.pass_time(half), [""; 0]);
    assert_eq!(rig.command(Command::WorkDone), [""; 0]);
    assert_eq!(rig.timeline(half), [(half, OFFER.into())]);
}

#[test]
fn the_token_goes_to_the_next_member_in_the_order_of_macs() {
    let mut rig = Rig::owner();
    rig.hear(6, ping(NO_IP));
    assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 12-n3-1 to n6"]);

    let mut rig = Rig::waiter();
    rig.hear(2, ping(NO_IP));
    rig.hear(4, take(token(11)));
    let sent = rig.pass_time(IDLE_HOLD);
    assert_eq!(sent, ["TAKE_TOKEN 12-n3-1 to n2"], "n5 is the last member");
}

#[test]
fn take_token_is_repeated_take_attempts_times_take_timeout_apart() {
    let mut rig = Rig::owner();
    let sent = rig.timeline(IDLE_HOLD + 3 * TAKE_TIMEOUT - ms(1));
    let offers: Vec<_> = (0..3)
        .map(|n| (IDLE_HOLD + n * TAKE_TIMEOUT, OFFER.into()))
        .collect();
    assert_eq!(sent, offers);
}

#[test]
fn after_the_last_attempt_the_giver_mints_penalizes_and_tries_the_next() {
    let mut rig = Rig::giver();
    rig.pass_time(HAND_OVER - ms(1));
    let sent = rig.pass_time(ms(1));
    assert_eq!(sent, [IN_VAIN, "TAKE_TOKEN 14-n5-1 to n3"]);
    assert!(rig.events.contains(&Event::HandoverFailed {
        to: mac(7),
        in_a_row: 1,
        minted: Some(token_of(13, 5, 1)),
    }));
    assert_eq!(rig.penalty_of(7), 1);
}

#[test]
fn without_an_eligible_member_the_giver_mints_stays_owner_and_broadcasts() {
    let mut rig = Rig::giver();
    let sent = rig.timeline(2 * HAND_OVER);
    let last = sent.last().expect("a broadcast");
    let broadcast = (2 * HAND_OVER, "TOKEN_IS_HERE 15-n5-2 to all".into());
    assert_eq!(*last, broadcast);
    assert_eq!(rig.state(), State::Owner);
    assert!(rig.machine.may_use_token());
}

#[test]
fn from_the_first_take_token_on_the_giver_may_not_use_the_token() {
    let mut rig = Rig::owner();
    assert!(rig.machine.may_use_token());
    rig.pass_time(IDLE_HOLD);
    assert_eq!(rig.state(), State::Owner);
    assert!(!rig.machine.may_use_token());
}

#[test]
fn a_givers_heartbeats_go_on() {
    let mut rig = Rig::owner();
    let sent = rig.timeline(50 * 3 * TAKE_TIMEOUT);
    let heartbeats: Vec<_> = sent
        .iter()
        .filter(|(_, line)| line.starts_with("TOKEN_IS_HERE"))
        .map(|(at, _)| *at)
        .collect();
    let apart = heartbeats.windows(2).map(|two| two[1] - two[0]);
    assert!(heartbeats[0] <= HEARTBEAT, "{sent:?}");
    assert!(apart.max() <= Some(HEARTBEAT), "{sent:?}");
}

#[test]
fn a_givers_heartbeats_name_the_held_token() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig.pass_time(HEARTBEAT - ms(1));
    rig.hear_all(7, Message::WantToken);
    assert_eq!(rig.command(Command::WorkDone), [OFFER]);
    let sent = rig.pass_time(TAKE_TIMEOUT);
    assert!(
        sent.contains(&"TOKEN_IS_HERE 11-n3-1 to all".into()),
        "{sent:?}"
    );
}

#[test]
fn a_givers_heartbeat_waits_for_the_answer_to_its_first_offer() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig.pass_time(HEARTBEAT - ms(1));
    rig.hear_all(7, Message::WantToken);
    rig.command(Command::WorkDone);
    let sent = rig.timeline(TAKE_TIMEOUT - ms(1));
    assert_eq!(sent, [], "the heartbeat would be outdated");
    let sent = rig.timeline(ms(1));
    let heartbeat = (ms(1), "TOKEN_IS_HERE 11-n3-1 to all".into());
    assert!(sent.contains(&heartbeat), "{sent:?}");
}

#[test]
fn an_answer_at_least_as_strong_as_the_offer_completes_the_handover() {
    for (from, answer, owner) in [
        (7, here(token(12)), 7),
        (9, here(token(13)), 9),
        (9, here(token_of(99, 9, 1)), 9),
        (7, was_here(token(12), 9), 9),
        (7, was_here(token(13), 9), 9),
    ] {
        let mut rig = Rig::giver();
        rig.hear(from, answer);
        assert_eq!(rig.state(), State::Waiter, "{answer:?}");
        assert_eq!(rig.machine.owner(), Some(mac(owner)));
    }
}

#[test]
fn a_take_token_stronger_than_the_offer_completes_the_handover_and_is_accepted() {
    let mut rig = Rig::giver();
    let sent = rig.hear(7, take(token(13)));
    assert_eq!(sent, ["TOKEN_IS_HERE 13-n3-1 to n7"]);
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(rig.token(), "13-n3-1");
    let handed_over =
        |event: &Event| matches!(event, Event::HandedOver { to, .. } if *to == mac(7));
    assert!(rig.events.iter().any(handed_over));
}

#[test]
fn a_handovers_latency_counts_from_the_first_take_token() {
    let mut rig = Rig::giver();
    rig.pass_time(ms(7));
    rig.hear(7, here(token(12)));
    let (to, latency) = (mac(7), ms(7));
    assert!(rig.events.contains(&Event::HandedOver { to, latency }));
    assert!(rig.events.contains(&Event::StateChanged {
        from: State::Owner,
        to: State::Waiter,
        reason: Reason::TokenHandedOver,
        token: Some(token(12)),
    }));
}

#[test]
fn weaker_tokens_do_not_complete_the_handover() {
    let mut rig = Rig::giver();
    assert_eq!(rig.hear(7, was_here(token(11), 5)), [""; 0]);
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(
        rig.hear(7, take(token(11))),
        ["TOKEN_IS_HERE 11-n3-1 to n7"]
    );
    assert_eq!(rig.hear(7, here(token(10))).len(), 2);
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(rig.timeline(TAKE_TIMEOUT), [(TAKE_TIMEOUT, OFFER.into())]);
}

#[test]
fn a_claim_between_the_held_and_the_offered_token_destroys_the_held_one() {
    let mut rig = Rig::giver();
    let sent = rig.hear(9, here(token_of(12, 9, 1)));
    assert!(sent.contains(&"PING to n9".into()));
    assert_eq!(rig.state(), State::Waiter);
}

#[test]
fn a_lone_owner_neither_mints_nor_offers() {
    let mut rig = Rig::looser();
    rig.pass_time(ms(200));
    assert_eq!(rig.token(), "1-n5-1");
    let sent = rig.pass_time(ms(1_000));
    assert!(
        sent.iter()
            .all(|line| line == "TOKEN_IS_HERE 1-n5-1 to all"),
        "{sent:?}"
    );
    assert_eq!(sent.len(), 10);
}

#[test]
fn a_lone_owner_hands_over_once_a_member_is_there() {
    let mut rig = Rig::looser();
    rig.pass_time(ms(250));
    rig.hear(7, ping(NO_IP));
    let sent = rig.pass_time(IDLE_HOLD);
    assert_eq!(sent, ["TAKE_TOKEN 2-n5-1 to n7"]);
}

#[test]
fn a_giver_that_gets_work_keeps_the_minted_token() {
    let mut rig = Rig::giver();
    rig.command(Command::WantToken);
    let sent = rig.pass_time(ms(80));
    assert_eq!(sent[..3], [OFFER, OFFER, IN_VAIN]);
    assert!(
        sent[3..]
            .iter()
            .all(|line| line.starts_with("TOKEN_IS_HERE"))
    );
    assert_eq!(rig.token(), "13-n5-1");
    assert!(rig.machine.may_use_token());
}

#[test]
fn with_idle_hold_0_members_that_do_not_answer_cause_no_busy_loop() {
    let constants = Constants {
        idle_hold: Duration::ZERO,
        ..Default::default()
    };
    let mut rig = Rig::waiter_with(constants);
    rig.hear(3, take(token(11)));
    let sent = rig.pass_time(ms(1_000));
    assert!(sent.len() < 1_000 / 5 + 12, "{} frames", sent.len());
    assert_eq!(rig.state(), State::Owner);
}

#[test]
fn a_heartbeat_due_with_the_handover_is_the_successors() {
    let mut rig = Rig::owner_with(Constants::default());
    assert_eq!(rig.pass_time(HEARTBEAT), [OFFER]);
    let sent = rig.pass_time(TAKE_TIMEOUT);
    assert!(
        sent.contains(&"TOKEN_IS_HERE 11-n3-1 to all".to_owned()),
        "no member took the token: {sent:?}"
    );
}

#[test]
fn an_owner_whose_offers_are_refused_sends_heartbeats() {
    let mut rig = Rig::owner_with(Constants::default());
    rig.refuse = |line| line.starts_with("TAKE_TOKEN");
    let sent = rig.pass_time(4 * HEARTBEAT);
    let heartbeats = sent.iter().filter(|line| line.ends_with("to all"));
    assert!(heartbeats.count() >= 3, "{sent:?}");
    assert_eq!(rig.state(), State::Owner);
}

/// Found by fuzzing: after one frame, an OWNER tried all members at once, because its interface refused every offer.
#[test]
fn at_most_two_offers_per_take_timeout_are_refused() {
    let mut rig = Rig::owner_with(Constants {
        take_attempts: 1,
        ..constants()
    });
    for member in 10..20 {
        rig.hear_all(member, Message::WantToken);
    }
    rig.refuse = |line| line.starts_with("TAKE_TOKEN");
    let mut most = 0;
    for _ in 0..10 {
        rig.events.clear();
        rig.pass_time(TAKE_TIMEOUT);
        let refused = |event: &&Event| {
            matches!(
                event,
                Event::TransmitFailed {
                    kind: Kind::TakeToken,
                    ..
                }
            )
        };
        most = most.max(rig.events.iter().filter(refused).count());
    }
    assert_eq!(
        most, 2,
        "the last offer to one member, and the first to the next"
    );
}

#[test]
fn a_handover_waits_for_a_heartbeat_that_is_due_soon() {
    for (heard, resume_after) in [(0, 100), (10, 90), (49, 51), (50, 100)] {
        let mut rig = Rig::waiter_with(Constants::default());
        rig.stall(ms(heard));
        let sent = rig.hear(3, take(token(11)));
        assert_eq!(sent[0], "TOKEN_IS_HERE 11-n3-1 to n3");
        let offers = rig.timeline(HEARTBEAT);
        let offer = offers
            .iter()
            .find(|(_, sent)| sent.starts_with("TAKE_TOKEN"));
        assert_eq!(
            offer.map(|(at, _)| *at),
            Some(ms(resume_after)),
            "{offers:?}"
        );
    }
}

#[test]
fn a_token_that_stays_brings_a_heartbeat_that_is_due_soon() {
    for (heard, speaks) in [(49, 1), (50, 2), (99, 2), (100, 2)] {
        let mut rig = Rig::waiter_with(Constants::default());
        rig.stall(ms(heard));
        let sent = rig.hear(3, take(token(11)));
        assert_eq!(sent.len(), speaks, "after {heard} ms: {sent:?}");
    }
}

#[test]
fn an_owner_that_must_yield_hands_over_despite_its_work() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    let sent = rig.command(Command::Yield(None));
    assert_eq!(
        sent,
        [OFFER, WANT],
        "the node hands the token over although it has work left"
    );
    assert!(!rig.machine.may_use_token());
    assert_eq!(rig.command(Command::Yield(None)), [""; 0]);
    rig.hear(7, here(token(12)));
    assert_eq!(rig.state(), State::Waiter);
}

#[test]
fn an_owner_yields_only_to_the_named_member() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    for nobody in [mac(5), mac(99)] {
        assert_eq!(rig.command(Command::Yield(Some(nobody))), [""; 0]);
    }
    let sent = rig.command(Command::Yield(Some(mac(3))));
    assert_eq!(sent, ["TAKE_TOKEN 12-n3-1 to n3", WANT]);
    for mut rig in vec![Rig::waiter(), Rig::asking(), Rig::candidate()] {
        assert_eq!(rig.command(Command::Yield(None)), [""; 0]);
    }
}

#[test]
fn only_an_owner_has_a_lease_and_it_runs_from_the_last_heartbeat() {
    let rig = Rig::owner();
    assert!(rig.machine.lease_until() <= Some(rig.now.monotonic + WAITER_TIMEOUT));
    assert!(rig.machine.lease_until() > Some(rig.now.monotonic));
    assert_eq!(Rig::waiter().machine.lease_until(), None);
}

#[test]
fn is_wanted_counts_other_members_only() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    assert!(!rig.machine.is_wanted());
    rig.hear_all(7, Message::WantToken);
    assert!(rig.machine.is_wanted());
    rig.hear_all(7, Message::Leaving);
    assert!(!rig.machine.is_wanted());
}

#[test]
fn leaving_fails_the_handover_at_once() {
    let mut rig = Rig::giver();
    assert_eq!(rig.hear_all(3, Message::Leaving), [""; 0], "of another");
    let mut rig = Rig::giver();
    let sent = rig.hear_all(7, Message::Leaving);
    assert_eq!(
        sent,
        [
            "TOKEN_WAS_HERE_RECENTLY 12-n3-1 at n5 to all",
            "TAKE_TOKEN 14-n5-1 to n3"
        ]
    );
}
