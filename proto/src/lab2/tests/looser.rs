//! Tests of LOOSER (`docs/reference/lab2/states.md L1` to L9).

use super::rig::{
    ANSWER_TIMEOUT, BLANK, LOOSER_TIMEOUT, Rig, WAITER_TIMEOUT, constants, generating, here, mac,
    ms, take, token, token_of, was_here,
};
use crate::LinkState;
use crate::lab2::{Constants, Event, Reason, State};

const QUESTION: &str = "WHERE_IS_TOKEN to all";

#[test]
fn a_node_starts_as_looser_and_asks_on_entry() {
    let (rig, sent) = Rig::start(constants(), BLANK);
    assert_eq!(rig.state(), State::Looser);
    assert_eq!(sent, [QUESTION]);
}

#[test]
fn it_asks_again_every_looser_timeout() {
    let mut rig = Rig::asking();
    let mut asked = Vec::new();
    for n in 1..=5 {
        rig.hear(3, was_here(token(10), 3));
        let sent = rig.timeline(LOOSER_TIMEOUT);
        asked.extend(sent.into_iter().map(|(at, line)| (n, at, line)));
    }
    let every: Vec<_> = (1..=5)
        .map(|n| (n, LOOSER_TIMEOUT, QUESTION.into()))
        .collect();
    assert_eq!(asked, every);
}

#[test]
fn no_answer_in_looser_answer_timeout_makes_it_generating() {
    let mut rig = Rig::asking();
    assert_eq!(rig.pass_time(ANSWER_TIMEOUT - ms(1)), [""; 0]);
    assert_eq!(rig.state(), State::Looser);
    assert_eq!(rig.pass_time(ms(1)), ["GENERATING_TOKEN 11-n5-1 to all"]);
    assert_eq!(rig.state(), State::Generating);
    assert!(rig.events.contains(&Event::StateChanged {
        from: State::Looser,
        to: State::Generating,
        reason: Reason::NoAnswer,
        token: Some(token_of(11, 5, 1)),
    }));
}

#[test]
fn token_is_here_makes_it_waiter_for_a_whole_waiter_timeout() {
    for strength in [9, 10, 11] {
        let mut rig = Rig::asking();
        assert_eq!(rig.hear(3, here(token(strength))), [""; 0]);
        assert_eq!(rig.state(), State::Waiter);
        assert_eq!(rig.machine.owner(), Some(mac(3)));
        assert_eq!(rig.pass_time(WAITER_TIMEOUT - ms(1)), [""; 0]);
        assert_eq!(rig.pass_time(ms(1)), [QUESTION]);
    }
}

#[test]
fn take_token_stronger_than_known_makes_it_owner() {
    let mut rig = Rig::asking();
    let sent = rig.hear(3, take(token(11)));
    assert_eq!(sent[0], "TOKEN_IS_HERE 11-n3-1 to n3");
    assert_eq!(rig.state(), State::Owner);
    let sent = rig.pass_time(ms(9));
    assert_eq!(sent, [""; 0], "the node neither asks nor stands");
}

#[test]
fn take_token_not_stronger_than_known_is_not_answered() {
    for offer in [token(10), token(9)] {
        let mut rig = Rig::asking();
        assert_eq!(rig.hear(3, take(offer)), [""; 0]);
        assert_eq!(rig.state(), State::Looser);
    }
}

#[test]
fn token_was_here_recently_cancels_the_election() {
    let mut rig = Rig::asking();
    rig.pass_time(ms(30));
    assert_eq!(rig.hear(3, was_here(token(10), 3)), [""; 0]);
    let sent = rig.timeline(LOOSER_TIMEOUT - ms(30));
    assert_eq!(sent, [(LOOSER_TIMEOUT - ms(30), QUESTION.into())]);
    assert_eq!(rig.state(), State::Looser);
}

#[test]
fn generating_token_weaker_than_its_own_candidate_makes_it_generating() {
    for rival in [token_of(10, 3, 1), token_of(11, 7, 1)] {
        let mut rig = Rig::asking();
        let sent = rig.hear_all(7, generating(rival));
        assert_eq!(
            sent,
            [
                "GENERATING_TOKEN 11-n5-1 to all",
                "GENERATING_TOKEN 11-n5-1 to n7"
            ]
        );
        assert_eq!(rig.state(), State::Generating);
        let sent = rig.timeline(ANSWER_TIMEOUT);
        let elected = (ANSWER_TIMEOUT, "TOKEN_IS_HERE 11-n5-1 to all".into());
        assert_eq!(sent.last(), Some(&elected), "a full answer timeout");
    }
}

