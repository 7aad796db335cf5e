//! Checks under forgeries and faults.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, tests};

use super::super::faults::survive_faults;
use super::super::test_ring::TestRing;
use super::frames::{Message, Method};
use super::peer::{ANSWER_TIMEOUT, SILENCE_DURATION};
use super::stand::{COORDINATOR, Links, RAISE, Stand, answer};

/// The ring of the checks. The program is node 2.
const MEMBERS: [u32; 3] = [2, 1, 3];

pub(crate) fn tests() -> Vec<Test> {
    let tests = tests![
        no_post_is_lost_while_nodes_are_killed_stopped_and_cut_off,
        invalid_and_forged_datagrams_get_no_answer,
        a_connection_with_an_invalid_frame_is_closed,
        connections_without_a_hello_do_not_keep_the_predecessor_out,
        a_coordinator_separates_two_tokens,
        a_locked_database_does_not_stop_the_token,
    ];
    tests.into_iter().map(Test::without_stalls).collect()
}

/// Nodes 1 to 4 are real nodes.
fn no_post_is_lost_while_nodes_are_killed_stopped_and_cut_off() -> Result<()> {
    let survived = survive_faults(TestRing::with_judged(5, 5)?);
    survived.context("rules Q1 to Q9 (promises.md), in the run under faults")
}

/// Returns frames that a node must drop. Each frame is a variant of `valid`.
fn broken_frames(valid: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let changed = |at: usize, value: u8| {
        let mut frame = valid.to_vec();
        frame[at] = value;
        frame
    };
    let mut longer = valid.to_vec();
    longer.push(0);
    vec![
        ("version 2", changed(0, 2)),
        ("type 0", changed(1, 0)),
        ("type 7", changed(1, 7)),
        ("a reserved byte of the header", changed(3, 1)),
        ("a payloadLen that is too long", changed(8, 1)),
        ("a payloadLen that is too short", changed(11, 3)),
        ("a srcId that is not in the list", changed(7, 99)),
        ("the srcId of the program", changed(7, 2)),
        ("a missing byte", valid[..valid.len() - 1].to_vec()),
        ("one more byte", longer),
        ("only half a header", valid[..6].to_vec()),
        ("no bytes", Vec::new()),
    ]
}

fn invalid_and_forged_datagrams_get_no_answer() -> Result<()> {
    let stand = Stand::newcomer(2, &[])?;
    let mut links = stand.join(&MEMBERS)?;
    links.check_pass("T13 (token.md)", stand.fresh_sequence()?)?;
    let smaller = stand.peer(1);
    let valid = Message::BullyElection.frame(1);
    let forbidden = |message: &Message| {
        matches!(
            message,
            Message::BullyOk | Message::BullyElection | Message::TokenAck(_)
        )
    };
    let broken = broken_frames(&valid);
    for (_, frame) in &broken {
        smaller.send_bytes(frame)?;
    }
    let mut other = valid.clone();
    for (at, value) in [(12, 4), (13, 4), (13, 3), (14, 1)] {
        other[at] = value;
        smaller.send_bytes(&other)?;
        other.clone_from(&valid);
    }
    smaller.expect_no("M2, M3 (members.md)", forbidden)?;
    let forger = stand.peer(COORDINATOR);
    forger.expect_no("M2, M3 (members.md)", forbidden)?;

    // The list has another address for node 1.
    forger.send_bytes(&valid)?;
    // These messages need a connection.
    let token = stand.fresh_sequence()? + 10;
    forger.send(&Message::Token(token))?;
    forger.send(&Message::RingElection(vec![COORDINATOR]))?;
    smaller.expect_no("M3 (members.md)", forbidden)?;
    forger.expect_no("M5 (members.md)", forbidden)?;
    let reason = "a token and an election in datagrams";
    links.after.expect_silence("M5 (members.md)", reason)?;

    smaller.send_bytes(&valid)?;
    smaller.expect("E15 (elections.md)", &Message::BullyOk)?;
    links.check_pass("M5 (members.md)", token)
}

