//! Start and join (rules S).

use super::prelude::*;

#[test]
fn it_prepares_then_looks() {
    let mut rig = Rig::with_silent_database(Options::new(2), ring_of_four());
    let job = rig.next_job();
    assert_eq!(job.work, Work::Prepare { drop: false });
    assert!(rig.jobs.is_empty());
    rig.answer_job(job.id, Outcome::Done);
    assert_eq!(rig.next_job().work, Work::ReadRing);
    assert_eq!(rig.state(), State::Starting);
}

#[test]
fn the_topology_is_emptied_once_on_request() {
    let options = Options {
        drop: true,
        ..Options::new(2)
    };
    let mut rig = Rig::with(options, ring_of_four());
    assert_eq!(rig.database.ring.keys().copied().collect::<Vec<_>>(), [2]);
    rig.run(ms(10_000));
    assert_eq!(rig.state(), State::Member);
    assert_eq!(
        rig.database.seat.term, 6,
        "one term for the drop, and one for the founding"
    );
}

#[test]
fn without_coordinator_and_members_a_node_founds() {
    let database = FakeDatabase {
        sequence: seq(6, 12),
        ..FakeDatabase::default()
    };
    let mut rig = Rig::new(3, database);
    let seen = CoordinatorRow::default();
    let found = Write::Found {
        seen,
        term: 7,
        acting: false,
    };
    assert_eq!(
        rig.take_writes(),
        [found],
        "the new term is also above that of the token"
    );
    rig.run(ms(20));
    assert!(rig.is_coordinator());
    assert_eq!(rig.state(), State::Member);
    assert_eq!(rig.held_sequence(), Some(seq(7, 0)));
}

#[test]
fn without_coordinator_but_with_members_a_node_claims_without_proof() {
    let mut database = ring_of_four();
    database.seat.id = None;
    let mut rig = Rig::new(4, database.clone());
    let [Write::Claim { seen, change }] = rig.take_writes()[..] else {
        panic!("it does not claim");
    };
    assert_eq!(seen, database.seat);
    assert!(
        matches!(change, Some(Change::Insert { node: 4, .. })),
        "the claim includes the insertion"
    );
    rig.run(ms(20));
    assert_eq!(rig.state(), State::Member);
    assert!(rig.is_coordinator());
    assert_eq!(rig.held_sequence(), None, "the node makes no token");
    let mut rig = Rig::new(3, database);
    assert!(matches!(
        rig.take_writes()[..],
        [Write::Claim { change: None, .. }]
    ));
}

#[test]
fn a_node_claims_from_its_former_process_and_makes_no_token() {
    let mut rig = Rig::new(5, ring_of_four());
    let seen = seat(5, 4);
    assert_eq!(rig.take_writes(), [Write::Claim { seen, change: None }]);
    rig.run(ms(20));
    assert!(rig.is_coordinator());
    assert!(rig.database.acting);
    assert_eq!(rig.database.seat.term, 5);
    assert_eq!(rig.held_sequence(), None);
    assert_eq!(rig.counters().tokens_made, 0);
}

#[test]
fn a_late_write_of_a_former_life_does_not_make_it_coordinator() {
    let mut rig = Rig::with_silent_database(Options::new(5), ring_of_four());
    for _ in 0..2 {
        rig.serve_next();
    }
    // A write of the former process is committed between the look and the claim.
    rig.database.seat.term = 9;
    let job = rig.next_job();
    assert!(matches!(job.work, Work::Write(Write::Claim { .. })));
    let outcome = rig.database.run(5, &job.work);
    assert_eq!(outcome, Outcome::Refused);
    rig.answer_job(job.id, outcome);
    rig.run(ms(20));
    rig.serve_looks();
    assert!(!rig.is_coordinator());
    rig.serve();
    rig.run(ms(20));
    rig.serve();
    assert!(rig.is_coordinator());
    assert_eq!(
        rig.database.seat.term, 10,
        "this process has written the row"
    );
}

