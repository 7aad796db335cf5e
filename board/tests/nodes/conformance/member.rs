//! Checks of a member. The program has the smallest id. A peer plays the coordinator, and another peer the third node.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Test, tests};

use super::super::http::get;
use super::super::test_ring::TestRing;
use super::frames::{Message, Method};
use super::peer::{ANSWER_TIMEOUT, SILENCE_DURATION};
use super::stand::{COORDINATOR, RAISE, Stand, TERM_SHIFT, answer};

/// The ring of the checks. The program is node 1.
const MEMBERS: [u32; 3] = [1, 2, 3];

pub(crate) fn tests() -> Vec<Test> {
    let alone = tests![
        a_newcomer_asks_to_join_until_the_database_has_its_successor,
        a_token_is_acknowledged_and_passed_once_with_the_next_sequence,
        a_token_of_a_later_term_is_not_acknowledged_before_the_database_has_this_term,
        a_token_without_acknowledgement_is_taken_back_and_passed_to_the_next_successor,
        a_post_is_written_only_with_the_token_and_only_once_for_a_key,
        a_post_is_not_written_with_an_older_token_than_the_last_used_token,
        election_messages_go_around_the_ring_once,
        a_node_that_shuts_down_passes_its_token_first,
    ];
    let together = tests![other_nodes_pass_the_token_through_the_program_and_show_its_posts];
    let alone = alone.into_iter().map(Test::without_stalls);
    alone.chain(together).collect()
}

fn a_newcomer_asks_to_join_until_the_database_has_its_successor() -> Result<()> {
    let stand = Stand::newcomer(1, &[])?;
    let coordinator = stand.peer(COORDINATOR);
    for _ in 0..3 {
        coordinator.expect("S3 (members.md)", &Message::Join)?;
    }
    let address = stand.rows.address(1)?;
    let (address, port) = address.context("rule D4 (database.md): no row of the program")?;
    ensure!(
        (address.as_str(), port) == ("10.77.0.1", 7400),
        "rule D4 (database.md): the row of the program has {address}:{port}"
    );
    // Only the database defines the successor. A message without a change of the rows has no effect.
    coordinator.send(&Message::Successor(2))?;
    coordinator.expect("L1 (members.md)", &Message::Join)?;
    let mut links = stand.join(&MEMBERS)?;
    links.check_pass("T13 (token.md)", stand.fresh_sequence()?)?;
    coordinator.discard_datagrams()?;
    coordinator.expect_no("S3 (members.md)", |message| *message == Message::Join)
}

fn a_token_is_acknowledged_and_passed_once_with_the_next_sequence() -> Result<()> {
    let stand = Stand::newcomer(1, &[])?;
    let mut links = stand.join(&MEMBERS)?;
    let sequence = stand.fresh_sequence()?;
    links.check_pass("T4, T11, T13 (token.md)", sequence)?;

    // A second copy is acknowledged, because its sender must not treat the program as failed.
    for copy in [sequence, sequence - 1] {
        let rule = "T4 (token.md)";
        links.before.send(&Message::Token(copy))?;
        links.before.expect(rule, &Message::TokenAck(copy))?;
    }
    let reason = "a token that the program has held";
    links.after.expect_silence("T5 (token.md)", reason)?;

    // An acknowledgement of another sequence does not complete the pass.
    let sequence = sequence + 3;
    links.before.send(&Message::Token(sequence))?;
    let passed = links.after.see_token("T13 (token.md)")?;
    links.after.send(&Message::TokenAck(passed - 1))?;
    let reason = "a wrong TOKEN_ACK";
    links.after.expect_end("T13 (token.md)", reason)
}

fn a_token_of_a_later_term_is_not_acknowledged_before_the_database_has_this_term() -> Result<()> {
    let stand = Stand::newcomer(1, &[])?;
    let mut links = stand.join(&MEMBERS)?;
    let later = stand.term()? + 1;
    let sequence = (later << TERM_SHIFT) + 5;
    links.before.send(&Message::Token(sequence))?;
    let reason = "a token of a later term";
    links.before.expect_silence("T3 (token.md)", reason)?;
    let now = stand.fresh_sequence()?;
    links.check_pass("T5 (token.md)", now)?;
    stand.rows.set_term(later)?;
    links.check_pass("T3 (token.md)", sequence)
}

