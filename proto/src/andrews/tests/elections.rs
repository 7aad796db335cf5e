//! Elections (rules E), with the rules that all methods share.

use super::prelude::*;

pub(super) const RING: Method = Method::RingBased;
pub(super) const CHANG: Method = Method::ChangRoberts;

pub(super) fn node_2() -> Rig {
    Rig::node_2_after(100)
}

pub(super) fn member_with_method(method: Method, id: u32, database: FakeDatabase) -> Rig {
    let options = Options {
        election: method,
        ..Options::new(id)
    };
    let mut rig = Rig::member_with(options, database);
    rig.run(ms(100));
    rig
}

pub(super) fn from_predecessor(rig: &mut Rig, message: &OwnedMessage) -> Vec<OwnedMessage> {
    let stream = rig.predecessor();
    rig.receive(stream, 1, message);
    rig.take_successor_frames()
}

fn method(rig: &Rig) -> Method {
    rig.snapshot().election.method
}

#[test]
fn a_message_of_another_method_replaces_the_handler() {
    let mut rig = node_2();
    assert_eq!(method(&rig), RING);
    from_predecessor(&mut rig, &candidate(5));
    assert_eq!(method(&rig), CHANG);
    rig.receive_datagram(1, &BULLY);
    assert_eq!(method(&rig), Method::Bully);
    from_predecessor(&mut rig, &result(RING, 5));
    assert_eq!(method(&rig), RING);
    assert!(
        !rig.snapshot().election.ongoing,
        "no timer of the election is left"
    );
    rig.run(ms(3000));
    assert_eq!(rig.counters().elections_won, 0);
}

#[test]
fn only_members_take_part() {
    let mut rig = Rig::new(4, ring_of_four());
    rig.receive_datagram(1, &BULLY);
    let stream = rig.hello(1);
    rig.receive(stream, 1, &ring_election(&[1]));
    assert_eq!(rig.drop_count(Reason::NotMember), 2);
}

#[test]
fn the_largest_starts_one_when_the_row_has_named_another_for_2_t1() {
    let database = FakeDatabase::ring(&[1, 2, 3, 5], 3, 4);
    let mut rig = Rig::member(5, database);
    rig.run(ms(1900));
    assert_eq!(rig.counters().elections_started, 0);
    rig.run(ms(200));
    assert_eq!(rig.counters().elections_started, 1);
    rig.run(ms(1800));
    assert_eq!(
        rig.counters().elections_started,
        1,
        "the node starts once within 2 × T1"
    );
    rig.run(ms(200));
    assert_eq!(rig.counters().elections_started, 2);
}

#[test]
fn without_a_successor_messages_wait_the_newest_64() {
    let options = Options::new(2);
    let mut rig = Rig::idle(options, list(100), ring_of_four());
    rig.begin();
    rig.hello(1);
    for id in 10..80 {
        rig.receive(rig.predecessor(), 1, &ring_election(&[1, id]));
    }
    let (stream, _) = rig.successor();
    rig.open_by_kernel(stream);
    let frames = rig.take_frames(stream);
    assert_eq!(frames[0], OwnedMessage::Successor(3));
    let expected: Vec<OwnedMessage> = (16..80).map(|id| ring_election(&[1, id, 2])).collect();
    assert_eq!(frames[1..], expected);
}

#[test]
fn a_result_is_forwarded_once_per_id_and_t1_in_each_method() {
    let mut rig = node_2();
    assert_eq!(
        from_predecessor(&mut rig, &result(RING, 5)),
        [result(RING, 5)]
    );
    assert_eq!(
        from_predecessor(&mut rig, &result(RING, 3)),
        [result(RING, 3)]
    );
    rig.run(ms(999));
    assert_eq!(from_predecessor(&mut rig, &result(CHANG, 5)), []);
    assert_eq!(rig.drop_count(Reason::Repeated), 1);
    rig.run(ms(1));
    assert_eq!(
        from_predecessor(&mut rig, &result(CHANG, 5)),
        [result(CHANG, 5)]
    );
    assert_eq!(from_predecessor(&mut rig, &result(RING, 77)), []);
    assert_eq!(rig.drop_count(Reason::UnknownNode), 1);
}

