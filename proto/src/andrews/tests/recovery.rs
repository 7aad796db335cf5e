//! Failure and recovery (rules F).

use super::prelude::*;

const REMOVE_3: Change = Change::Remove { node: 3, after: 2 };

/// Returns node 2 after the loss of its successor. The connection to the successor ended, and the second attempt was
/// refused.
fn lost() -> Rig {
    let mut rig = Rig::node_2_after(100);
    let (stream, _) = rig.successor();
    rig.end_stream(stream);
    let (stream, to) = rig.successor();
    assert_eq!(to, 3);
    rig.close_by_kernel(stream, CloseReason::Refused);
    rig.run(ms(20));
    rig
}

#[test]
fn an_ended_stream_is_retried_once() {
    let mut rig = Rig::node_2_after(100);
    let (first, _) = rig.successor();
    rig.end_stream(first);
    assert_eq!(rig.fate(first), Fate::Closed);
    let (second, to) = rig.successor();
    assert!(
        second != first && to == 3,
        "X restarted, or another had displaced this node"
    );
    rig.open_by_kernel(second);
    assert_eq!(rig.state(), State::Member);
    assert_eq!(rig.take_datagrams(), []);
}

#[test]
fn at_most_one_second_try_per_ack_timeout() {
    let mut rig = Rig::node_2_after(100);
    for _ in 0..2 {
        assert_eq!(rig.state(), State::Member);
        let (stream, _) = rig.successor();
        rig.open_by_kernel(stream);
        rig.run(ms(100));
        rig.end_stream(stream);
    }
    assert_eq!(rig.state(), State::Recovering);
    let mut rig = Rig::node_2();
    for _ in 0..3 {
        let (stream, _) = rig.successor();
        rig.open_by_kernel(stream);
        rig.run(ms(500));
        rig.end_stream(stream);
        assert_eq!(rig.state(), State::Member);
    }
}

#[test]
fn a_reset_and_a_kernel_timeout_count_as_an_end() {
    for why in [CloseReason::Reset, CloseReason::TimedOut] {
        let mut rig = Rig::node_2_after(100);
        let (stream, _) = rig.successor();
        rig.close_by_kernel(stream, why);
        let ended = SuccessorLoss::Ended;
        assert!(rig.take_event(&Event::SuccessorLost { id: 3, why: ended }));
        assert_eq!(rig.state(), State::Member);
    }
}

#[test]
fn a_second_try_that_fails_and_a_connect_that_fails_are_failures() {
    assert_eq!(lost().state(), State::Recovering);
    let mut rig = Rig::new(2, ring_of_four());
    rig.refuse_successor();
    rig.run(ms(20));
    assert_eq!(rig.state(), State::Recovering);
}

#[test]
fn a_missing_acknowledgement_is_a_failure() {
    let mut rig = Rig::node_2();
    rig.give_token(seq(4, 9));
    rig.run(ms(549));
    assert_eq!(rig.state(), State::Member);
    rig.run(ms(1));
    assert_eq!(
        rig.state(),
        State::Recovering,
        "the node makes no second attempt"
    );
    assert_eq!(
        rig.held_sequence(),
        Some(seq(4, 10) + (1 << 16)),
        "the node has the token again"
    );
}

#[test]
fn a_row_that_names_another_is_followed() {
    let mut rig = Rig::node_2_after(100);
    rig.database.ring.remove(&3);
    rig.database.ring.insert(2, 5);
    rig.end_successor();
    assert_eq!(rig.successor().1, 5);
    let mut rig = lost();
    rig.database.ring.remove(&3);
    rig.database.ring.insert(2, 5);
    rig.receive_datagram(5, &OwnedMessage::Successor(5));
    rig.run(ms(20));
    assert_eq!(rig.state(), State::Member);
    assert_eq!(rig.successor().1, 5);
}

