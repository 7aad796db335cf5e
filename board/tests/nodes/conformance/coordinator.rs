//! Checks of a node that leads a ring, stands for election, and replaces a coordinator.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, tests};

use super::super::test_ring::TestRing;
use super::frames::{Message, Method};
use super::peer::{ANSWER_TIMEOUT, Event, Link};
use super::stand::{COORDINATOR, Stand, TERM_SHIFT, answer};

/// The default of --election-timeout (T1).
const ELECTION_TIMEOUT: Duration = Duration::from_secs(1);
/// The value of --token-timeout, a lower bound of R.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(2);
/// A time that is longer than --ack-timeout.
const AFTER_ACK_TIMEOUT: Duration = Duration::from_millis(800);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// A --token-timeout that is longer than the check. So the coordinator creates no token meanwhile.
const LONG_TOKEN_TIMEOUT: (&str, &str) = ("--token-timeout", "30s");

pub(crate) fn tests() -> Vec<Test> {
    let alone = tests![
        the_first_node_founds_a_ring_and_inserts_newcomers,
        a_coordinator_removes_only_the_node_that_failed,
        a_coordinator_replaces_a_lost_token_by_a_token_of_a_higher_term,
        a_node_claims_only_after_the_beat_of_a_silent_coordinator_has_ended,
        ring_elections_choose_the_largest_id_that_is_alive,
        a_bully_election_answers_smaller_nodes_and_waits_for_larger_nodes,
    ];
    let together = tests![other_nodes_elect_and_replace_the_program];
    let alone = alone.into_iter().map(Test::without_stalls);
    alone.chain(together).collect()
}

fn the_first_node_founds_a_ring_and_inserts_newcomers() -> Result<()> {
    let stand = Stand::founder(&[LONG_TOKEN_TIMEOUT])?;
    let row = stand.rows.row()?;
    ensure!(
        !row.is_acting,
        "rule S2 (members.md): the founder of an empty database is acting"
    );
    let rule = "S2 (members.md)";
    stand.rows.wait_for_ring(rule, &[(3, 3)])?;
    let done = answer(stand.start_post("alone")?)?;
    let (_, _, used) = stand.rows.post("alone")?.context("the post is written")?;
    ensure!(
        done.status == 201 && used >> TERM_SHIFT == row.term,
        "rule T16 (token.md): the token {used} of the term {} answered {done:?}",
        row.term
    );
    let beat = stand.rows.beat()?;
    let give_up = Instant::now() + ANSWER_TIMEOUT;
    while stand.rows.beat()? == beat {
        ensure!(
            Instant::now() < give_up,
            "rule D5 (database.md): the beat does not change"
        );
        thread::sleep(BETWEEN_LOOKS);
    }

    let mut links = stand.join_founder(1)?;
    let ring = [(1, 3), (3, 1)];
    stand.rows.wait_for_ring("S6 (members.md)", &ring)?;
    links.after.take_token("T13 (token.md)")?;
    let member = stand.peer(1);
    member.send(&Message::Join)?;
    let rule = "S5 (members.md)";
    member.expect(rule, &Message::Successor(3))?;
    stand.rows.wait_for_ring(rule, &ring)?;

    let newcomer = stand.peer(2);
    let rule = "S6 (members.md)";
    newcomer.request(rule, &Message::Join)?;
    let ring = stand.rows.ring()?;
    let (between, successor) = if ring.get(&1) == Some(&2) {
        (1, 3)
    } else {
        (3, 1)
    };
    let other = 4 - between;
    let expected = [(between, 2), (2, successor), (other, between)];
    stand.rows.wait_for_ring(rule, &expected)?;
    if between == 1 {
        member.expect(rule, &Message::Successor(2))?;
    } else {
        newcomer.accept("C5 (members.md)")?;
    }
    Ok(())
}

/// Accepts the connection of the program to this node, if this node is its successor.
fn accept_successor(stand: &Stand, id: u32) -> Result<Option<Link>> {
    if stand.rows.ring()?.get(&COORDINATOR) == Some(&id) {
        return Ok(Some(stand.peer(id).accept("C5 (members.md)")?));
    }
    Ok(None)
}