#[test]
fn a_node_wins_with_its_returned_result_unless_it_is_dropped() {
    let mut rig = node_2();
    assert_eq!(
        from_predecessor(&mut rig, &result(RING, 2)),
        [result(RING, 2)]
    );
    let seen = seat(5, 4);
    assert_eq!(rig.take_writes(), [Write::Elected { seen }]);
    from_predecessor(&mut rig, &result(RING, 2));
    assert_eq!(rig.counters().elections_won, 1);
    assert!(!rig.database.acting);
}

#[test]
fn the_result_is_sent_whether_the_database_answers_or_not_and_written_each_poll() {
    let mut rig = node_2();
    rig.answers = false;
    assert_eq!(
        from_predecessor(&mut rig, &result(RING, 2)),
        [result(RING, 2)]
    );
    for _ in 0..3 {
        rig.serve_looks();
        rig.run(ms(30));
        rig.serve_looks();
        let job = rig.next_job();
        assert!(matches!(job.work, Work::Write(Write::Elected { .. })));
        rig.answer_job(job.id, Outcome::Failed);
        rig.run(ms(1000));
    }
    rig.answers = true;
    rig.serve();
    rig.run(ms(2000));
    assert_eq!(rig.database.seat.id, Some(2));
}

#[test]
fn a_row_that_has_changed_is_written_again_up_to_three_times_unless_a_larger_one_is_elected() {
    let tries = |larger: bool| {
        let mut rig = node_2();
        rig.answers = false;
        from_predecessor(&mut rig, &result(RING, 2));
        let mut count = 0;
        for _ in 0..100 {
            let Some(job) = rig.jobs.pop_front() else {
                rig.run(ms(10));
                continue;
            };
            if let Work::Write(Write::Elected { .. }) = job.work {
                rig.database.seat = CoordinatorRow {
                    id: Some(if larger { 5 } else { 1 }),
                    term: rig.database.seat.term + 1,
                };
                count += 1;
            }
            let outcome = rig.database.run(2, &job.work);
            rig.answer_job(job.id, outcome);
        }
        count
    };
    assert_eq!(tries(false), 4);
    assert_eq!(tries(true), 1);
}

/// Returns the number of frames of an election. One node starts the election in a formed ring.
fn cost(method: Method, nodes: u32, starter: u32) -> u64 {
    let mut network = Network::new(nodes, FakeDatabase::default(), move |id| Options {
        election: method,
        ..Options::new(id)
    });
    network.form();
    network.run(ms(5000));
    let elections = |network: &Network| {
        let kind = Kind::CoordinatorElection;
        network.sum(|rig| rig.counters().sent(kind))
    };
    let before = elections(&network);
    network.rig(starter).machine.start_unasked_election();
    network.rig(starter).drain();
    network.run(ms(1500));
    elections(&network) - before
}

#[test]
fn costs_are_those_of_the_page() {
    for nodes in [2, 3, 5, 8] {
        for starter in 1..=nodes {
            let n = u64::from(nodes);
            assert_eq!(cost(RING, nodes, starter), 2 * n);
            let chang = cost(CHANG, nodes, starter);
            assert!((2 * n..3 * n).contains(&chang), "{chang} of {nodes}");
            let k = u64::from(nodes - starter + 1);
            let bully = cost(Method::Bully, nodes, starter);
            assert!(bully < k * (k - 1) + n, "{bully} of {nodes} by {starter}");
        }
    }
}

#[test]
fn a_forged_election_from_a_wrong_address_is_dropped() {
    let mut rig = node_2();
    rig.receive_datagram_bytes(ip(3), &BULLY.encode(1));
    assert_eq!(rig.take_datagrams(), []);
    assert_eq!(rig.drop_count(Reason::WrongSource), 1);
}
