//! Tests of large rings (`docs/reference/lab2/large-rings.md N1` to N5): which members answer a question, and after
//! which delays they send.
//!
//! The state machine under test is n5. Each test adds silent members with smaller addresses. So n5 becomes, for
//! example, the last of ten members, or the last of a thousand members.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Member, Message, NO_IP};

use super::network::Network;
use super::rig::{
    ANSWER_TIMEOUT, HEARTBEAT, LOOSER_TIMEOUT, Rig, SAME, WAITER_TIMEOUT, generating, ms, token,
    token_of, was_here,
};
use crate::lab2::{Constants, State};

const QUESTION: &str = "WHERE_IS_TOKEN to all";
const CANDIDACY: &str = "GENERATING_TOKEN 11-n5-1 to all";

/// Adds `count` members before n3 in the order of addresses.
fn add_members_before(mut rig: Rig, count: u16) -> Rig {
    let members: Vec<_> = (0..count)
        .map(|n| Member {
            mac: MacAddr([0, 0, 0, 1, n.to_be_bytes()[0], n.to_be_bytes()[1]]),
            ip: NO_IP,
        })
        .collect();
    for members in members.chunks(66) {
        let digest = SAME;
        rig.hear(3, Message::RingMembers { digest, members });
    }
    // n3 already has the table of this node, so this node does not send it now.
    rig.stall(HEARTBEAT);
    rig
}

/// Returns a WAITER with `place` members before it in the order of addresses.
fn waiter_at(place: u16) -> Rig {
    add_members_before(Rig::waiter(), place - 1)
}

/// Returns the node of [`waiter_at`] after it has asked for the token. Also returns the delay between the
/// WAITER_TIMEOUT and the question of this node.
fn looser_at(place: u16) -> (Rig, Duration) {
    let patient = || {
        let mut rig = waiter_at(place);
        rig.hear_all(3, super::rig::here(token(10)));
        rig
    };
    let sent = patient().timeline(WAITER_TIMEOUT + HEARTBEAT / 4);
    assert_eq!(sent.len(), 1, "{sent:?}");
    let mut rig = patient();
    assert_eq!(rig.pass_time(sent[0].0), [QUESTION]);
    (rig, sent[0].0 - WAITER_TIMEOUT)
}

#[test]
fn a_question_is_answered_by_the_eight_that_follow_the_asker() {
    let answer = ["TOKEN_WAS_HERE_RECENTLY 10-n3-1 at n3 to n6"];
    for (before, answers) in [(5, true), (6, false), (50, false)] {
        // After n6 come the members before n3, n3 itself, and n5.
        let mut rig = add_members_before(Rig::waiter(), before);
        rig.hear(6, Message::WantToken);
        let sent = rig.hear_all(6, Message::WhereIsToken);
        assert_eq!(sent == answer, answers || before == 6, "{before}: {sent:?}");
        let sent = rig.hear_all(6, generating(token_of(1, 6, 1)));
        assert_eq!(
            !sent.is_empty(),
            answers || before == 6,
            "{before}: {sent:?}"
        );
    }
}

#[test]
fn an_owner_answers_every_question() {
    let mut rig = add_members_before(Rig::owner(), 50);
    let sent = rig.hear_all(6, Message::WhereIsToken);
    assert_eq!(sent[0], "TOKEN_IS_HERE 11-n3-1 to n6");
}

#[test]
fn the_first_nine_ask_at_once_and_the_others_one_after_the_other() {
    for (place, delay) in [(1, 0), (8, 0), (9, 1), (12, 4), (20, 12)] {
        assert_eq!(looser_at(place).1, ms(delay), "{place}");
    }
    let late = looser_at(2_000).1;
    assert!(late > HEARTBEAT / 5 && late <= HEARTBEAT / 4, "{late:?}");
}

#[test]
fn a_question_of_another_member_replaces_a_delayed_one() {
    let mut rig = waiter_at(20);
    rig.hear_all(3, super::rig::here(token(10)));
    assert_eq!(rig.pass_time(WAITER_TIMEOUT + ms(3)), [""; 0]);
    assert_eq!(rig.state(), State::Looser);
    assert_eq!(rig.hear_all(3, Message::WhereIsToken), [""; 0]);
    let sent = rig.timeline(ANSWER_TIMEOUT + ms(12));
    assert_eq!(sent, [(ANSWER_TIMEOUT + ms(12), CANDIDACY.into())]);
}

#[test]
fn a_question_long_before_does_not_replace_the_own_one() {
    let mut rig = looser_at(20).0;
    rig.hear(3, was_here(token(10), 3));
    rig.pass_time(LOOSER_TIMEOUT - HEARTBEAT / 2);
    assert_eq!(rig.hear_all(3, Message::WhereIsToken), [""; 0]);
    let sent = rig.timeline(HEARTBEAT);
    assert_eq!(sent, [(HEARTBEAT / 2 + ms(12), QUESTION.into())]);
}

