//! The token (rules T).

use super::prelude::*;

#[test]
fn a_token_is_acknowledged_at_once_and_held() {
    let mut rig = Rig::node_2();
    assert_eq!(
        rig.give_token(seq(4, 9)),
        [OwnedMessage::TokenAck(seq(4, 9))]
    );
    assert_eq!(rig.held_sequence(), Some(seq(4, 9)));
    assert_eq!(rig.snapshot().token.sequence, seq(4, 9));
}

#[test]
fn a_token_that_is_not_newer_is_acknowledged_and_dropped() {
    let mut rig = Rig::node_2();
    rig.give_token(seq(4, 9));
    rig.run(ms(50));
    rig.acknowledge(seq(4, 10));
    for old in [seq(4, 9), seq(4, 8), seq(3, 1 << 20)] {
        assert_eq!(rig.give_token(old), [OwnedMessage::TokenAck(old)]);
        assert_eq!(rig.held_sequence(), None);
    }
    assert_eq!(rig.drop_count(Reason::Duplicate), 3);
}

#[test]
fn a_newer_token_replaces_the_held_or_passed_one() {
    let mut rig = Rig::node_2();
    rig.give_token(seq(4, 9));
    rig.give_token(seq(4, 30));
    assert_eq!(rig.held_sequence(), Some(seq(4, 30)));
    assert_eq!(rig.counters().tokens_lost, 1);
    rig.run(ms(50));
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 31))]
    );
    rig.give_token(seq(4, 50));
    rig.acknowledge(seq(4, 31));
    assert_eq!(
        rig.held_sequence(),
        Some(seq(4, 50)),
        "the acknowledgement of the replaced token has no effect"
    );
    rig.end_successor();
    assert_eq!(
        rig.held_sequence(),
        Some(seq(4, 50)),
        "the loss of the successor returns no older token"
    );
}

#[test]
fn a_token_of_an_unknown_term_is_looked_up_first() {
    let mut rig = Rig::node_2_after(1100);
    rig.answers = false;
    rig.database.seat.term = 5;
    assert_eq!(rig.give_token(seq(5, 0)), []);
    rig.serve_looks();
    let stream = rig.predecessor();
    assert_eq!(rig.take_frames(stream), [OwnedMessage::TokenAck(seq(5, 0))]);
    assert_eq!(rig.held_sequence(), Some(seq(5, 0)));
}

#[test]
fn one_above_the_row_or_that_cannot_be_looked_up_is_not_acknowledged() {
    let mut rig = Rig::node_2_after(1100);
    assert_eq!(rig.give_token(seq(5, 0)), []);
    assert_eq!(rig.drop_count(Reason::FromFuture), 1);
    for outcome in [Some(Outcome::Failed), None] {
        let mut rig = Rig::node_2_after(1100);
        rig.answers = false;
        rig.database.seat.term = 5;
        assert_eq!(rig.give_token(seq(5, 0)), []);
        let job = rig.next_job();
        match outcome {
            Some(outcome) => rig.answer_job(job.id, outcome),
            None => rig.run(ms(1000)),
        }
        assert_eq!(rig.drop_count(Reason::FromFuture), 1);
        assert_eq!(rig.held_sequence(), None);
        assert_eq!(rig.give_token(seq(5, 4)), []);
        assert_eq!(rig.drop_count(Reason::FromFuture), 2, "at once");
    }
}

#[test]
fn without_work_it_is_passed_after_hold_with_the_next_sequence() {
    let mut rig = Rig::node_2();
    rig.give_token(seq(4, 9));
    rig.run(ms(49));
    assert_eq!(rig.take_successor_frames(), []);
    assert!(rig.machine.may_use_token());
    rig.run(ms(1));
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 10))]
    );
    assert!(
        !rig.machine.may_use_token(),
        "the node must not use a token that it passes"
    );
    rig.acknowledge(seq(4, 9));
    rig.acknowledge(seq(4, 11));
    assert!(
        rig.machine.token().is_passing(),
        "the node ignores any other acknowledgement"
    );
    rig.acknowledge(seq(4, 10));
    assert!(!rig.machine.token().is_passing());
}

#[test]
fn lost_before_the_acknowledgement_it_is_held_again_with_a_jump() {
    let ends: [fn(&mut Rig); 3] = [
        |rig| rig.run(ms(500)),
        |rig| {
            rig.end_successor();
        },
        |rig| {
            let (stream, _) = rig.successor();
            rig.close_by_kernel(stream, CloseReason::Reset);
        },
    ];
    for end in ends {
        let mut rig = Rig::node_2_after(100);
        rig.give_token(seq(4, 9));
        rig.run(ms(50));
        end(&mut rig);
        let sequence = seq(4, 10) + (1 << 16);
        assert_eq!(rig.held_sequence(), Some(sequence));
        assert_eq!(rig.snapshot().token.sequence, sequence);
        rig.database.ring.remove(&3);
        rig.database.ring.insert(2, 5);
        rig.run(ms(1000));
        let (stream, to) = rig.successor();
        assert_eq!(to, 5);
        rig.open_by_kernel(stream);
        assert_eq!(
            rig.take_frames(stream),
            [
                OwnedMessage::Successor(5),
                OwnedMessage::Token(sequence + 1)
            ]
        );
    }
}

