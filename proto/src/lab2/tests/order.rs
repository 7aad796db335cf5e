//! Tests of `docs/reference/lab2/states.md T1` to T11 and D1: the order and identity of tokens, minting, and the state
//! that survives a restart.

use ring_codec::lab2::Message;

use super::rig::{
    ANSWER_TIMEOUT, BLANK, HAND_OVER, HEARTBEAT, IDLE_HOLD, IN_VAIN, LOOSER_TIMEOUT, Rig,
    TAKE_TIMEOUT, constants, here, ms, take, token, token_of, was_here,
};
use crate::lab2::{Command, Diagnostic, Event, State};

#[test]
fn the_smaller_priority_is_the_stronger_token() {
    // Each of these tokens is stronger than the known 10-n3-1: the first has more progress, the second a smaller
    // author, the third a smaller number.
    let stronger = [(11, 9, 9), (10, 2, 9), (10, 3, 0)];
    let not_stronger = [(9, 1, 0), (10, 4, 0), (10, 3, 2), (10, 3, 1)];
    for (progress, author, number) in stronger {
        let mut rig = Rig::waiter();
        rig.hear(3, take(token_of(progress, author, number)));
        assert_eq!(rig.state(), State::Owner, "{progress} {author} {number}");
    }
    for (progress, author, number) in not_stronger {
        let mut rig = Rig::waiter();
        rig.hear(3, take(token_of(progress, author, number)));
        assert_eq!(rig.state(), State::Waiter, "{progress} {author} {number}");
    }
}

#[test]
fn of_two_holders_of_equal_tokens_the_smaller_mac_wins() {
    let mut rig = Rig::owner();
    rig.hear(7, here(token(11)));
    assert_eq!(rig.state(), State::Owner, "n5 is smaller than n7");
    rig.hear(3, here(token(11)));
    assert_eq!(rig.state(), State::Waiter, "n3 is smaller than n5");
}

#[test]
fn every_handover_adds_1_to_progress_and_keeps_the_chain() {
    let mut rig = Rig::owner();
    assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 12-n3-1 to n7"]);
}

#[test]
fn a_candidate_has_the_known_progress_plus_1() {
    let mut rig = Rig::asking();
    let sent = rig.pass_time(ANSWER_TIMEOUT);
    assert_eq!(sent, ["GENERATING_TOKEN 11-n5-1 to all"]);
}

#[test]
fn a_candidate_that_knows_nothing_has_a_progress_of_1() {
    let mut rig = Rig::looser();
    let sent = rig.pass_time(ANSWER_TIMEOUT);
    assert_eq!(sent, ["GENERATING_TOKEN 1-n5-1 to all"]);
}

#[test]
fn the_wall_clock_raises_a_created_token_but_not_its_candidate() {
    let mut rig = Rig::asking();
    rig.now.wall = 1_700_000_000_000_000_000;
    let sent = rig.pass_time(ANSWER_TIMEOUT);
    assert_eq!(sent, ["GENERATING_TOKEN 11-n5-1 to all"]);
    let sent = rig.pass_time(ANSWER_TIMEOUT);
    assert_eq!(sent, ["TOKEN_IS_HERE 1700000000000000000-n5-1 to all"]);
}

#[test]
fn a_clock_that_is_behind_does_not_lower_progress() {
    let mut rig = Rig::candidate();
    rig.now.wall = 3;
    let sent = rig.pass_time(ANSWER_TIMEOUT);
    assert_eq!(sent, ["TOKEN_IS_HERE 11-n5-1 to all"]);
}

#[test]
fn a_clock_uses_up_at_most_half_of_all_progress() {
    let mut rig = Rig::candidate();
    rig.now.wall = u64::MAX;
    rig.pass_time(ANSWER_TIMEOUT);
    assert_eq!(rig.token(), "4611686018427387904-n5-1");
}

const DAY: u64 = 24 * 60 * 60 * 1_000_000_000;
/// A day in 2023, in nanoseconds since 1970.
const TODAY: u64 = 1_700_000_000_000_000_000;

/// Returns a candidate that knows a token of [`TODAY`] and whose clock is ahead by `by`.
fn ahead_by(by: u64) -> Rig {
    let mut rig = Rig::looser();
    rig.now.wall = TODAY;
    rig.hear(3, was_here(token(TODAY), 3));
    rig.pass_time(LOOSER_TIMEOUT + ANSWER_TIMEOUT);
    assert_eq!(rig.state(), State::Generating);
    rig.now.wall = TODAY + by;
    rig.events.clear();
    rig
}

/// Whether `event` reports the start of a problem for which `is` returns `true`.
fn was_reported(event: &Event, is: fn(&Diagnostic) -> bool) -> bool {
    matches!(event, Event::DiagnosticChanged { trouble, over: false } if is(trouble))
}

fn progress(rig: &Rig) -> u64 {
    rig.machine.token().expect("elected").progress
}