fn a_coordinator_removes_only_the_node_that_failed() -> Result<()> {
    let stand = Stand::founder(&[LONG_TOKEN_TIMEOUT])?;
    let mut links = stand.join_founder(1)?;
    links.after.take_token("T13 (token.md)")?;
    let join = || -> Result<Option<Link>> {
        stand.peer(2).request("S6 (members.md)", &Message::Join)?;
        accept_successor(&stand, 2)
    };
    let link = join()?;
    let ring = stand.rows.ring()?;
    let (first, last) = if ring[&COORDINATOR] == 1 {
        (1, 2)
    } else {
        (2, 1)
    };

    let rule = "F9 (failures.md)";
    let requester = stand.peer(first);
    let rest = [(first, COORDINATOR), (COORDINATOR, first)];
    // The repetition may be a datagram that was late. It must not remove one more node.
    for _ in 0..2 {
        requester.send(&Message::SuccessorRequest)?;
        requester.expect(rule, &Message::Successor(COORDINATOR))?;
        stand.rows.wait_for_ring(rule, &rest)?;
    }
    // The coordinator has removed this node, so it inserts the node again.
    stand.peer(last).request(rule, &Message::SuccessorRequest)?;
    let again = accept_successor(&stand, last)?;

    // The successor of this member is the coordinator, so the coordinator removes the member.
    thread::sleep(AFTER_ACK_TIMEOUT);
    let ring = stand.rows.ring()?;
    let (&unconnected, _) = ring
        .iter()
        .find(|(_, successor)| **successor == COORDINATOR)
        .context("the coordinator is a member")?;
    stand.peer(unconnected).send(&Message::SuccessorRequest)?;
    let other = 3 - unconnected;
    let rest = [(other, COORDINATOR), (COORDINATOR, other)];
    stand.rows.wait_for_ring(rule, &rest)?;
    let told = stand.peer(other);
    told.expect(rule, &Message::Successor(COORDINATOR))?;
    drop((link, again));
    Ok(())
}

fn a_coordinator_replaces_a_lost_token_by_a_token_of_a_higher_term() -> Result<()> {
    let stand = Stand::founder(&[])?;
    let mut links = stand.join_founder(1)?;
    let lost = links.after.see_token("T13 (token.md)")?;
    let seen = Instant::now();
    links.after.send(&Message::TokenAck(lost))?;
    // The peer keeps this token without end.
    let new = links.after.take_token("T2 (token.md)")?;
    let after = seen.elapsed();
    ensure!(
        after >= TOKEN_TIMEOUT,
        "rule T2 (token.md): a new token arrived {after:?} after the last token, before the end of R"
    );
    let term = (lost >> TERM_SHIFT) + 1;
    ensure!(
        new == (term << TERM_SHIFT) + 1,
        "rule T16 (token.md): after the loss of {lost}, the token {new} arrived"
    );
    stand.wait_for_row("D2 (database.md)", COORDINATOR, term, false)?;
    // The old token has a smaller sequence.
    let old = lost + 1;
    links.before.send(&Message::Token(old))?;
    links
        .before
        .expect("T4 (token.md)", &Message::TokenAck(old))?;
    let reason = "a token of an earlier term";
    links.after.expect_silence("T5 (token.md)", reason)?;
    links.check_pass("T5 (token.md)", new + 1)
}

fn a_node_claims_only_after_the_beat_of_a_silent_coordinator_has_ended() -> Result<()> {
    /// A time that is longer than Q, which is 2.4 s.
    const LONGER_THAN_Q: Duration = Duration::from_millis(3_500);
    let mut stand = Stand::newcomer(1, &[])?;
    let mut links = stand.join(&[1, 3, 2])?;
    let term = stand.term()?;
    let sequence = stand.fresh_sequence()?;
    links.before.send(&Message::Token(sequence))?;
    links.after.see_token("T13 (token.md)")?;
    // The coordinator does not acknowledge the token, and does not answer. Node 2 shows that the network works.
    let coordinator = stand.peer(COORDINATOR);
    for _ in 0..3 {
        coordinator.expect("F6 (failures.md)", &Message::SuccessorRequest)?;
    }
    let lost = Instant::now();
    while lost.elapsed() < LONGER_THAN_Q {
        let row = stand.rows.row()?;
        ensure!(
            row.id == Some(COORDINATOR),
            "rule A1 (failures.md): while the beat changes, the program claims: {row:?}"
        );
        thread::sleep(BETWEEN_LOOKS);
    }
    stand.stop_beats();
    let stopped = Instant::now();
    let rule = "F7, A7 (failures.md)";
    stand.wait_for_row(rule, 1, term + 1, true)?;
    ensure!(
        stopped.elapsed() >= TOKEN_TIMEOUT,
        "rule A2 (failures.md): the program claims {:?} after the last beat, before the end of Q",
        stopped.elapsed()
    );
    stand.rows.wait_for_ring(rule, &[(1, 2), (2, 1)])?;
    let mut after = stand.peer(2).accept("L7 (members.md)")?;
    // The token and the election may arrive in any order.
    let (mut has_token, mut has_election) = (false, false);
    let give_up = Instant::now() + ANSWER_TIMEOUT;
    while !(has_token && has_election) {
        has_election |= stand.peer(2).has_election()?;
        match after.next(BETWEEN_LOOKS)? {
            Event::Message(Message::Token(sequence)) => {
                has_token = true;
                after.send(&Message::TokenAck(sequence))?;
            }
            Event::Message(message) => has_election |= message.is_election(),
            Event::End | Event::Silence => {}
        }
        ensure!(
            Instant::now() < give_up,
            "rules T15 (token.md), E2 (elections.md): after the claim, token: {has_token}, election: {has_election}"
        );
    }
    Ok(())
}