/// Checks that the sequence of a token stays within the token's term. If a sequence belonged to the next term, every
/// successor would refuse it until the coordinator makes a token of that term.
#[test]
fn a_token_never_leaves_its_term() {
    let last = seq(4, u64::from(u32::MAX));
    let mut rig = Rig::node_2();
    rig.give_token(last);
    assert!(rig.machine.may_use_token());
    rig.run(ms(50));
    assert_eq!(
        (rig.take_successor_frames(), rig.held_sequence()),
        (vec![], None),
        "passed on"
    );
    assert_eq!(rig.counters().tokens_lost, 1);

    let mut rig = Rig::node_2();
    rig.give_token(last - 1);
    rig.run(ms(50));
    assert_eq!(rig.take_successor_frames(), [OwnedMessage::Token(last)]);
    rig.end_successor();
    assert_eq!(rig.held_sequence(), None, "taken back");
    assert_eq!(rig.counters().tokens_lost, 1);
    assert_eq!(rig.counters().passes_failed, 1);

    let mut rig = Rig::coordinator_5();
    rig.give_token(last - 2);
    rig.give_token(last - 1);
    assert_eq!(rig.held_sequence(), Some(last - 1), "lets one of two lead");
}

#[test]
fn without_a_successor_it_is_kept_and_may_be_used() {
    let mut rig = Rig::new(2, ring_of_four());
    rig.hello(1);
    rig.give_token(seq(4, 9));
    rig.run(ms(900));
    assert!(rig.machine.may_use_token());
    rig.request(1, true);
    rig.request(2, true);
    assert_eq!(rig.database.posts.len(), 2);
    assert_eq!(rig.held_sequence(), Some(seq(4, 9)));
}

#[test]
fn the_coordinator_that_has_seen_no_token_for_r_makes_one() {
    let mut rig = Rig::coordinator_5();
    rig.run(ms(4100));
    assert_eq!(rig.take_writes(), []);
    rig.database.sequence = seq(7, 5);
    rig.run(ms(5200));
    assert_eq!(rig.take_writes(), [], "the token was used meanwhile");
    rig.run(ms(1000));
    assert_eq!(
        rig.take_writes()[0],
        Write::Token { term: 4, new: 8 },
        "the new term is above that of the token"
    );
    assert!(rig.machine.token().highest() >= seq(8, 0));
}

#[test]
fn an_arriving_token_prevents_a_new_one() {
    let mut rig = Rig::coordinator_5();
    for round in 0..10 {
        rig.run(ms(2000));
        rig.give_token(seq(4, 9 + 4 * round));
        rig.run(ms(50));
        rig.acknowledge(seq(4, 10 + 4 * round));
    }
    assert_eq!(rig.counters().tokens_made, 0);
}

#[test]
fn r_grows_with_the_members() {
    let options = Options::new(1);
    assert_eq!(options.token_loss_timeout(0), ms(5000));
    assert_eq!(options.token_loss_timeout(100), ms(10_000));
}

#[test]
fn a_ring_of_one_passes_the_token_to_itself() {
    let mut rig = Rig::with(Options::new(2), FakeDatabase::default());
    rig.run(ms(20));
    rig.connect_successor();
    rig.hello(2);
    rig.run(ms(50));
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Successor(2), OwnedMessage::Token(seq(1, 1))]
    );
    assert_eq!(
        rig.give_token(seq(1, 1)),
        [OwnedMessage::TokenAck(seq(1, 1))]
    );
    assert_eq!(rig.held_sequence(), Some(seq(1, 1)));
    rig.acknowledge(seq(1, 1));
    assert_eq!(rig.held_sequence(), Some(seq(1, 1)));
    assert_eq!(rig.counters().tokens_lost, 0);
}

#[test]
fn a_late_commit_of_a_new_token_makes_it() {
    let mut rig = Rig::coordinator_5_unanswered();
    for _ in 0..7 {
        rig.run(ms(1000));
        rig.serve_looks();
    }
    let job = rig.next_job();
    assert!(matches!(job.work, Work::Write(Write::Token { .. })));
    rig.run(ms(1500));
    assert_eq!(rig.snapshot().database.name(), "slow");
    let outcome = rig.database.run(5, &job.work);
    rig.answer_job(job.id, outcome.clone());
    assert_eq!(rig.held_sequence(), Some(seq(5, 0)));
    rig.answer_job(job.id, outcome);
    assert_eq!(
        rig.counters().tokens_made,
        1,
        "a second outcome makes no second token"
    );
}

#[test]
fn a_removed_node_discards_its_token() {
    let mut rig = Rig::node_2();
    rig.give_token(seq(4, 9));
    rig.database.ring.remove(&2);
    rig.database.ring.insert(1, 3);
    rig.run(ms(20));
    rig.receive_datagram(5, &OwnedMessage::Successor(3));
    assert_eq!(rig.state(), State::Joining);
    assert_eq!(rig.held_sequence(), None);
    assert!(
        rig.streams
            .values()
            .filter(|it| it.is_accepted)
            .all(|it| it.fate == Fate::Closed)
    );
}