#[test]
fn a_late_claim_leaves_the_node_the_role_of_the_row() {
    let mut database = ring_of_four();
    database.seat.id = None;
    let mut rig = Rig::with_silent_database(Options::new(4), database);
    for _ in 0..2 {
        rig.serve_next();
    }
    rig.database.seat = seat(1, 5);
    rig.serve();
    rig.run(ms(20));
    rig.serve();
    assert_eq!(rig.state(), State::Joining);
    assert!(!rig.is_coordinator());
    assert_eq!(rig.take_datagrams(), [(1, OwnedMessage::Join)]);
}

#[test]
fn a_restarted_member_sends_no_join() {
    let mut rig = Rig::new(2, ring_of_four());
    assert_eq!(rig.state(), State::Member);
    assert_eq!(rig.take_datagrams(), []);
    assert_eq!(rig.take_writes(), []);
}

#[test]
fn a_node_sends_join_every_ack_timeout_after_a_look() {
    let mut rig = Rig::new(4, ring_of_four());
    assert_eq!(rig.state(), State::Joining);
    assert_eq!(rig.take_datagrams(), [(5, OwnedMessage::Join)]);
    rig.run(ms(499));
    assert_eq!(rig.take_datagrams(), []);
    rig.run(ms(1));
    assert_eq!(rig.take_datagrams(), [(5, OwnedMessage::Join)]);
    rig.answers = false;
    rig.run(ms(500));
    assert_eq!(rig.take_datagrams(), [], "the look is not over");
    rig.serve();
    assert_eq!(rig.take_datagrams(), [(5, OwnedMessage::Join)]);
}

#[test]
fn its_row_getting_a_successor_ends_joining() {
    let mut rig = Rig::new(4, ring_of_four());
    rig.database.ring.insert(5, 4);
    rig.database.ring.insert(4, 1);
    rig.run(ms(100));
    rig.receive_datagram(5, &OwnedMessage::Successor(1));
    assert_eq!(rig.state(), State::Member);
    assert_eq!(rig.successor().1, 1);
}

#[test]
fn after_three_joins_without_effect_it_claims_with_proof() {
    let mut rig = Rig::new(4, ring_of_four());
    rig.run(ms(1499));
    assert_eq!(rig.take_datagrams().len(), 3);
    assert_eq!(rig.take_writes(), []);
    // The beat must not move for two polls and database-timeout.
    rig.run(ms(2000));
    assert_eq!(rig.take_writes(), []);
    let (probe, _) = rig.take_opened().pop().expect("it looks for proof");
    rig.close_by_kernel(probe, CloseReason::Refused);
    rig.run(ms(100));
    assert!(matches!(
        rig.take_writes()[..],
        [Write::Claim {
            change: Some(Change::Insert { node: 4, .. }),
            ..
        }]
    ));
    assert_eq!(rig.state(), State::Member);
    assert!(rig.is_coordinator());
}

#[test]
fn a_changed_row_resets_the_count_of_joins() {
    let mut rig = Rig::new(4, ring_of_four());
    rig.run(ms(1100));
    rig.database.seat = seat(3, 5);
    rig.receive_datagram(1, &OwnedMessage::Successor(3));
    rig.run(ms(1300));
    assert_eq!(rig.take_writes(), []);
    let to: Vec<u32> = rig.take_datagrams().into_iter().map(|(to, _)| to).collect();
    assert_eq!(to, [5, 5, 5, 3, 3]);
    rig.run(ms(1000));
    assert_eq!(
        rig.take_writes(),
        [],
        "a new row also restarts the time of its beat"
    );
    rig.run(ms(1500));
    assert!(matches!(rig.take_writes()[..], [Write::Claim { .. }, ..]));
}