#[test]
fn generating_token_stronger_than_its_own_candidate_cancels_the_election() {
    for rival in [token_of(12, 7, 1), token_of(11, 3, 1)] {
        let mut rig = Rig::asking();
        rig.pass_time(ms(30));
        assert_eq!(rig.hear_all(3, generating(rival)), [""; 0]);
        assert_eq!(rig.state(), State::Looser);
        let sent = rig.timeline(LOOSER_TIMEOUT - ms(30));
        assert_eq!(sent, [(LOOSER_TIMEOUT - ms(30), QUESTION.into())]);
    }
}

#[test]
fn it_asks_every_looser_timeout_however_many_stronger_candidates_it_hears() {
    let mut rig = Rig::asking();
    let mut questions = 0;
    for _ in 0..10 {
        questions += rig.pass_time(ms(90)).len();
        rig.hear_all(3, generating(token_of(99, 3, 1)));
    }
    assert_eq!(questions, 4, "in 900 ms");
}

#[test]
fn a_looser_whose_election_was_cancelled_stands_against_a_weaker_candidate() {
    let mut rig = Rig::asking();
    rig.hear(3, was_here(token(10), 3));
    rig.pass_time(ms(150));
    assert_eq!(rig.hear_all(7, generating(token_of(2, 7, 1))).len(), 2);
    assert_eq!(rig.state(), State::Generating);
}

#[test]
fn a_link_that_goes_down_turns_every_state_into_a_silent_looser() {
    for start in [
        Rig::owner,
        Rig::giver,
        Rig::waiter,
        Rig::asking,
        Rig::candidate,
    ] {
        let mut rig = start();
        assert_eq!(rig.link(LinkState::Down), [""; 0]);
        assert_eq!(rig.state(), State::Looser);
        assert_eq!(rig.machine.owner(), None);
        assert_eq!(rig.pass_time(ms(5_000)), [""; 0]);
        assert_eq!(rig.link_up(), [QUESTION]);
        let sent = rig.pass_time(ANSWER_TIMEOUT);
        assert_eq!(sent.len(), 1, "{sent:?}");
        assert!(sent[0].starts_with("GENERATING_TOKEN"));
    }
}

#[test]
fn a_changed_address_is_a_new_member_and_a_looser() {
    let mut rig = Rig::owner();
    let up = LinkState::Up {
        mac: mac(8),
        ip: super::rig::ip(8),
        mtu: 1500,
    };
    let sent = rig.link(up);
    assert_eq!(sent, ["LEAVING to all", QUESTION]);
    // All members know that the old address has left, and they know the node's new address.
    let authors = rig
        .frames
        .iter()
        .map(|frame| super::rig::decode(frame).author);
    assert!(authors.eq([mac(5), mac(8)]));
    assert_eq!(rig.state(), State::Looser);
    assert_eq!(rig.members(), [3, 5, 7, 8]);
    let sent = rig.pass_time(ANSWER_TIMEOUT);
    assert_eq!(sent, ["GENERATING_TOKEN 12-n8-1 to all"]);
}

#[test]
fn a_beaten_looser_does_not_stand_before_its_next_question() {
    let weaker = token_of(11, 7, 1);
    let mut rig = Rig::asking();
    rig.hear_all(3, generating(token_of(11, 3, 1)));
    assert_eq!(rig.hear(7, generating(weaker)), [""; 0]);
    assert_eq!(rig.state(), State::Looser);
    assert_eq!(rig.pass_time(LOOSER_TIMEOUT), [QUESTION]);
    assert_eq!(rig.hear(7, generating(weaker)).len(), 2);

    let mut rig = Rig::candidate();
    rig.hear_all(3, generating(token_of(11, 3, 1)));
    assert_eq!(rig.hear(7, generating(weaker)), [""; 0]);
    assert_eq!(rig.state(), State::Looser);
}

#[test]
fn a_looser_that_stands_does_not_ask_even_if_the_question_is_due() {
    let constants = Constants {
        answer_intervals: 2,
        ..constants()
    };
    assert_eq!(
        constants.looser_answer_timeout(),
        constants.looser_timeout()
    );
    let (mut rig, _) = Rig::start(constants, BLANK);
    let sent = rig.pass_time(LOOSER_TIMEOUT);
    assert_eq!(sent, ["GENERATING_TOKEN 1-n5-1 to all"]);
}