fn a_token_without_acknowledgement_is_taken_back_and_passed_to_the_next_successor() -> Result<()> {
    let stand = Stand::newcomer(1, &[])?;
    let mut links = stand.join(&MEMBERS)?;
    let sequence = stand.fresh_sequence()?;
    links.before.send(&Message::Token(sequence))?;
    let rule = "T4 (token.md)";
    links.before.expect(rule, &Message::TokenAck(sequence))?;
    links.after.see_token("T13 (token.md)")?;
    let reason = "a token without an acknowledgement";
    links.after.expect_end("F1, F2 (failures.md)", reason)?;

    let coordinator = stand.peer(COORDINATOR);
    for _ in 0..2 {
        coordinator.expect("F6 (failures.md)", &Message::SuccessorRequest)?;
    }
    stand.rows.set_ring(&[1, 3])?;
    coordinator.send(&Message::Successor(3))?;
    let mut after = coordinator.accept("F3 (failures.md)")?;
    let passed = after.take_token("T15 (token.md)")?;
    let expected = sequence + 1 + RAISE + 1;
    ensure!(
        passed == expected,
        "rule T14 (token.md): the token has the sequence {passed} instead of {expected}"
    );
    Ok(())
}

fn a_post_is_written_only_with_the_token_and_only_once_for_a_key() -> Result<()> {
    let stand = Stand::newcomer(1, &[("--request-timeout", "2s")])?;
    let mut links = stand.join(&MEMBERS)?;
    let late = stand.start_post("late")?;
    let refusal = answer(late)?;
    ensure!(
        refusal.status == 503 && refusal.body.contains("\"token\""),
        "rule P2 (token.md): the token did not arrive, and the answer is {refusal:?}"
    );

    let post = stand.start_post("first")?;
    thread::sleep(SILENCE_DURATION);
    ensure!(
        stand.rows.count_of_posts()? == 0,
        "rule P1 (token.md): a post was written without the token"
    );
    let sequence = stand.fresh_sequence()?;
    links.check_pass("T10 (token.md)", sequence)?;
    let done = answer(post)?;
    ensure!(done.status == 201, "rule P2 (token.md): {done:?}");
    let written = stand.rows.post("first")?;
    let (id, node, used) = written.context("rule P2 (token.md): the post is not in the table")?;
    ensure!(
        (node, used) == (1, sequence),
        "rule D2 (database.md): the post has the node {node} and the sequence {used}, the token has {sequence}"
    );
    let holder = stand.rows.token()?;
    ensure!(
        holder == (sequence, Some(1)),
        "rule D7 (database.md): after the use of {sequence}, the row of the token has {holder:?}"
    );

    let again = stand.start_post("first")?;
    thread::sleep(SILENCE_DURATION);
    links.check_pass("T10 (token.md)", sequence + 3)?;
    let again = answer(again)?;
    let answered = again.json()?["id"].as_u64();
    ensure!(
        again.status == 200 && answered == Some(id) && stand.rows.count_of_posts()? == 1,
        "rule D8 (database.md): a second post with the same key got {again:?}"
    );
    Ok(())
}

fn a_post_is_not_written_with_an_older_token_than_the_last_used_token() -> Result<()> {
    let stand = Stand::newcomer(1, &[])?;
    let mut links = stand.join(&MEMBERS)?;
    let post = stand.start_post("guarded")?;
    thread::sleep(SILENCE_DURATION);
    let older = stand.fresh_sequence()?;
    let used = older + 100;
    // The program may notice the newer token in a look, or only in the transaction.
    stand.rows.set_sequence(used)?;
    links.before.send(&Message::Token(older))?;
    let rule = "T4 (token.md)";
    links.before.expect(rule, &Message::TokenAck(older))?;
    let reason = "a token that is older than the last used token";
    links.after.expect_silence("T6, T10 (token.md)", reason)?;
    ensure!(
        stand.rows.count_of_posts()? == 0,
        "rule D2 (database.md): a post was written with {older}, but {used} was already used"
    );
    links.check_pass("T10 (token.md)", used + 1)?;
    let done = answer(post)?;
    ensure!(
        done.status == 201,
        "rule T10 (token.md): the request did not wait for the next token: {done:?}"
    );
    Ok(())
}