fn a_connection_with_an_invalid_frame_is_closed() -> Result<()> {
    let stand = Stand::newcomer(2, &[])?;
    let mut links = stand.join(&MEMBERS)?;
    let sequence = stand.fresh_sequence()?;
    links.check_pass("T13 (token.md)", sequence)?;
    let predecessor = stand.peer(COORDINATOR);

    // First frames that are no hello of this predecessor.
    let mut wrong_source = Message::Successor(2).frame(1);
    for (rule, reason, frame) in [
        (
            "C3",
            "a TOKEN as the first frame",
            Message::Token(sequence + 9).frame(3),
        ),
        (
            "C3",
            "a hello that names another node",
            Message::Successor(1).frame(3),
        ),
        (
            "M3",
            "a hello with the srcId of another machine",
            wrong_source.clone(),
        ),
        ("M2", "a hello with version 9", {
            wrong_source[0] = 9;
            wrong_source
        }),
    ] {
        let mut link = predecessor.open()?;
        link.send_bytes(&frame)?;
        link.expect_end(&format!("{rule} (members.md)"), reason)?;
    }
    links.check_pass("C3 (members.md)", sequence + 3)?;

    // A later frame closes the connection too.
    let token = Message::Token(sequence + 20).frame(3);
    let broken = broken_frames(&token);
    let closing = broken
        .iter()
        .filter(|(_, frame)| frame.len() == token.len());
    for (reason, frame) in closing {
        if *reason == "a payloadLen that is too long" {
            continue;
        }
        let mut link = predecessor.connect()?;
        link.send_bytes(frame)?;
        link.expect_end("M2, M4 (members.md)", reason)?;
    }

    // A message on the wrong transport is only dropped.
    links.before = predecessor.connect()?;
    for message in [
        Message::BullyElection,
        Message::Coordinator(Method::Bully, COORDINATOR),
        Message::Join,
    ] {
        links.before.send(&message)?;
    }
    links.check_pass("M5 (members.md)", sequence + 30)
}

fn connections_without_a_hello_do_not_keep_the_predecessor_out() -> Result<()> {
    let stand = Stand::newcomer(2, &[])?;
    let mut links = stand.join(&MEMBERS)?;
    let sequence = stand.fresh_sequence()?;
    links.check_pass("T13 (token.md)", sequence)?;
    let stranger = stand.peer(1);
    let mut idle = (0..20)
        .map(|_| stranger.open())
        .collect::<Result<Vec<_>>>()?;

    let predecessor = stand.peer(COORDINATOR);
    let newer = predecessor.connect()?;
    let mut earlier = std::mem::replace(&mut links.before, newer);
    let reason = "a newer hello";
    earlier.expect_end("C4 (members.md)", reason)?;
    links.check_pass("C1, C4 (members.md)", sequence + 3)?;
    for link in &mut idle {
        link.expect_end("C1, C2 (members.md)", "a time without a hello")?;
    }

    // A frame that does not arrive completely.
    let token = Message::Token(sequence + 6).frame(COORDINATOR);
    links.before.send_bytes(&token[..15])?;
    let rule = "C8 (members.md)";
    links.before.expect_end(rule, "a part of a frame")?;
    links.before = predecessor.connect()?;
    links.check_pass(rule, sequence + 6)
}

fn a_coordinator_separates_two_tokens() -> Result<()> {
    let stand = Stand::founder(&[])?;
    let mut links = stand.join_founder(1)?;
    let first = links.after.take_token("T13 (token.md)")?;
    let rule = "T8 (token.md)";
    // The sequence has grown by N.
    links.check_pass(rule, first + 1)?;
    // The sequence has grown by less than N, so the ring has two tokens.
    let near = first + 2;
    links.before.send(&Message::Token(near))?;
    links.before.expect(rule, &Message::TokenAck(near))?;
    let raised = links.after.take_token(rule)?;
    ensure!(
        raised == near + RAISE + 1,
        "rule {rule}: two tokens with the sequences {} and {near}: the program passed {raised}",
        first + 1
    );
    Ok(())
}

fn a_locked_database_does_not_stop_the_token() -> Result<()> {
    /// A time that is longer than --database-timeout.
    const LONGER_THAN_DATABASE_TIMEOUT: Duration = Duration::from_millis(2_500);
    let stand = Stand::newcomer(1, &[("--request-timeout", "20s")])?;
    let mut links = stand.join(&[1, 2, 3])?;
    let mut sequence = stand.fresh_sequence()?;
    let pass = |links: &mut Links, sequence: &mut u64| {
        *sequence += 3;
        links.check_pass("D9 (database.md)", *sequence)
    };
    pass(&mut links, &mut sequence)?;

    stand.rows.lock()?;
    let post = stand.start_post("locked")?;
    thread::sleep(SILENCE_DURATION);
    pass(&mut links, &mut sequence)?;
    let refusal = answer(post)?;
    let may_be = ["\"database\"", "\"unknown\""];
    ensure!(
        refusal.status == 503 && may_be.iter().any(|word| refusal.body.contains(word)),
        "rule P2 (token.md): the database is locked, and the answer is {refusal:?}"
    );
    // A node that can only read does not try to write with each token.
    thread::sleep(LONGER_THAN_DATABASE_TIMEOUT);
    pass(&mut links, &mut sequence)?;
    stand.rows.unlock()?;

    let give_up = Instant::now() + ANSWER_TIMEOUT;
    loop {
        let post = stand.start_post("locked")?;
        thread::sleep(SILENCE_DURATION / 2);
        pass(&mut links, &mut sequence)?;
        let done = answer(post)?;
        if matches!(done.status, 200 | 201) {
            break;
        }
        ensure!(
            Instant::now() < give_up,
            "rule D11 (database.md): the database is free, and the answer is {done:?}"
        );
    }
    ensure!(
        stand.rows.count_of_posts()? == 1,
        "rule D8 (database.md): the post with one key exists more than once"
    );
    Ok(())
}