#[test]
fn a_clock_that_is_a_lifetime_ahead_raises_a_token_by_a_month() {
    let mut rig = ahead_by(174 * 365 * DAY);
    rig.pass_time(ANSWER_TIMEOUT);
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(progress(&rig), TODAY + 30 * DAY);
    let sent =
        |event: &&Event| was_reported(event, |it| matches!(it, Diagnostic::ClockAhead { .. }));
    assert_eq!(rig.events.iter().filter(sent).count(), 1);
}

#[test]
fn an_unsent_token_is_not_raised_again() {
    let mut rig = ahead_by(174 * 365 * DAY);
    rig.refuse = |_| true;
    rig.pass_time(ANSWER_TIMEOUT + 10 * TAKE_TIMEOUT);
    rig.refuse = |_| false;
    rig.pass_time(TAKE_TIMEOUT);
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(progress(&rig), TODAY + 30 * DAY);
}

#[test]
fn a_clock_that_is_some_days_ahead_is_followed_without_a_report() {
    let mut rig = ahead_by(7 * DAY);
    rig.pass_time(ANSWER_TIMEOUT);
    assert_eq!(progress(&rig), TODAY + 7 * DAY);
    let sent =
        |event: &&Event| was_reported(event, |it| matches!(it, Diagnostic::ClockAhead { .. }));
    assert_eq!(rig.events.iter().find(sent), None);
}

#[test]
fn a_token_ahead_of_the_clock_is_reported_once() {
    let hour = DAY / 24;
    let mut rig = Rig::waiter();
    rig.now.wall = TODAY;
    let ahead = |rig: &Rig| {
        let sent =
            |event: &&Event| was_reported(event, |it| matches!(it, Diagnostic::TokenAhead { .. }));
        rig.events.iter().filter(sent).count()
    };
    rig.hear_all(3, here(token(TODAY + hour)));
    assert_eq!(ahead(&rig), 0);
    for n in 1..5 {
        rig.hear_all(3, here(token(TODAY + hour + n)));
    }
    assert_eq!(ahead(&rig), 1);
    let shown = rig.machine.problems().next();
    assert!(
        matches!(shown, Some(Diagnostic::TokenAhead { .. })),
        "{shown:?}"
    );
    rig.now.wall = TODAY + DAY;
    rig.hear_all(3, here(token(TODAY + DAY)));
    let ended = |event: &Event| {
        let ahead = |it: &Diagnostic| matches!(it, Diagnostic::TokenAhead { .. });
        matches!(event, Event::DiagnosticChanged { trouble, over: true } if ahead(trouble))
    };
    assert_eq!(rig.events.iter().filter(|it| ended(it)).count(), 1);
    assert_eq!(rig.machine.problems().next(), None);
    rig.hear_all(3, here(token(TODAY + 3 * DAY)));
    assert_eq!(ahead(&rig), 2);
}

#[test]
fn setting_the_clock_ends_the_report() {
    let mut rig = Rig::waiter();
    rig.now.wall = TODAY;
    let n3_speaks = |rig: &mut Rig| {
        for _ in 0..8 {
            rig.pass_time(HEARTBEAT);
            rig.hear_all(3, here(token(TODAY + DAY)));
        }
    };
    n3_speaks(&mut rig);
    let ahead = |rig: &Rig| {
        let mut troubles = rig.machine.problems();
        troubles.any(|it| matches!(it, Diagnostic::TokenAhead { .. }))
    };
    assert!(ahead(&rig));
    let ended = |rig: &Rig| {
        let told = |event: &&Event| match event {
            Event::DiagnosticChanged { trouble, over } => {
                *over && matches!(trouble, Diagnostic::TokenAhead { .. })
            }
            _ => false,
        };
        rig.events.iter().filter(told).count()
    };
    assert_eq!(ended(&rig), 0);
    rig.now.wall = TODAY + DAY;
    n3_speaks(&mut rig);
    assert_eq!((ended(&rig), ahead(&rig)), (1, false));
}

#[test]
fn a_failed_handover_mints_a_chain_with_progress_plus_2() {
    let mut rig = Rig::giver();
    let sent = rig.pass_time(HAND_OVER);
    assert_eq!(sent[2..], [IN_VAIN, "TAKE_TOKEN 14-n5-1 to n3"]);
    assert_eq!(rig.token(), "13-n5-1", "11 + 2");
}

#[test]
fn every_minted_chain_has_the_next_number() {
    let mut rig = Rig::giver();
    rig.pass_time(2 * HAND_OVER);
    assert_eq!(rig.token(), "15-n5-2");
}