#[test]
fn a_question_just_before_replaces_the_own_one() {
    let mut rig = looser_at(20).0;
    rig.hear(3, was_here(token(10), 3));
    rig.pass_time(LOOSER_TIMEOUT - ms(20));
    rig.hear_all(3, Message::WhereIsToken);
    let sent = rig.timeline(ANSWER_TIMEOUT + ms(12));
    assert_eq!(sent, [(ANSWER_TIMEOUT + ms(12), CANDIDACY.into())]);
}

#[test]
fn the_first_nine_always_ask_themselves() {
    let mut rig = looser_at(8).0;
    rig.hear(3, was_here(token(10), 3));
    rig.pass_time(LOOSER_TIMEOUT - ms(20));
    rig.hear_all(3, Message::WhereIsToken);
    assert_eq!(rig.timeline(ms(20)), [(ms(20), QUESTION.into())]);
}

#[test]
fn a_later_member_stands_in_its_turn_unless_it_is_beaten_by_then() {
    for beaten in [false, true] {
        let mut rig = looser_at(20).0;
        assert_eq!(rig.pass_time(ANSWER_TIMEOUT - ms(1)), [""; 0]);
        assert_eq!(rig.pass_time(ms(12)), [""; 0]);
        if beaten {
            rig.hear_all(3, generating(token_of(11, 3, 1)));
        }
        let sent = rig.pass_time(ms(1));
        assert_eq!(!sent.is_empty(), !beaten, "{sent:?}");
        assert!(sent.iter().all(|line| line == CANDIDACY));
    }
}

#[test]
fn a_later_member_stands_against_a_weaker_candidate_in_its_turn() {
    for beaten in [false, true] {
        let mut rig = looser_at(20).0;
        rig.hear(3, was_here(token(10), 3));
        rig.pass_time(ms(50));
        assert_eq!(rig.hear_all(7, generating(token_of(11, 7, 1))), [""; 0]);
        if beaten {
            rig.hear_all(3, generating(token_of(11, 3, 1)));
        }
        let sent = rig.timeline(ms(13));
        if beaten {
            assert_eq!(sent, []);
            continue;
        }
        // n7 is one more member in addition to the twenty. The slots stay as long as before.
        let all = [CANDIDACY, "GENERATING_TOKEN 11-n5-1 to n7"];
        assert_eq!(sent, all.map(|line| (ms(12), line.to_owned())));
        assert_eq!(rig.state(), State::Generating);
    }
}

#[test]
fn new_members_are_greeted_until_there_are_more_than_nine() {
    // Together with n3 and n5, the ring has eight members.
    let mut rig = add_members_before(Rig::waiter(), 6);
    assert_eq!(rig.hear_all(8, Message::WantToken), ["PING to n8"]);
    assert_eq!(rig.hear_all(9, Message::WantToken), [""; 0]);
}

/// Returns the number of broadcasts of an election in a large ring. Before the election, the owner and the first `dead`
/// members died.
fn count_failover_broadcasts(nodes: u8, dead: u8) -> usize {
    let constants = Constants::default();
    let limit = constants.waiter_timeout()
        + constants.looser_timeout()
        + 2 * constants.looser_answer_timeout();
    let mut network = Network::new(nodes, constants, 7);
    network.run(ms(3_000));
    let first = (0..usize::from(dead)).collect::<Vec<_>>();
    let owners = |network: &Network| {
        let all = 0..network.nodes.len();
        all.filter(|&at| network.nodes[at].token().is_some())
            .collect::<Vec<_>>()
    };
    for at in [owners(&network), first].concat() {
        network.kill(at);
    }
    let before = network.broadcasts;
    network.run_until(limit + ms(1), |network| network.owners().count() > 0);
    network.run(ms(50));
    assert_eq!(owners(&network).len(), 1, "{}", network.trace());
    network.broadcasts.iter().sum::<usize>() - before.iter().sum::<usize>()
}

#[test]
fn an_election_costs_no_more_in_a_ring_of_a_hundred_than_in_one_of_ten() {
    for dead in [0, 9, 30] {
        for nodes in [40, 100] {
            let cost = count_failover_broadcasts(nodes, dead);
            assert!(cost <= 25, "{cost} broadcasts, {nodes} nodes, {dead} dead");
        }
    }
}

#[test]
fn a_turn_that_a_lost_link_interrupts_does_not_come_later() {
    let (mut rig, _) = looser_at(50);
    // The time to stand for election has come, but the node still waits for its turn.
    rig.pass_time(ANSWER_TIMEOUT);
    assert_eq!(rig.state(), State::Looser);
    rig.link(crate::LinkState::Down);
    rig.link_up();
    let sent = rig.pass_time(ANSWER_TIMEOUT);
    assert!(
        !sent.contains(&CANDIDACY.to_owned()),
        "out of turn: {sent:?}"
    );
}