fn ring_elections_choose_the_largest_id_that_is_alive() -> Result<()> {
    let stand = Stand::newcomer(2, &[])?;
    let mut links = stand.join(&[2, 1, 3])?;
    let term = stand.term()?;
    let sent = [
        // The id of the program is at position 0. So the ids 2 and 1 are alive.
        Message::RingElection(vec![3, 2, 1]),
        // The program is no participant, so it replaces the smaller candidate by itself.
        Message::ChangElection(1),
        Message::ChangElection(1),
    ];
    for message in &sent {
        links.before.send(message)?;
    }
    let result = Message::Coordinator(Method::RingBased, 2);
    links.after.expect("E9 (elections.md)", &result)?;
    let candidate = Message::ChangElection(2);
    links.after.expect("E10 (elections.md)", &candidate)?;
    let reason = "a second smaller candidate";
    links.after.expect_silence("E10 (elections.md)", reason)?;
    stand.wait_for_row("E3, E8 (elections.md)", 2, term + 1, false)?;

    thread::sleep(ELECTION_TIMEOUT);
    links.before.send(&candidate)?;
    let result = Message::Coordinator(Method::ChangRoberts, 2);
    links.after.expect("E10 (elections.md)", &result)
}

fn a_bully_election_answers_smaller_nodes_and_waits_for_larger_nodes() -> Result<()> {
    let stand = Stand::newcomer(2, &[])?;
    let _links = stand.join(&[2, 1, 3])?;
    let (smaller, larger) = (stand.peer(1), stand.peer(COORDINATOR));
    let term = stand.term()?;
    larger.send(&Message::BullyElection)?;
    larger.expect_no("E15 (elections.md)", |message| *message == Message::BullyOk)?;

    smaller.send(&Message::BullyElection)?;
    smaller.expect("E15 (elections.md)", &Message::BullyOk)?;
    let rule = "E13, E15 (elections.md)";
    larger.expect(rule, &Message::BullyElection)?;
    larger.send(&Message::BullyOk)?;
    larger.send(&Message::Coordinator(Method::Bully, COORDINATOR))?;
    let wins = |message: &Message| *message == Message::Coordinator(Method::Bully, 2);
    thread::sleep(2 * ELECTION_TIMEOUT);
    smaller.expect_no("E14 (elections.md)", wins)?;

    // A smaller node must not stay coordinator. The larger node does not answer now.
    smaller.send(&Message::Coordinator(Method::Bully, 1))?;
    larger.expect("E16 (elections.md)", &Message::BullyElection)?;
    let result = Message::Coordinator(Method::Bully, 2);
    for peer in [smaller, larger] {
        peer.expect("E13 (elections.md)", &result)?;
    }
    stand.wait_for_row("E3 (elections.md)", 2, term + 1, false)
}

/// Nodes 1 and 2 are real nodes.
fn other_nodes_elect_and_replace_the_program() -> Result<()> {
    let mut ring = TestRing::with_judged(3, 3)?;
    let rule = "rule E2, E3 (elections.md): the program is not elected";
    ring.wait_for_ring(&[1, 2, 3]).context(rule)?;
    super::post_everywhere(&ring, "before")?;
    ring.node(3).kill()?;
    ring.wait_for_ring(&[1, 2])
        .context("rule A4 (failures.md): no node replaces the program")?;
    ring.node(3).start()?;
    let rule = "rule S8 (members.md): the program is not elected after its second start";
    ring.wait_for_ring(&[1, 2, 3]).context(rule)?;
    super::post_everywhere(&ring, "after")
}