#[test]
fn it_asks_the_coordinator_every_ack_timeout_after_a_fresh_look_and_claims_after_three() {
    let mut rig = lost();
    assert_eq!(rig.take_datagrams(), [(5, OwnedMessage::SuccessorRequest)]);
    rig.answers = false;
    rig.run(ms(490));
    assert_eq!(rig.take_datagrams(), []);
    rig.serve_looks();
    assert_eq!(rig.take_datagrams(), [(5, OwnedMessage::SuccessorRequest)]);
    rig.answers = true;
    rig.run(ms(501));
    assert_eq!(rig.take_datagrams(), [(5, OwnedMessage::SuccessorRequest)]);
    assert_eq!(rig.take_writes(), []);
    rig.run(ms(501));
    assert_eq!(rig.take_writes(), [], "a beat is late only after two polls");
    while rig.counters().claims == 0 {
        rig.run(ms(50));
    }
    let seen = seat(5, 4);
    let change = Some(REMOVE_3);
    assert_eq!(rig.take_writes(), [Write::Claim { seen, change }]);
    rig.run(ms(20));
    assert_eq!(rig.successor().1, 5);
    assert!(rig.is_coordinator() && rig.database.acting);
    assert_eq!(rig.counters().claims, 1);
    assert_eq!(
        rig.counters().elections_started,
        1,
        "the node starts an election"
    );
}

#[test]
fn a_look_without_the_cause_ends_the_repeats() {
    let mut rig = lost();
    rig.take_datagrams();
    rig.run(ms(400));
    rig.database.ring.remove(&3);
    rig.database.ring.insert(2, 5);
    rig.run(ms(150));
    assert_eq!(rig.successor().1, 5);
    rig.connect_successor();
    rig.run(ms(2000));
    assert_eq!(rig.take_datagrams(), []);
    assert_eq!(rig.state(), State::Member);
}

#[test]
fn a_failed_coordinator_is_replaced_at_once() {
    let mut rig = Rig::member(3, ring_of_four());
    let (stream, to) = rig.successor();
    assert_eq!(to, 5);
    rig.run(ms(100));
    rig.end_stream(stream);
    rig.refuse_successor();
    rig.run(ms(20));
    let change = Some(Change::Remove { node: 5, after: 3 });
    let seen = seat(5, 4);
    assert_eq!(rig.take_writes(), [Write::Claim { seen, change }]);
    assert_eq!(rig.take_datagrams(), []);
}

#[test]
fn a_claim_that_fails_is_followed_by_a_look() {
    let mut rig = Rig::member(3, ring_of_four());
    rig.run(ms(100));
    rig.answers = false;
    let (stream, _) = rig.successor();
    rig.end_stream(stream);
    rig.serve_looks();
    rig.refuse_successor();
    rig.run(ms(20));
    rig.serve_looks();
    let job = rig.next_job();
    assert!(matches!(job.work, Work::Write(Write::Claim { .. })));
    rig.database.seat = seat(2, 5);
    let outcome = rig.database.run(3, &job.work);
    assert_eq!(outcome, Outcome::Refused);
    rig.answer_job(job.id, outcome);
    rig.run(ms(20));
    assert_eq!(rig.next_job().work, Work::ReadRing);
}

#[test]
fn the_coordinator_removes_its_own_successor() {
    let mut rig = Rig::coordinator_5();
    assert_eq!(rig.successor().1, 1);
    rig.end_successor();
    rig.refuse_successor();
    rig.run(ms(20));
    let change = Change::Remove { node: 1, after: 5 };
    assert_eq!(rig.take_writes(), [Write::Change { term: 4, change }]);
    assert_eq!(rig.successor().1, 2);
    assert_eq!(rig.take_datagrams(), []);
}

#[test]
fn a_ring_of_two_becomes_one() {
    let mut rig = Rig::coordinator(2, &[1, 2]);
    let (stream, _) = rig.successor();
    rig.end_stream(stream);
    rig.refuse_successor();
    rig.run(ms(20));
    assert_eq!(rig.database.ring[&2], 2);
    assert_eq!(rig.successor().1, 2);
}

