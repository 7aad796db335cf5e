use super::{TokenIdentities, check_identities};
use crate::invariants::test_frames::{assert_found, here, mac, take, token};
use crate::wire::Seen;

#[test]
fn a_ring_that_rotates_the_token_repeats_offers_and_mints_tokens_passes() {
    let frames = [
        here(0, 1, token(5, 1, 1)),
        take(1, 1, 2, token(6, 1, 1)),
        // A repeated offer, and a heartbeat during the handover.
        take(2, 1, 2, token(6, 1, 1)),
        here(2, 1, token(5, 1, 1)),
        here(3, 2, token(6, 1, 1)),
        take(4, 2, 3, token(7, 1, 1)),
        // The first copy of the offer arrives late.
        take(4, 1, 2, token(6, 1, 1)),
        // Node 3 does not take the token, so node 2 makes a new chain.
        take(5, 2, 1, token(9, 2, 1)),
        here(6, 1, token(9, 2, 1)),
    ];
    check_identities(&frames).expect("all these frames are allowed");
}

#[test]
fn each_violation_is_found() {
    let cases: [(&[Seen], &str); 7] = [
        // Two nodes hold equal tokens.
        (
            &[here(0, 1, token(5, 1, 1)), here(1, 2, token(5, 1, 1))],
            "equal tokens",
        ),
        // The token's holder is not the node to which the token was offered.
        (
            &[
                here(0, 1, token(5, 1, 1)),
                take(1, 1, 2, token(6, 1, 1)),
                here(2, 3, token(6, 1, 1)),
            ],
            "equal tokens",
        ),
        // One token is offered to two members.
        (
            &[take(1, 1, 2, token(6, 1, 1)), take(2, 1, 3, token(6, 1, 1))],
            "equal tokens",
        ),
        // A chain is handed over to two successors at different progress.
        (
            &[take(1, 1, 2, token(6, 1, 1)), take(2, 1, 3, token(8, 1, 1))],
            "hands on a chain",
        ),
        (
            &[here(0, 1, token(9, 1, 1)), here(1, 1, token(7, 1, 1))],
            "goes back",
        ),
        (&[here(0, 2, token(5, 1, 1))], "begins with"),
        (
            &[here(0, 1, token(5, 1, 4)), here(1, 1, token(9, 1, 3))],
            "uses number",
        ),
    ];
    for (frames, words) in cases {
        assert_found(check_identities(frames), words);
    }
}

#[test]
fn an_author_that_forgot_its_numbers_may_reuse_them_but_two_nodes_never_hold_equal_tokens() {
    let again = [
        here(0, 1, token(5, 1, 4)),
        take(1, 1, 2, token(6, 1, 4)),
        here(2, 1, token(900, 1, 1)),
        take(3, 1, 3, token(901, 1, 1)),
        here(4, 2, token(6, 1, 4)),
    ];
    let mut identities = TokenIdentities::with_forgetful([mac(1)]);
    for seen in &again {
        identities
            .check_frame(seen)
            .expect("the clock makes the tokens differ");
    }
    let twin = identities.check_frame(&here(5, 2, token(901, 1, 1)));
    assert!(twin.is_err_and(|error| error.to_string().contains("equal tokens")));
}

#[test]
fn the_check_goes_on_after_a_violation() {
    let mut identities = TokenIdentities::default();
    let frames = [
        here(0, 1, token(5, 1, 1)),
        here(1, 2, token(5, 1, 1)),
        here(2, 1, token(5, 1, 1)),
        here(3, 3, token(5, 1, 1)),
    ];
    let verdicts: Vec<bool> = frames
        .iter()
        .map(|seen| identities.check_frame(seen).is_ok())
        .collect();
    assert_eq!(verdicts, [true, false, true, false]);
}
