//! A database that is slow or gone, and outcomes that come late, never or twice (D9 to D11).

use super::prelude::*;

fn state(rig: &Rig) -> DatabaseState {
    rig.snapshot().database
}

#[test]
fn an_unanswered_statement_makes_the_database_slow_and_an_error_gone() {
    let mut rig = Rig::coordinator_5_unanswered();
    rig.receive_datagram(7, &OwnedMessage::Join);
    let job = rig.next_job();
    rig.run(ms(999));
    assert_eq!(state(&rig), DatabaseState::Up);
    rig.run(ms(1));
    assert_eq!(state(&rig), DatabaseState::Slow);
    let slow = DatabaseState::Slow;
    assert!(rig.take_event(&Event::DatabaseChanged { state: slow }));
    rig.answer_job(job.id, Outcome::Failed);
    assert_eq!(state(&rig), DatabaseState::Gone);
}

#[test]
fn after_a_failed_write_only_a_successful_test_write_makes_it_up() {
    let mut rig = Rig::coordinator_5_unanswered();
    rig.receive_datagram(7, &OwnedMessage::Join);
    let job = rig.next_job();
    rig.answer_job(job.id, Outcome::Failed);
    rig.jobs.clear();
    for _ in 0..5 {
        rig.receive_datagram(8, &OwnedMessage::Join);
        rig.run(ms(1000));
        let job = rig.next_job();
        let tried = Work::Write(Write::Test);
        assert_eq!(job.work, tried, "a look would prove nothing");
        assert!(rig.jobs.is_empty(), "the node makes no other write");
        rig.answer_job(job.id, Outcome::Failed);
        assert_eq!(state(&rig), DatabaseState::Gone);
    }
    assert_eq!(rig.take_datagrams(), []);
    rig.take_events();
    rig.run(ms(1000));
    let job = rig.next_job();
    rig.answer_job(job.id, Outcome::Done);
    assert_eq!(state(&rig), DatabaseState::Up);
    rig.serve_looks();
    let up = DatabaseState::Up;
    assert!(rig.take_event(&Event::DatabaseChanged { state: up }));
    rig.serve();
    let is_in = rig.database.ring.contains_key(&8);
    assert!(is_in, "the node carries out the requests of the meantime");
}

#[test]
fn an_unknown_outcome_is_learned_by_a_look() {
    let mut rig = Rig::coordinator_5_unanswered();
    rig.receive_datagram(7, &OwnedMessage::Join);
    let job = rig.next_job();
    rig.run(ms(1000));
    // The write was committed, and its outcome comes later than the outcome of the next look.
    let outcome = rig.database.run(5, &job.work);
    rig.run(ms(1000));
    rig.serve_looks();
    rig.answers = true;
    rig.run(ms(100));
    assert_eq!(state(&rig), DatabaseState::Up);
    assert_eq!(rig.snapshot().members.len(), 5);
    rig.answer_job(job.id, outcome.clone());
    rig.answer_job(job.id, outcome);
    rig.answer_job(9999, Outcome::Refused);
    rig.run(ms(100));
    assert_eq!(rig.snapshot().members.len(), 5);
    rig.receive_datagram(7, &OwnedMessage::Join);
    assert_eq!(rig.take_datagrams().len(), 1, "the node answers a repeat");
}

#[test]
fn missing_answers_leave_a_bounded_number_of_jobs() {
    let mut rig = Rig::coordinator_5_unanswered();
    rig.run(ms(120_000));
    assert!(rig.jobs.len() <= 6, "{}", rig.jobs.len());
    rig.answers = true;
    let last = rig.jobs.pop_back().expect("there is one");
    rig.jobs.clear();
    let outcome = rig.database.run(5, &last.work);
    rig.answer_job(last.id, outcome);
    rig.run(ms(5000));
    assert_eq!(
        state(&rig),
        DatabaseState::Up,
        "one answer makes the database up"
    );
}

#[test]
fn a_late_answer_of_an_older_look_does_not_count() {
    let mut rig = Rig::node_2_after(1100);
    rig.answers = false;
    rig.run(ms(900));
    let old = rig.next_job();
    let rows = rig.database.rows();
    rig.run(ms(1000));
    rig.database.seat = seat(3, 5);
    rig.answers = true;
    rig.run(ms(1000));
    rig.serve();
    rig.run(ms(100));
    assert_eq!(rig.snapshot().coordinator, Some(3));
    rig.answers = false;
    rig.answer_job(old.id, Outcome::Rows(rows));
    assert_eq!(rig.snapshot().coordinator, Some(3));
}

