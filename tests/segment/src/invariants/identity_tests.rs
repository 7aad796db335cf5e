use super::{Identities, check_identities};
use crate::invariants::made_up::{here, mac, take, token};
use crate::wire::Seen;

fn assert_found(frames: &[Seen], words: &str) {
    let error = check_identities(frames)
        .expect_err("the violation is there")
        .to_string();
    assert!(
        error.contains(words),
        "another violation was found: {error}"
    );
}

#[test]
fn a_ring_that_rotates_repeats_and_mints_passes() {
    let frames = [
        here(0, 1, token(5, 1, 1)),
        take(1, 1, 2, token(6, 1, 1)),
        // Sent again, and a heartbeat while passing.
        take(2, 1, 2, token(6, 1, 1)),
        here(2, 1, token(5, 1, 1)),
        here(3, 2, token(6, 1, 1)),
        take(4, 2, 3, token(7, 1, 1)),
        // The first repetition arrives late.
        take(4, 1, 2, token(6, 1, 1)),
        // Node 3 does not take it: node 2 mints.
        take(5, 2, 1, token(9, 2, 1)),
        here(6, 1, token(9, 2, 1)),
    ];
    check_identities(&frames).expect("all this is allowed");
}

#[test]
fn two_holders_of_equal_tokens_are_found() {
    let frames = [here(0, 1, token(5, 1, 1)), here(1, 2, token(5, 1, 1))];
    assert_found(&frames, "equal tokens");
}

#[test]
fn a_holder_other_than_the_one_that_it_was_offered_to_is_found() {
    let frames = [
        here(0, 1, token(5, 1, 1)),
        take(1, 1, 2, token(6, 1, 1)),
        here(2, 3, token(6, 1, 1)),
    ];
    assert_found(&frames, "equal tokens");
}

#[test]
fn one_token_offered_to_two_members_is_found() {
    let frames = [take(1, 1, 2, token(6, 1, 1)), take(2, 1, 3, token(6, 1, 1))];
    assert_found(&frames, "equal tokens");
}

#[test]
fn a_chain_handed_to_two_successors_at_different_progress_is_found() {
    let frames = [take(1, 1, 2, token(6, 1, 1)), take(2, 1, 3, token(8, 1, 1))];
    assert_found(&frames, "hands on a chain");
}

#[test]
fn a_progress_that_goes_back_is_found() {
    let frames = [here(0, 1, token(9, 1, 1)), here(1, 1, token(7, 1, 1))];
    assert_found(&frames, "goes back");
}

#[test]
fn a_chain_that_does_not_begin_with_its_author_is_found() {
    assert_found(&[here(0, 2, token(5, 1, 1))], "begins with");
}

#[test]
fn a_number_used_before_is_found() {
    let frames = [here(0, 1, token(5, 1, 4)), here(1, 1, token(9, 1, 3))];
    assert_found(&frames, "uses number");
}

#[test]
fn an_author_that_forgot_its_numbers_may_use_them_again_but_never_twice_at_once() {
    let again = [
        here(0, 1, token(5, 1, 4)),
        take(1, 1, 2, token(6, 1, 4)),
        here(2, 1, token(900, 1, 1)),
        take(3, 1, 3, token(901, 1, 1)),
        here(4, 2, token(6, 1, 4)),
    ];
    let mut identities = Identities::with_forgetful([mac(1)]);
    for seen in &again {
        identities.see(seen).expect("the clock keeps them apart");
    }
    let twin = identities.see(&here(5, 2, token(901, 1, 1)));
    assert!(twin.is_err_and(|error| error.to_string().contains("equal tokens")));
}

#[test]
fn the_check_goes_on_after_a_violation() {
    let mut identities = Identities::default();
    let told = [
        here(0, 1, token(5, 1, 1)),
        here(1, 2, token(5, 1, 1)),
        here(2, 1, token(5, 1, 1)),
        here(3, 3, token(5, 1, 1)),
    ];
    let verdicts: Vec<bool> = told
        .iter()
        .map(|seen| identities.see(seen).is_ok())
        .collect();
    assert_eq!(verdicts, [true, false, true, false]);
}
