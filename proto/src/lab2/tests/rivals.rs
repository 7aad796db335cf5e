//! Tests of rivals (`docs/reference/lab2/passing.md P28` and P29): a token overtakes a second token that circulates at
//! the same speed.

use ring_codec::lab2::Message;

use super::rig::{HAND_OVER, HEARTBEAT, IDLE_HOLD, Rig, here, ms, take, token, token_of};

/// Returns the next offer of an OWNER of 2000-n3-1 after the OWNER has heard of another token.
fn offer_after_hearing(progress: u64, author: u8) -> Vec<String> {
    let mut rig = Rig::owner();
    rig.hear(7, take(token(2000)));
    rig.hear_all(7, here(token_of(progress, author, 1)));
    let sent = rig.pass_time(IDLE_HOLD);
    sent.into_iter()
        .filter(|line| line.starts_with("TAKE_TOKEN"))
        .collect()
}

#[test]
fn a_token_gets_ahead_of_a_rival_close_behind() {
    assert_eq!(offer_after_hearing(1999, 7), ["TAKE_TOKEN 3024-n3-1 to n7"]);
}

#[test]
fn only_the_token_with_the_smaller_name_gets_ahead() {
    assert_eq!(offer_after_hearing(1999, 2), ["TAKE_TOKEN 2001-n3-1 to n7"]);
}

#[test]
fn a_token_needs_no_lead_over_one_far_behind() {
    assert_eq!(offer_after_hearing(900, 7), ["TAKE_TOKEN 2001-n3-1 to n7"]);
}

#[test]
fn old_tokens_of_the_own_chain_are_no_rivals() {
    assert_eq!(offer_after_hearing(1999, 3), ["TAKE_TOKEN 2001-n3-1 to n7"]);
}

/// Two tokens cross: the node offered one token, and a member offers the second token to the node.
#[test]
fn a_token_that_crosses_another_gets_ahead_of_it() {
    let mut rig = Rig::owner();
    rig.hear(7, take(token_of(2000, 7, 1)));
    assert!(rig.pass_time(IDLE_HOLD)[0].starts_with("TAKE_TOKEN 2001-n7-1"));
    rig.hear(3, take(token_of(2001, 3, 1)));
    let sent = rig.pass_time(IDLE_HOLD);
    assert!(sent[0].starts_with("TAKE_TOKEN 3025-n3-1"), "{sent:?}");
}

#[test]
fn an_unsent_offer_with_a_lead_is_repeated_as_it_was() {
    let mut rig = Rig::owner();
    rig.hear_all(7, here(token_of(10, 7, 1)));
    rig.refuse = |line| line.starts_with("TAKE_TOKEN");
    rig.pass_time(IDLE_HOLD);
    rig.refuse = |_| false;
    let sent = rig.pass_time(ms(5));
    assert_eq!(sent, ["TAKE_TOKEN 1035-n3-1 to n7"]);
}

#[test]
fn old_news_of_a_rival_gives_no_lead() {
    let mut rig = Rig::owner();
    rig.command(crate::lab2::Command::WantToken);
    rig.hear_all(7, here(token_of(10, 7, 1)));
    rig.pass_time(4 * HEARTBEAT);
    rig.hear_all(7, Message::WantToken);
    let sent = rig.command(crate::lab2::Command::WorkDone);
    assert_eq!(sent, ["TAKE_TOKEN 12-n3-1 to n7"]);
}

#[test]
fn a_token_minted_after_a_lead_is_stronger_than_the_offer() {
    let mut rig = Rig::owner();
    rig.hear_all(7, here(token_of(10, 7, 1)));
    assert_eq!(rig.pass_time(IDLE_HOLD), ["TAKE_TOKEN 1035-n3-1 to n7"]);
    rig.pass_time(HAND_OVER);
    assert_eq!(rig.token(), "1036-n5-1");
}
