//! The use of the token (sections 9 and 10), and the outcomes of jobs at the database.

use super::prelude::*;

fn answers(rig: &mut Rig) -> Vec<(u64, RequestAnswer)> {
    let events = rig.take_events().into_iter();
    let answers = events.filter_map(|event| match event {
        Event::Answered { request, answer } => Some((request, answer)),
        _ => None,
    });
    answers.collect()
}

/// Returns node 2 with the token and a pending job for a post and a read.
fn working() -> (Rig, Job) {
    let mut rig = Rig::node_2_after(100);
    rig.answers = false;
    rig.request(1, true);
    rig.request(2, false);
    assert!(
        rig.jobs.is_empty(),
        "the node uses the table only with the token"
    );
    rig.give_token(seq(4, 9));
    let job = rig.next_job();
    (rig, job)
}

fn done_with(sequence: u64) -> RequestAnswer {
    RequestAnswer::Done { sequence }
}

#[test]
fn work_that_waits_is_done_in_one_transaction_and_the_token_is_passed() {
    let (mut rig, job) = working();
    let Work::Serve {
        sequence,
        requests,
        feed,
    } = &job.work
    else {
        panic!("{job:?}");
    };
    assert_eq!((*sequence, *feed), (seq(4, 9), false));
    let ids: Vec<(u64, bool)> = requests.iter().map(|it| (it.id, it.is_post)).collect();
    assert_eq!(ids, [(1, true), (2, false)]);
    rig.run(ms(60));
    assert_eq!(
        rig.take_successor_frames(),
        [],
        "the token stays while the job runs"
    );
    assert_eq!(
        answers(&mut rig),
        [],
        "the node acknowledges a post only after its commit"
    );
    rig.answer_job(job.id, Outcome::Done);
    assert_eq!(
        answers(&mut rig),
        [(1, done_with(seq(4, 9))), (2, done_with(seq(4, 9)))]
    );
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 10))]
    );
    assert_eq!(rig.counters().posts, 1);
}

#[test]
fn a_node_that_holds_the_token_does_new_work() {
    let mut rig = Rig::node_2_after(100);
    rig.give_token(seq(4, 9));
    rig.run(ms(30));
    rig.request(1, true);
    assert_eq!(answers(&mut rig), [(1, done_with(seq(4, 9)))]);
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 10))]
    );
}

#[test]
fn a_visit_answers_64_in_order_and_256_wait() {
    let mut rig = Rig::node_2_after(100);
    for id in 0..257 {
        rig.request(id, true);
    }
    assert_eq!(answers(&mut rig), [(256, RequestAnswer::Crowded)]);
    assert_eq!(rig.snapshot().waiting, 256);
    rig.give_token(seq(4, 9));
    let ids: Vec<u64> = answers(&mut rig).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, (0..64).collect::<Vec<_>>());
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 10))]
    );
    assert_eq!(rig.snapshot().waiting, 192);
}

#[test]
fn after_database_timeout_the_node_passes_the_token_and_the_outcome_is_unknown() {
    let (mut rig, job) = working();
    rig.run(ms(999));
    assert_eq!(rig.take_successor_frames(), []);
    rig.run(ms(1));
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 10))]
    );
    assert_eq!(
        answers(&mut rig),
        [(1, RequestAnswer::Unknown), (2, RequestAnswer::Database)]
    );
    rig.acknowledge(seq(4, 10));
    rig.answer_job(job.id, Outcome::Done);
    assert_eq!(answers(&mut rig), [], "the request already has its answer");
    assert_eq!(rig.counters().posts, 1);
}

#[test]
fn a_refused_guard_is_no_answer_and_costs_the_token() {
    let (mut rig, job) = working();
    rig.answer_job(job.id, Outcome::Refused);
    assert_eq!(answers(&mut rig), []);
    assert_eq!(rig.held_sequence(), None);
    assert_eq!(rig.counters().tokens_lost, 1);
    rig.run(ms(20));
    rig.serve();
    rig.answers = true;
    rig.give_token(seq(4, 40));
    assert_eq!(
        answers(&mut rig),
        [(1, done_with(seq(4, 40))), (2, done_with(seq(4, 40)))]
    );
}

#[test]
fn a_failed_visit_answers_that_the_database_is_gone_or_the_outcome_unknown() {
    let (mut rig, job) = working();
    rig.answer_job(job.id, Outcome::Failed);
    assert_eq!(
        answers(&mut rig),
        [(1, RequestAnswer::Database), (2, RequestAnswer::Database)]
    );
    let (mut rig, job) = working();
    rig.answer_job(job.id, Outcome::Unknown);
    assert_eq!(
        answers(&mut rig),
        [(1, RequestAnswer::Unknown), (2, RequestAnswer::Database)]
    );
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 10))]
    );
}

#[test]
fn a_request_waits_for_the_token_for_request_timeout() {
    let mut rig = Rig::node_2_after(100);
    rig.request(1, true);
    rig.run(ms(9999));
    assert_eq!(answers(&mut rig), []);
    rig.run(ms(1));
    assert_eq!(answers(&mut rig), [(1, RequestAnswer::Token)]);
    assert_eq!(rig.snapshot().waiting, 0);
}

#[test]
fn without_the_database_posts_wait_and_then_get_an_error() {
    let mut rig = Rig::node_2_after(100);
    rig.answers = false;
    rig.receive_datagram(5, &OwnedMessage::Successor(3));
    let job = rig.next_job();
    rig.answer_job(job.id, Outcome::Failed);
    rig.request(1, true);
    rig.give_token(seq(4, 9));
    rig.run(ms(50));
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 10))],
        "the node passes the token on"
    );
    assert!(
        rig.jobs
            .iter()
            .all(|job| !matches!(job.work, Work::Serve { .. }))
    );
    rig.run(ms(9950));
    assert_eq!(answers(&mut rig), [(1, RequestAnswer::Database)]);
}

#[test]
fn listeners_get_new_posts_once_per_visit_and_the_token_stays_for_hold() {
    let mut rig = Rig::node_2_after(100);
    rig.command(Command::Listeners(true));
    rig.give_token(seq(4, 9));
    let fed = rig
        .take_events()
        .iter()
        .filter(|it| **it == Event::PostsRead)
        .count();
    assert_eq!(fed, 1);
    rig.run(ms(49));
    assert_eq!(rig.take_successor_frames(), []);
    assert!(!rig.take_event(&Event::PostsRead));
    rig.run(ms(1));
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 10))]
    );
}