#[test]
fn a_chain_is_offered_to_only_one_successor() {
    let mut rig = Rig::giver();
    for n in 10..20 {
        rig.hear(n, was_here(token(1), 3));
    }
    let mut offers: Vec<String> = vec!["12-n3-1 to n7".into()];
    for _ in 0..20 {
        for line in rig.pass_time(ms(100)) {
            if let Some(offer) = line.strip_prefix("TAKE_TOKEN ") {
                offers.push(offer.into());
            }
        }
        for n in 10..20 {
            rig.hear(n, was_here(token(1), 3));
        }
    }
    assert!(offers.len() > 30);
    offers.dedup();
    let chain_of = |offer: &String| {
        let (token, to) = offer.split_once(" to ").expect("an offer");
        let (_, chain) = token.split_once('-').expect("a token");
        (chain.to_owned(), to.to_owned())
    };
    let mut chains: Vec<_> = offers.iter().map(chain_of).collect();
    let offered = chains.len();
    chains.sort_unstable();
    chains.dedup_by(|a, b| a.0 == b.0);
    assert_eq!(
        chains.len(),
        offered,
        "a chain was offered twice: {offers:?}"
    );
}

#[test]
fn the_token_number_and_the_highest_progress_survive_a_restart() {
    let mut rig = Rig::giver();
    rig.pass_time(HAND_OVER);
    assert_eq!(rig.durable.my_token_number, 1);
    assert_eq!(rig.durable.known, Some(token_of(14, 5, 1)));

    let (mut rig, _) = Rig::start(constants(), rig.durable);
    let sent = rig.pass_time(ANSWER_TIMEOUT);
    assert_eq!(sent, ["GENERATING_TOKEN 15-n5-2 to all"]);
}

#[test]
fn after_a_restart_an_old_offer_is_not_accepted() {
    let mut rig = Rig::owner();
    let (mut rig, _) = Rig::start(constants(), std::mem::replace(&mut rig.durable, BLANK));
    rig.hear(3, take(token(11)));
    assert_eq!(rig.state(), State::Looser);
    rig.hear(3, take(token(12)));
    assert_eq!(rig.state(), State::Owner);
}

#[test]
fn every_stronger_known_token_is_stored() {
    let mut rig = Rig::waiter();
    rig.hear(3, was_here(token(20), 3));
    assert_eq!(rig.durable.known, Some(token(20)));
    rig.hear_all(3, here(token(21)));
    assert_eq!(rig.durable.known, Some(token(21)));
    rig.hear(3, take(token(22)));
    assert_eq!(rig.durable.known, Some(token(22)));
}

#[test]
fn the_clock_makes_up_for_a_lost_state_file() {
    let wall = 1_700_000_000_000_000_000;
    let (mut before, _) = Rig::start(constants(), BLANK);
    before.now.wall = wall;
    before.pass_time(2 * ANSWER_TIMEOUT);
    let (mut after, _) = Rig::start(constants(), BLANK);
    after.now.wall = wall + 1_000_000_000;
    after.pass_time(2 * ANSWER_TIMEOUT);
    let (before, after) = (before.machine.token(), after.machine.token());
    let (before, after) = (before.expect("elected"), after.expect("elected"));
    assert!(
        after.is_stronger_than(&before),
        "fencing tokens keep growing"
    );
}

#[test]
fn the_number_of_a_candidate_is_used_up_only_when_it_is_elected() {
    let mut rig = Rig::candidate();
    assert_eq!(rig.durable.my_token_number, 0);
    rig.pass_time(ANSWER_TIMEOUT);
    assert_eq!(rig.durable.my_token_number, 1);
}

#[test]
fn at_the_largest_progress_the_owner_keeps_the_token_and_reports_it() {
    const LARGEST: u64 = (1 << 63) - 1;
    let mut rig = Rig::waiter();
    rig.hear(3, take(token(LARGEST)));
    rig.command(Command::WantToken);
    rig.hear_all(3, Message::WantToken);
    assert_eq!(rig.command(Command::WorkDone), [""; 0]);
    assert!(rig.events.contains(&Event::ProgressExhausted));
    assert_eq!(rig.state(), State::Owner);
    assert!(rig.machine.may_use_token());
    let sent = rig.pass_time(ms(500));
    assert!(sent.iter().all(|line| line.starts_with("TOKEN_IS_HERE")));
    assert_eq!(rig.token(), format!("{LARGEST}-n3-1"));
}

#[test]
fn progress_of_minted_tokens_and_candidates_saturates() {
    const LARGEST: u64 = (1 << 63) - 1;
    let mut rig = Rig::waiter();
    rig.hear(3, take(token(LARGEST - 1)));
    rig.pass_time(IDLE_HOLD + HAND_OVER);
    assert_eq!(rig.token(), format!("{LARGEST}-n5-1"));

    let mut rig = Rig::asking();
    rig.hear(3, was_here(token(LARGEST), 3));
    let sent = rig.pass_time(ms(300));
    assert_eq!(sent[1], format!("GENERATING_TOKEN {LARGEST}-n5-1 to all"));
}
