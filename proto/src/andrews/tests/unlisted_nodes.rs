//! Lists that differ, and a coordinator that is alive but does not answer (sections 1 and 6).

use super::prelude::*;

/// Advances the time by several polls. Meanwhile the coordinator's beat grows and a message of another node arrives.
fn beat(rig: &mut Rig, polls: u32) {
    for _ in 0..polls {
        rig.database.beat += 1;
        rig.receive_datagram(1, &OwnedMessage::Successor(5));
        rig.run(ms(1000));
    }
}

fn unanswered_count(rig: &mut Rig) -> usize {
    let unanswered = Event::Unanswered { id: 5 };
    rig.take_events()
        .iter()
        .filter(|it| **it == unanswered)
        .count()
}

#[test]
fn an_unanswered_newcomer_claims_nothing_while_the_beat_moves() {
    let mut rig = Rig::new(7, ring_of_four());
    beat(&mut rig, 30);
    assert_eq!(rig.take_writes(), []);
    assert_eq!(rig.state(), State::Joining);
    assert!(rig.take_datagrams().len() > 30, "the node continues to ask");
    assert_eq!(unanswered_count(&mut rig), 1, "the node reports this once");
    assert_eq!(rig.snapshot().unanswered, Some(5));
    // Two polls, database-timeout, and the time for one step.
    rig.run(ms(2400));
    assert_eq!(rig.take_writes(), []);
    rig.receive_datagram(1, &OwnedMessage::Successor(5));
    rig.run(ms(1600));
    assert!(matches!(rig.take_writes()[..], [Write::Claim { .. }, ..]));
}

#[test]
fn an_unanswered_database_is_not_a_stopped_beat() {
    let mut rig = Rig::new(7, ring_of_four());
    beat(&mut rig, 5);
    rig.answers = false;
    rig.run(ms(20_000));
    rig.answers = true;
    rig.jobs.clear();
    rig.run(ms(1500));
    rig.receive_datagram(1, &OwnedMessage::Successor(5));
    beat(&mut rig, 5);
    assert_eq!(rig.take_writes(), []);
}

#[test]
fn an_unreachable_coordinator_is_asked_and_not_replaced() {
    let mut rig = Rig::member(3, ring_of_four());
    rig.run(ms(100));
    let (stream, _) = rig.successor();
    rig.close_by_kernel(stream, CloseReason::TimedOut);
    let (stream, to) = rig.successor();
    assert_eq!(to, 5);
    // A firewall refuses the connection instead of the machine.
    rig.close_by_kernel(stream, CloseReason::Refused);
    beat(&mut rig, 20);
    assert_eq!(rig.state(), State::Recovering);
    assert_eq!(rig.take_writes(), []);
    let asked = rig.take_datagrams();
    assert!(
        asked.contains(&(5, OwnedMessage::SuccessorRequest)),
        "{asked:?}"
    );
}

#[test]
fn a_coordinator_whose_process_has_ended_is_claimed_from_unless_it_beats_on() {
    for is_ended in [true, false] {
        let mut rig = Rig::member(3, ring_of_four());
        rig.run(ms(100));
        let (stream, _) = rig.successor();
        rig.answers = false;
        rig.end_stream(stream);
        rig.serve();
        rig.refuse_successor();
        rig.run(ms(20));
        rig.serve_looks();
        if !is_ended {
            // The claim has failed, because the coordinator was alive all the time.
            let claim = rig.next_job();
            rig.answer_job(claim.id, Outcome::Failed);
        }
        rig.answers = true;
        if is_ended {
            rig.serve();
            assert!(matches!(rig.take_writes()[..], [Write::Claim { .. }, ..]));
        } else {
            beat(&mut rig, 20);
            assert_eq!(rig.take_writes(), []);
        }
    }
}

#[test]
fn a_member_that_cannot_reach_the_coordinator_is_taken_out_itself() {
    let mut rig = Rig::coordinator_5();
    rig.receive_datagram(3, &OwnedMessage::SuccessorRequest);
    let change = Change::Remove { node: 3, after: 2 };
    assert_eq!(rig.take_writes(), [Write::Change { term: 4, change }]);
    rig.receive_datagram(3, &OwnedMessage::SuccessorRequest);
    assert!(
        rig.database.ring.contains_key(&3),
        "the removed node joins at another place"
    );
}

#[test]
fn an_isolated_coordinator_without_its_successor_does_not_beat() {
    let mut rig = Rig::coordinator_5();
    rig.run(ms(3000));
    let (stream, _) = rig.successor();
    rig.close_by_kernel(stream, CloseReason::TimedOut);
    let beat = rig.database.beat;
    let (stream, _) = rig.successor();
    rig.close_by_kernel(stream, CloseReason::Failed);
    rig.run(ms(4000));
    assert_eq!(rig.database.beat, beat);
    rig.receive_datagram(2, &OwnedMessage::Successor(3));
    rig.run(ms(1100));
    assert!(rig.database.beat > beat);
}

#[test]
fn unlisted_rows_and_senders_are_reported_once() {
    let mut database = ring_of_four();
    database.nodes = (1..=10).collect();
    let mut rig = Rig::with(Options::new(5), database);
    for _ in 0..3 {
        rig.receive_datagram_bytes(ip(12), &OwnedMessage::Join.encode(12));
        // The sender is a node of the list, but its address is wrong.
        rig.receive_datagram_bytes(ip(13), &OwnedMessage::Join.encode(2));
        rig.run(ms(1000));
    }
    let events = rig.take_events();
    for event in [
        Event::UnknownRow { id: 10 },
        Event::UnknownSender {
            id: 12,
            from: ip(12),
        },
        Event::UnknownSender {
            id: 2,
            from: ip(13),
        },
    ] {
        let count = events.iter().filter(|it| **it == event).count();
        assert_eq!(count, 1, "{event:?}");
    }
    let snapshot = rig.snapshot();
    assert_eq!(snapshot.unknown_rows, [10]);
    assert_eq!(snapshot.unknown_senders, [(2, ip(13)), (12, ip(12))]);
    rig.database.nodes.remove(&10);
    rig.run(ms(6000));
    let snapshot = rig.snapshot();
    assert!(snapshot.unknown_rows.is_empty() && snapshot.unknown_senders.is_empty());
}

#[test]
fn senders_that_somebody_invents_are_few() {
    let mut rig = Rig::new(5, ring_of_four());
    for id in 100..200 {
        rig.receive_datagram_bytes(ip(id), &OwnedMessage::Join.encode(id));
    }
    let events = rig.take_events().into_iter();
    let warnings = events.filter(|it| matches!(it, Event::UnknownSender { .. }));
    assert_eq!(warnings.count(), 16);
}
