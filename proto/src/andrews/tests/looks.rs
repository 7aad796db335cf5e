//! Looks (rules L).

use super::prelude::*;

/// Returns a member after its first poll. After the member's first poll, its jobs wait until the test runs them.
fn waiting() -> Rig {
    let mut rig = Rig::node_2_after(1100);
    rig.answers = false;
    rig
}

fn looks(rig: &mut Rig) -> usize {
    let jobs = std::mem::take(&mut rig.jobs);
    let count = jobs.iter().filter(|job| job.work == Work::ReadRing).count();
    rig.jobs = jobs;
    count
}

#[test]
fn the_rows_are_read_every_poll() {
    let mut rig = waiting();
    rig.run(ms(899));
    assert_eq!(looks(&mut rig), 0);
    rig.run(ms(1));
    assert_eq!(looks(&mut rig), 1);
}

#[test]
fn at_once_after_possible_changes() {
    let causes: [fn(&mut Rig); 6] = [
        |rig| rig.receive_datagram(5, &OwnedMessage::Successor(3)),
        |rig| {
            rig.end_successor();
        },
        |rig| rig.receive_datagram(5, &result(Method::Bully, 5)),
        |rig| rig.receive_datagram(7, &OwnedMessage::Join),
        |rig| rig.receive_datagram(1, &OwnedMessage::SuccessorRequest),
        |rig| drop(rig.give_token(seq(5, 0))),
    ];
    for (number, cause) in causes.into_iter().enumerate() {
        let mut rig = waiting();
        cause(&mut rig);
        assert_eq!(looks(&mut rig), 1, "{number}");
    }
    let mut rig = waiting();
    let (stream, _) = rig.successor();
    let predecessor = rig.predecessor();
    rig.receive(predecessor, 1, &result(Method::RingBased, 5));
    assert_eq!(looks(&mut rig), 1);
    assert_eq!(rig.take_frames(stream), [result(Method::RingBased, 5)]);
}

#[test]
fn one_is_in_flight_one_more_is_remembered_and_starts_20_ms_after_the_answer() {
    let mut rig = waiting();
    for _ in 0..5 {
        rig.receive_datagram(5, &OwnedMessage::Successor(3));
    }
    assert_eq!(looks(&mut rig), 1);
    rig.run(ms(5));
    rig.serve_looks();
    assert_eq!(looks(&mut rig), 0);
    rig.run(ms(19));
    assert_eq!(looks(&mut rig), 0);
    rig.run(ms(1));
    assert_eq!(looks(&mut rig), 1);
    rig.serve_looks();
    rig.run(ms(500));
    assert_eq!(looks(&mut rig), 0, "the node remembers at most one look");
}

#[test]
fn a_node_without_a_successor_that_was_a_member_was_removed() {
    let mut rig = Rig::node_2_after(20);
    rig.give_token(seq(4, 9));
    let (predecessor, (successor, _)) = (rig.predecessor(), rig.successor());
    rig.database.ring.remove(&2);
    rig.database.ring.insert(1, 3);
    rig.receive_datagram(5, &OwnedMessage::Successor(3));
    assert_eq!(rig.state(), State::Joining);
    assert_eq!(rig.held_sequence(), None);
    assert_eq!(rig.fate(predecessor), Fate::Closed);
    assert_eq!(rig.fate(successor), Fate::Closed);
    assert!(rig.take_event(&Event::Removed));
    let counters = rig.counters();
    assert_eq!((counters.removed, counters.tokens_lost), (1, 1));
    assert_eq!(rig.take_datagrams(), [(5, OwnedMessage::Join)]);
}

#[test]
fn it_is_coordinator_if_and_only_if_the_row_names_it() {
    let mut rig = Rig::node_2();
    rig.database.seat.id = Some(2);
    assert!(!rig.is_coordinator());
    rig.run(ms(1000));
    assert!(rig.is_coordinator());
    rig.database.seat.id = Some(3);
    rig.run(ms(1000));
    assert!(!rig.is_coordinator());
}

#[test]
fn without_the_database_the_token_keeps_its_route() {
    let mut rig = Rig::node_2();
    rig.answers = false;
    rig.run(ms(1100));
    while let Some(job) = rig.jobs.pop_front() {
        rig.answer_job(job.id, Outcome::Failed);
    }
    for count in 0..20 {
        rig.give_token(seq(4, 10 + 4 * count));
        rig.run(ms(50));
        assert_eq!(
            rig.take_successor_frames(),
            [OwnedMessage::Token(seq(4, 11 + 4 * count))]
        );
        rig.acknowledge(seq(4, 11 + 4 * count));
    }
    assert_eq!(rig.state(), State::Member);
    assert_eq!(rig.snapshot().database.name(), "gone");
}

#[test]
fn a_successor_that_the_list_does_not_have_cannot_be_reached() {
    let mut database = ring_of_four();
    database.ring.insert(2, 99);
    database.ring.insert(99, 3);
    let rig = Rig::with(Options::new(2), database);
    assert_eq!(rig.state(), State::Recovering);
}