#[test]
fn the_coordinator_puts_a_node_in_behind_a_member_at_random() {
    let mut places = BTreeSet::new();
    let mut rig = Rig::coordinator_5();
    for _ in 0..60 {
        rig.receive_datagram(7, &OwnedMessage::Join);
        let after = *rig
            .database
            .ring
            .iter()
            .find(|(_, next)| **next == 7)
            .expect("it is in")
            .0;
        let before = rig.database.ring[&7];
        let mut message = rig.take_datagrams();
        message.sort_by_key(|(to, _)| *to);
        let mut expected = vec![
            (after, OwnedMessage::Successor(7)),
            (7, OwnedMessage::Successor(before)),
        ];
        if after == 5 {
            expected.remove(0);
        }
        expected.sort_by_key(|(to, _)| *to);
        assert_eq!(message, expected);
        places.insert(after);
        rig.database.ring.remove(&7);
        rig.database.ring.insert(after, before);
        rig.run(ms(20));
        rig.receive_datagram(7, &OwnedMessage::Successor(1));
        rig.run(ms(20));
        rig.clear_output();
    }
    assert_eq!(places.len(), 4, "{places:?}");
}

#[test]
fn a_member_that_joins_again_is_only_answered() {
    let mut rig = Rig::coordinator_5();
    rig.receive_datagram(2, &OwnedMessage::Join);
    assert_eq!(rig.take_datagrams(), [(2, OwnedMessage::Successor(3))]);
    assert_eq!(rig.take_writes(), []);
}

#[test]
fn a_failing_write_answers_nothing() {
    for outcome in [Outcome::Refused, Outcome::Failed, Outcome::Unknown] {
        let mut rig = Rig::coordinator_5_unanswered();
        rig.receive_datagram(7, &OwnedMessage::Join);
        let job = rig.next_job();
        assert!(matches!(
            job.work,
            Work::Write(Write::Change { term: 4, .. })
        ));
        rig.answer_job(job.id, outcome);
        assert_eq!(rig.take_datagrams(), []);
    }
}

#[test]
fn a_coordinator_outside_the_ring_first_adds_itself() {
    let mut rig = Rig::coordinator_5_unanswered();
    rig.database.ring = FakeDatabase::ring(&[1, 2, 3], 5, 4).ring;
    rig.receive_datagram(7, &OwnedMessage::Successor(1));
    rig.serve_looks();
    assert_eq!(rig.state(), State::Joining);
    rig.receive_datagram(7, &OwnedMessage::Join);
    assert_eq!(
        rig.take_datagrams(),
        [],
        "before its insertion the node answers no JOIN"
    );
    rig.serve();
    assert!(rig.database.ring.contains_key(&5) && rig.database.ring.contains_key(&7));
    let first = rig.take_writes()[0];
    assert!(matches!(
        first,
        Write::Change {
            change: Change::Insert { node: 5, .. },
            ..
        }
    ));
}

#[test]
fn without_members_it_founds() {
    let mut rig = Rig::coordinator_5();
    rig.database.ring.clear();
    rig.receive_datagram(7, &OwnedMessage::Successor(1));
    rig.run(ms(100));
    assert!(matches!(
        rig.take_writes()[..],
        [Write::Found {
            term: 5,
            acting: false,
            ..
        }]
    ));
    assert_eq!(rig.held_sequence(), Some(seq(5, 0)));
}

#[test]
fn a_larger_new_member_starts_an_election_when_both_connections_are_up() {
    let mut rig = Rig::new(7, ring_of_four());
    rig.database.ring.insert(5, 7);
    rig.database.ring.insert(7, 1);
    rig.run(ms(500));
    let (stream, _) = rig.successor();
    rig.open_by_kernel(stream);
    assert_eq!(rig.counters().elections_started, 0);
    rig.hello(5);
    assert_eq!(rig.counters().elections_started, 1);
    rig.hello(5);
    assert_eq!(rig.counters().elections_started, 1);
    let mut rig = Rig::new(4, ring_of_four());
    rig.database.ring.insert(5, 4);
    rig.database.ring.insert(4, 1);
    rig.run(ms(500));
    rig.connect_successor();
    rig.hello(5);
    assert_eq!(
        rig.counters().elections_started,
        0,
        "a smaller node starts no election"
    );
}
