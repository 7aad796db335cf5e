use std::time::Duration;

use anyhow::Result;

use super::{check_one_owner, owner_changes};
use crate::invariants::test_frames::{assert_found, here, mac, take, token};
use crate::wire::Seen;

fn check(frames: &[Seen]) -> Result<()> {
    check_one_owner(frames, Duration::ZERO)
}

#[test]
fn one_moving_token_with_replaced_chains_passes() {
    let frames = [
        here(0, 1, token(5, 1, 1)),
        take(1, 1, 2, token(6, 1, 1)),
        here(2, 1, token(5, 1, 1)),
        here(2, 2, token(6, 1, 1)),
        take(3, 2, 3, token(7, 1, 1)),
        here(4, 2, token(6, 1, 1)),
        take(5, 2, 1, token(9, 2, 1)),
        here(6, 1, token(9, 2, 1)),
        // Node 2 does not take the token, and node 1 offers a new token to the next node.
        take(7, 1, 2, token(10, 2, 1)),
        here(8, 1, token(12, 1, 2)),
    ];
    check(&frames).expect("there is one owner at a time");
}

#[test]
fn frames_before_the_window_are_ignored() {
    let frames = [
        here(0, 1, token(5, 1, 1)),
        here(1, 2, token(9, 2, 1)),
        here(9, 2, token(9, 2, 1)),
    ];
    check_one_owner(&frames, Duration::from_millis(5))
        .expect("there were two owners only before the window");
    assert_found(check(&frames), "two owners");
}

#[test]
fn two_owners_in_turn_are_found() {
    let frames = [
        here(0, 1, token(5, 1, 1)),
        take(1, 1, 2, token(6, 1, 1)),
        take(2, 1, 3, token(8, 1, 2)),
        here(3, 3, token(8, 1, 2)),
        // Node 2 has already taken the first chain.
        here(4, 2, token(6, 1, 1)),
    ];
    assert_found(check(&frames), "two owners");
}

#[test]
fn a_giver_may_claim_its_token_until_it_hears_of_the_taker() {
    let mut frames = vec![
        here(0, 1, token(5, 1, 1)),
        take(1, 1, 2, token(6, 1, 1)),
        take(2, 2, 3, token(7, 1, 1)),
        take(3, 3, 4, token(8, 1, 1)),
        here(99, 1, token(5, 1, 1)),
    ];
    check(&frames).expect("no frame to node 1 has announced the taker");
    frames.insert(4, here(4, 4, token(8, 1, 1)));
    assert_found(check(&frames), "former holder");
}

#[test]
fn a_stranger_as_owner_and_the_lack_of_an_owner_are_found() {
    let never_offered = [take(2, 2, 3, token(7, 1, 1)), here(4, 1, token(5, 1, 1))];
    assert_found(check(&never_offered), "former holder");
    let minted = [here(0, 1, token(5, 1, 1)), here(1, 3, token(9, 3, 1))];
    assert_found(check(&minted), "two owners");
    assert_found(check(&[]), "no node has claimed");
}

#[test]
fn owners_are_listed_in_order() {
    let frames = [
        here(0, 1, token(5, 1, 1)),
        take(1, 1, 2, token(6, 1, 1)),
        here(2, 2, token(6, 1, 1)),
        take(3, 2, 1, token(7, 1, 1)),
        here(4, 1, token(7, 1, 1)),
    ];
    let expected = [(0, 1), (2, 2), (4, 1)].map(|(at, who)| (Duration::from_millis(at), mac(who)));
    assert_eq!(owner_changes(&frames, Duration::ZERO), expected);
}