#[test]
fn a_successor_request_removes_and_is_answered() {
    let mut rig = Rig::coordinator_5();
    rig.receive_datagram(1, &OwnedMessage::SuccessorRequest);
    let change = Change::Remove { node: 2, after: 1 };
    assert_eq!(rig.take_writes(), [Write::Change { term: 4, change }]);
    assert_eq!(rig.take_datagrams(), [(1, OwnedMessage::Successor(3))]);
    assert_eq!(rig.counters().removals, 1);
}

#[test]
fn from_a_node_outside_the_ring_it_is_a_join() {
    let mut rig = Rig::coordinator_5();
    rig.receive_datagram(7, &OwnedMessage::SuccessorRequest);
    assert!(rig.database.ring.contains_key(&7));
}

#[test]
fn a_ring_of_one_is_not_removed() {
    let mut rig = Rig::coordinator(5, &[5, 1]);
    rig.database.is_broken = true;
    rig.database.ring.insert(1, 1);
    rig.database.ring.insert(5, 5);
    rig.run(ms(1000));
    rig.receive_datagram(1, &OwnedMessage::SuccessorRequest);
    assert_eq!(rig.take_datagrams(), [(1, OwnedMessage::Successor(1))]);
    assert_eq!(rig.database.ring.len(), 2);
}

#[test]
fn requests_to_a_non_coordinator_only_cause_a_look() {
    let mut rig = Rig::node_2_after(100);
    rig.receive_datagram(1, &OwnedMessage::SuccessorRequest);
    rig.receive_datagram(7, &OwnedMessage::Join);
    assert_eq!(rig.take_datagrams(), []);
    assert_eq!(rig.take_writes(), []);
}

#[test]
fn an_acting_coordinator_starts_elections_while_the_row_says_so() {
    let mut rig = Rig::coordinator_5();
    let before = rig.counters().elections_started;
    rig.database.acting = true;
    rig.run(ms(4000));
    let started = rig.counters().elections_started - before;
    assert_eq!(started, 2, "the node starts every 2 × T1");
    rig.database.acting = false;
    rig.run(ms(4000));
    assert_eq!(rig.counters().elections_started - before - started, 0);
}

#[test]
fn a_deposed_coordinator_writes_nothing() {
    let mut rig = Rig::coordinator_5();
    rig.database.seat = seat(3, 5);
    let before = rig.database.clone();
    rig.receive_datagram(7, &OwnedMessage::Join);
    rig.receive_datagram(1, &OwnedMessage::SuccessorRequest);
    rig.run(ms(1000));
    assert_eq!(rig.database.ring, before.ring);
    assert_eq!(rig.database.beat, before.beat);
    assert!(!rig.is_coordinator());
}

#[test]
fn the_coordinator_beats_every_poll() {
    let mut rig = Rig::coordinator_5();
    let before = rig.database.beat;
    rig.run(ms(4000));
    assert_eq!(rig.database.beat - before, 4);
}

#[test]
fn with_default_options_alone_timeout_exceeds_liveness() {
    let options = Options::new(1);
    assert!(options.alone_timeout > options.liveness + options.ack_timeout * 3);
}

#[test]
fn nothing_follows_from_a_loss_before_a_look_that_began_after_it() {
    let mut rig = Rig::node_2_after(1100);
    rig.answers = false;
    rig.receive_datagram(5, &OwnedMessage::Successor(3));
    let early = rig.next_job();
    let rows = rig.database.rows();
    rig.run(ms(10));
    rig.take_opened();
    rig.end_successor();
    rig.answer_job(early.id, Outcome::Rows(rows));
    assert_eq!(
        rig.take_opened(),
        [],
        "the rows of the look are older than the loss"
    );
    rig.database.ring.remove(&3);
    rig.database.ring.insert(2, 5);
    rig.run(ms(20));
    rig.serve_looks();
    let opened: Vec<u32> = rig.take_opened().into_iter().map(|(_, to)| to).collect();
    assert_eq!(opened, [5]);
}