#[test]
fn at_most_one_topology_job_and_one_visit_are_in_hand() {
    let mut rig = Rig::coordinator_5_unanswered();
    for node in [6, 7, 8, 9] {
        rig.receive_datagram(node, &OwnedMessage::Join);
    }
    assert_eq!(rig.jobs.len(), 1);
    rig.serve();
    assert_eq!(
        rig.database.ring.len(),
        8,
        "each node is inserted in its turn"
    );
}

#[test]
fn a_write_under_a_term_that_has_changed_is_refused_and_followed_by_a_look() {
    let mut rig = Rig::coordinator_5_unanswered();
    rig.receive_datagram(7, &OwnedMessage::Join);
    rig.database.seat = seat(3, 9);
    let job = rig.next_job();
    assert_eq!(rig.database.run(5, &job.work), Outcome::Refused);
    rig.answer_job(job.id, Outcome::Refused);
    rig.run(ms(20));
    assert_eq!(rig.next_job().work, Work::ReadRing);
}

#[test]
fn rows_without_a_cycle_do_no_harm() {
    let mut database = ring_of_four();
    database.is_broken = true;
    database.ring = [(1, 2), (2, 2), (3, 1), (5, 99), (7, 3)].into();
    for id in 1..=9 {
        let mut rig = Rig::with(Options::new(id), database.clone());
        rig.run(ms(30));
        let members = rig.snapshot().members;
        assert_eq!(members.len(), 5, "{members:?}");
    }
}

#[test]
fn a_removal_names_the_failed_node_so_a_changed_row_refuses_it() {
    let mut rig = Rig::coordinator_5_unanswered();
    rig.receive_datagram(1, &OwnedMessage::SuccessorRequest);
    let job = rig.next_job();
    let change = Change::Remove { node: 2, after: 1 };
    assert_eq!(job.work, Work::Write(Write::Change { term: 4, change }));
    rig.database.ring = FakeDatabase::ring(&[1, 3, 5], 5, 4).ring;
    assert_eq!(rig.database.run(5, &job.work), Outcome::Refused);
}

#[test]
fn when_it_answers_again_nothing_is_decided_on_rows_from_before() {
    let mut rig = Rig::coordinator_5_unanswered();
    rig.request(1, true);
    rig.give_token(seq(4, 9));
    let visit = rig.next_job();
    assert!(matches!(visit.work, Work::Serve { .. }));
    rig.run(ms(990));
    rig.serve_looks();
    rig.run(ms(10));
    assert_eq!(state(&rig), DatabaseState::Slow);
    assert!(rig.jobs.is_empty());
    rig.receive_datagram(7, &OwnedMessage::Join);
    rig.answer_job(visit.id, Outcome::Done);
    rig.run(ms(20));
    assert_eq!(rig.next_job().work, Work::ReadRing);
}

#[test]
fn an_unanswered_write_failed_and_stays_failed() {
    let mut rig = Rig::coordinator_5_unanswered();
    rig.receive_datagram(7, &OwnedMessage::Join);
    let first = rig.next_job();
    rig.run(ms(1000));
    assert_eq!(state(&rig), DatabaseState::Slow);
    let work = |rig: &Rig| rig.jobs.front().map(|job| job.work.clone());
    rig.run(ms(1000));
    assert_eq!(work(&rig), Some(Work::Write(Write::Test)));
    rig.answer_job(first.id, Outcome::Failed);
    rig.take_events();
    rig.run(ms(5000));
    assert_eq!(
        rig.take_events(),
        [],
        "the state does not change between gone and slow"
    );
    assert_eq!(state(&rig), DatabaseState::Gone);
}

#[test]
fn a_node_that_only_reads_tries_to_write_when_the_beat_stops() {
    let mut rig = Rig::node_2();
    for _ in 0..10 {
        rig.database.beat += 1;
        rig.run(ms(1000));
    }
    rig.answers = false;
    let mut tries = 0;
    for _ in 0..80 {
        rig.run(ms(100));
        while let Some(job) = rig.jobs.front() {
            if job.work == Work::Write(Write::Test) {
                tries += 1;
                let job = rig.next_job();
                rig.answer_job(job.id, Outcome::Failed);
            } else {
                rig.serve_next();
            }
        }
    }
    assert_eq!(state(&rig), DatabaseState::Gone);
    assert!((2..=7).contains(&tries), "{tries}");
}
