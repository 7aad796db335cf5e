//! Tests of penalties (`docs/reference/lab2/passing.md P10` and P11): the owner skips members that do not take the
//! token, but these members stay in the table.

use ring_codec::lab2::{Message, NO_IP, Token};

use super::rig::{HAND_OVER, IDLE_HOLD, Rig, here, ms, ping, take, token, token_of};
use crate::lab2::State;

/// Runs one rotation of a ring of three: n7 fails, n3 takes the token, and n3 gives the token back. Returns the members
/// to which the token was offered.
fn run_rotation(rig: &mut Rig) -> Vec<u8> {
    let mut offered = Vec::new();
    loop {
        let sent = rig.pass_time(ms(1));
        for line in sent {
            let Some(offer) = line.strip_prefix("TAKE_TOKEN ") else {
                continue;
            };
            let to = if offer.ends_with("n7") { 7 } else { 3 };
            if offered.last() != Some(&to) {
                offered.push(to);
            }
        }
        if offered.last() == Some(&3) {
            let offer = rig.machine.token().expect("held").progress + 1;
            let held = rig.machine.token().expect("held");
            rig.hear(
                3,
                here(Token {
                    progress: offer,
                    ..held
                }),
            );
            assert_eq!(rig.state(), State::Waiter);
            rig.hear(
                3,
                take(Token {
                    progress: offer + 1,
                    ..held
                }),
            );
            assert_eq!(rig.state(), State::Owner);
            return offered;
        }
    }
}

#[test]
fn after_the_kth_failure_in_a_row_a_member_is_passed_over_for_2_to_the_k_less_1_turns() {
    let mut rig = Rig::owner();
    let mut tried = Vec::new();
    for turn in 0..40 {
        if run_rotation(&mut rig).contains(&7) {
            tried.push(turn);
        }
    }
    assert_eq!(tried, [0, 2, 6, 14, 30]);
}

#[test]
fn any_frame_from_a_member_makes_it_eligible_at_once() {
    let frames = [
        ping(NO_IP),
        Message::WhereIsToken,
        super::rig::was_here(token(1), 3),
        take(token(1)),
    ];
    for message in frames {
        let mut rig = Rig::owner();
        run_rotation(&mut rig);
        rig.hear(7, message);
        assert_eq!(rig.penalty_of(7), 0);
        assert!(run_rotation(&mut rig).contains(&7), "{message:?}");
    }
}

#[test]
fn a_frame_does_not_reset_the_number_of_failures() {
    let mut rig = Rig::owner();
    run_rotation(&mut rig);
    rig.hear(7, ping(NO_IP));
    run_rotation(&mut rig);
    // The second failure in a row costs three turns, and all three turns are still left.
    assert_eq!(rig.penalty_of(7), 3);
}

#[test]
fn one_success_resets_the_number_of_failures() {
    let mut rig = Rig::owner();
    run_rotation(&mut rig);
    rig.hear(7, ping(NO_IP));
    let held = rig.machine.token().expect("held");
    assert_eq!(rig.pass_time(IDLE_HOLD).len(), 1);
    let progress = held.progress + 1;
    rig.hear(7, here(Token { progress, ..held }));
    assert_eq!(rig.state(), State::Waiter);
    let progress = held.progress + 2;
    rig.hear(7, take(Token { progress, ..held }));
    assert!(run_rotation(&mut rig).contains(&7));
    assert_eq!(rig.penalty_of(7), 1, "the same as after a first failure");
}

#[test]
fn leaving_sets_the_largest_penalty() {
    let mut rig = Rig::waiter();
    rig.hear_all(3, Message::Leaving);
    assert_eq!(rig.penalty_of(3), 1 << 10);
}

#[test]
fn members_that_are_passed_over_stay_in_the_table() {
    let mut rig = Rig::giver();
    let digest = rig.machine.digest();
    rig.pass_time(ms(5_000));
    assert_eq!(rig.members(), [3, 5, 7]);
    assert_eq!(rig.machine.digest(), digest);
}

#[test]
fn an_owner_without_eligible_members_keeps_the_token_and_mints_nothing() {
    let mut rig = Rig::waiter();
    rig.hear(3, take(token(11)));
    rig.hear_all(3, Message::Leaving);
    let sent = rig.pass_time(ms(450));
    assert_eq!(sent.len(), 4, "{sent:?}");
    assert!(
        sent.iter()
            .all(|line| line == "TOKEN_IS_HERE 11-n3-1 to all")
    );
}

#[test]
fn a_rotation_without_a_taker_counts_as_one() {
    let mut rig = Rig::giver();
    // n7 and n3 fail. The owner skips both for one turn and then tries them again.
    let sent = rig.pass_time(2 * HAND_OVER + 2 * IDLE_HOLD);
    let offers: Vec<_> = sent
        .iter()
        .filter(|l| l.starts_with("TAKE_TOKEN"))
        .collect();
    assert_eq!(offers.len(), 2 + 3 + 1, "{sent:?}");
    assert_eq!(rig.token(), super::rig::show(token_of(15, 5, 2)));
}