fn election_messages_go_around_the_ring_once() -> Result<()> {
    let stand = Stand::newcomer(1, &[])?;
    let mut links = stand.join(&MEMBERS)?;
    let sent = [
        Message::RingElection(vec![3]),
        Message::RingElection(Vec::new()),
        Message::RingElection(vec![4, 5, 6, 7]),
        Message::Coordinator(Method::RingBased, 99),
        Message::Coordinator(Method::RingBased, 3),
        Message::Coordinator(Method::RingBased, 3),
        Message::ChangElection(99),
        Message::ChangElection(3),
        Message::ChangElection(3),
        Message::ChangElection(2),
        // The same result by another ring method is also a repetition.
        Message::Coordinator(Method::ChangRoberts, 3),
        Message::Coordinator(Method::ChangRoberts, 2),
        Message::RingElection(vec![2, 1, 3]),
    ];
    for message in &sent {
        links.before.send(message)?;
    }
    let forwarded = [
        ("E9", Message::RingElection(vec![3, 1])),
        ("E5, E6, E9", Message::Coordinator(Method::RingBased, 3)),
        ("E7, E10", Message::ChangElection(3)),
        ("E10", Message::ChangElection(2)),
        ("E5, E7", Message::Coordinator(Method::ChangRoberts, 2)),
    ];
    for (rule, message) in forwarded {
        let rule = format!("{rule} (elections.md)");
        links.after.expect(&rule, &message)?;
    }
    // The ELECTION has the id of the program at position 1. Only the ids from this position on are alive, and the
    // result 3 is a repetition.
    let reason = "an ELECTION whose result was sent before";
    links.after.expect_silence("E7 (elections.md)", reason)?;
    links.check_pass("M1 (members.md)", stand.fresh_sequence()?)
}

fn a_node_that_shuts_down_passes_its_token_first() -> Result<()> {
    let mut stand = Stand::newcomer(1, &[("--hold", "10s")])?;
    let mut links = stand.join(&MEMBERS)?;
    let sequence = stand.fresh_sequence()?;
    links.before.send(&Message::Token(sequence))?;
    let rule = "T4 (token.md)";
    links.before.expect(rule, &Message::TokenAck(sequence))?;
    let reason = "a token that the program may hold for 10 s";
    links.after.expect_silence("T11 (token.md)", reason)?;

    let stopped = Instant::now();
    stand.program.signal(Signal::SIGTERM)?;
    let passed = links.after.see_token("F12 (failures.md)")?;
    ensure!(
        passed == sequence + 1 && stopped.elapsed() < Duration::from_secs(9),
        "rule F12 (failures.md): the program passed {passed} after {:?}",
        stopped.elapsed()
    );
    ensure!(
        stand.program.poll_running()?,
        "rule F12 (failures.md): the program did not wait for the acknowledgement"
    );
    links.after.send(&Message::TokenAck(passed))?;
    stand.program.wait_exit(ANSWER_TIMEOUT)?;
    let reason = "the end of the program";
    links.before.expect_end("F12 (failures.md)", reason)
}

/// Nodes 2 and 3 are real nodes.
fn other_nodes_pass_the_token_through_the_program_and_show_its_posts() -> Result<()> {
    let mut ring = TestRing::with_judged(3, 1)?;
    let rule = "rule C5, L7 (members.md)";
    ring.wait_for_ring(&[1, 2, 3]).context(rule)?;
    super::post_everywhere(&ring, "before")?;
    ring.node(2).kill()?;
    let rule = "rule F6 (failures.md): the program and node 3 are no ring without node 2";
    ring.wait_for_ring(&[1, 3]).context(rule)?;
    ring.node(2).start()?;
    ring.wait_for_ring(&[1, 2, 3])
        .context("rule L7 (members.md): node 2 cannot join again")?;
    super::post_everywhere(&ring, "after")?;
    let posts = get(&ring, 1, "/posts")?.json()?;
    for id in [2, 3] {
        ensure!(
            get(&ring, id, "/posts")?.json()? == posts,
            "rule D8 (database.md): the program and node {id} show other posts"
        );
    }
    Ok(())
}
