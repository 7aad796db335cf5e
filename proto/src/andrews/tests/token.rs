//! The token (section 9).

use super::prelude::*;

#[test]
fn a_token_is_acknowledged_at_once_and_held() {
    let mut rig = Rig::two();
    assert_eq!(rig.given(seq(4, 9)), [Said::TokenAck(seq(4, 9))]);
    assert_eq!(rig.holds(), Some(seq(4, 9)));
    assert_eq!(rig.snapshot().token.sequence, seq(4, 9));
}

#[test]
fn one_that_is_no_newer_is_acknowledged_and_dropped() {
    let mut rig = Rig::two();
    rig.given(seq(4, 9));
    rig.run(ms(50));
    rig.acknowledge(seq(4, 10));
    for old in [seq(4, 9), seq(4, 8), seq(3, 1 << 20)] {
        assert_eq!(rig.given(old), [Said::TokenAck(old)]);
        assert_eq!(rig.holds(), None);
    }
    assert_eq!(rig.dropped(Reason::Duplicate), 3);
}

#[test]
fn a_newer_one_replaces_the_one_that_is_held_or_on_the_way() {
    let mut rig = Rig::two();
    rig.given(seq(4, 9));
    rig.given(seq(4, 30));
    assert_eq!(rig.holds(), Some(seq(4, 30)));
    assert_eq!(rig.counters().tokens_lost, 1);
    rig.run(ms(50));
    assert_eq!(rig.passed(), [Said::Token(seq(4, 31))]);
    rig.given(seq(4, 50));
    rig.acknowledge(seq(4, 31));
    assert_eq!(
        rig.holds(),
        Some(seq(4, 50)),
        "its acknowledgement counts for nothing"
    );
    rig.end_successor();
    assert_eq!(rig.holds(), Some(seq(4, 50)), "nor does its loss");
}

#[test]
fn a_token_of_an_unknown_term_is_looked_up_first() {
    let mut rig = Rig::two_after(1100);
    rig.answers = false;
    rig.base.seat.term = 5;
    assert_eq!(rig.given(seq(5, 0)), []);
    rig.serve_looks();
    let stream = rig.predecessor();
    assert_eq!(rig.frames(stream), [Said::TokenAck(seq(5, 0))]);
    assert_eq!(rig.holds(), Some(seq(5, 0)));
}

#[test]
fn one_above_the_row_or_that_cannot_be_looked_up_is_not_acknowledged() {
    let mut rig = Rig::two_after(1100);
    assert_eq!(rig.given(seq(5, 0)), []);
    assert_eq!(rig.dropped(Reason::FromFuture), 1);
    for outcome in [Some(Outcome::Failed), None] {
        let mut rig = Rig::two_after(1100);
        rig.answers = false;
        rig.base.seat.term = 5;
        assert_eq!(rig.given(seq(5, 0)), []);
        let job = rig.job();
        match outcome {
            Some(outcome) => rig.done(job.id, outcome),
            None => rig.run(ms(1000)),
        }
        assert_eq!(rig.dropped(Reason::FromFuture), 1);
        assert_eq!(rig.holds(), None);
        assert_eq!(rig.given(seq(5, 4)), []);
        assert_eq!(rig.dropped(Reason::FromFuture), 2, "at once");
    }
}

#[test]
fn without_work_it_is_passed_after_hold_with_the_next_sequence() {
    let mut rig = Rig::two();
    rig.given(seq(4, 9));
    rig.run(ms(49));
    assert_eq!(rig.passed(), []);
    assert!(rig.machine.may_use_token());
    rig.run(ms(1));
    assert_eq!(rig.passed(), [Said::Token(seq(4, 10))]);
    assert!(
        !rig.machine.may_use_token(),
        "from then on it must not use it"
    );
    rig.acknowledge(seq(4, 9));
    rig.acknowledge(seq(4, 11));
    assert!(
        rig.machine.token().is_passing(),
        "any other acknowledgement is ignored"
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
            rig.gone(stream, Closed::Reset);
        },
    ];
    for end in ends {
        let mut rig = Rig::two_after(100);
        rig.given(seq(4, 9));
        rig.run(ms(50));
        end(&mut rig);
        let sequence = seq(4, 10) + (1 << 16);
        assert_eq!(rig.holds(), Some(sequence));
        assert_eq!(rig.snapshot().token.sequence, sequence);
        rig.base.ring.remove(&3);
        rig.base.ring.insert(2, 5);
        rig.run(ms(1000));
        let (stream, to) = rig.successor();
        assert_eq!(to, 5);
        rig.connected(stream);
        assert_eq!(
            rig.frames(stream),
            [Said::Successor(5), Said::Token(sequence + 1)]
        );
    }
}

/// The next term's numbers belong to a token that the coordinator makes: every successor refuses them as long as it has not.
#[test]
fn a_token_never_leaves_its_term() {
    let last = seq(4, u64::from(u32::MAX));
    let mut rig = Rig::two();
    rig.given(last);
    assert!(rig.machine.may_use_token());
    rig.run(ms(50));
    assert_eq!((rig.passed(), rig.holds()), (vec![], None), "passed on");
    assert_eq!(rig.counters().tokens_lost, 1);

    let mut rig = Rig::two();
    rig.given(last - 1);
    rig.run(ms(50));
    assert_eq!(rig.passed(), [Said::Token(last)]);
    rig.end_successor();
    assert_eq!(rig.holds(), None, "taken back");
    assert_eq!(rig.counters().tokens_lost, 1);
    assert_eq!(rig.counters().passes_failed, 1);

    let mut rig = Rig::five();
    rig.given(last - 2);
    rig.given(last - 1);
    assert_eq!(rig.holds(), Some(last - 1), "lets one of two lead");
}

#[test]
fn without_a_successor_it_is_kept_and_may_be_used() {
    let mut rig = Rig::new(2, four());
    rig.hello(1);
    rig.given(seq(4, 9));
    rig.run(ms(900));
    assert!(rig.machine.may_use_token());
    rig.request(1, true);
    rig.request(2, true);
    assert_eq!(rig.base.posts.len(), 2);
    assert_eq!(rig.holds(), Some(seq(4, 9)));
}

#[test]
fn the_coordinator_that_has_seen_no_token_for_r_makes_one() {
    let mut rig = Rig::five();
    rig.run(ms(4100));
    assert_eq!(rig.written(), []);
    rig.base.sequence = seq(7, 5);
    rig.run(ms(5200));
    assert_eq!(rig.written(), [], "it was used meanwhile");
    rig.run(ms(1000));
    assert_eq!(
        rig.written()[0],
        Write::Token { term: 4, new: 8 },
        "above the token's term"
    );
    assert!(rig.machine.token().highest() >= seq(8, 0));
}

#[test]
fn a_token_that_comes_keeps_the_coordinator_from_making_one() {
    let mut rig = Rig::five();
    for round in 0..10 {
        rig.run(ms(2000));
        rig.given(seq(4, 9 + 4 * round));
        rig.run(ms(50));
        rig.acknowledge(seq(4, 10 + 4 * round));
    }
    assert_eq!(rig.counters().tokens_made, 0);
}

#[test]
fn r_grows_with_the_members() {
    let options = Options::new(1);
    assert_eq!(options.silence(0), ms(5000));
    assert_eq!(options.silence(100), ms(10_000));
}

#[test]
fn a_ring_of_one_passes_the_token_to_itself() {
    let mut rig = Rig::with(Options::new(2), Base::default());
    rig.run(ms(20));
    rig.connect_successor();
    rig.hello(2);
    rig.run(ms(50));
    assert_eq!(rig.passed(), [Said::Successor(2), Said::Token(seq(1, 1))]);
    assert_eq!(rig.given(seq(1, 1)), [Said::TokenAck(seq(1, 1))]);
    assert_eq!(rig.holds(), Some(seq(1, 1)));
    rig.acknowledge(seq(1, 1));
    assert_eq!(rig.holds(), Some(seq(1, 1)));
    assert_eq!(rig.counters().tokens_lost, 0);
}

#[test]
fn a_late_commit_of_a_new_token_makes_it() {
    let mut rig = Rig::unanswered_five();
    for _ in 0..7 {
        rig.run(ms(1000));
        rig.serve_looks();
    }
    let job = rig.job();
    assert!(matches!(job.work, Work::Write(Write::Token { .. })));
    rig.run(ms(1500));
    assert_eq!(rig.snapshot().database.name(), "slow");
    let outcome = rig.base.run(5, &job.work);
    rig.done(job.id, outcome.clone());
    assert_eq!(rig.holds(), Some(seq(5, 0)));
    rig.done(job.id, outcome);
    assert_eq!(rig.counters().tokens_made, 1, "a second answer is none");
}

#[test]
fn a_node_that_is_removed_discards_its_token() {
    let mut rig = Rig::two();
    rig.given(seq(4, 9));
    rig.base.ring.remove(&2);
    rig.base.ring.insert(1, 3);
    rig.run(ms(20));
    rig.hear(5, &Said::Successor(3));
    assert_eq!(rig.state(), State::Joining);
    assert_eq!(rig.holds(), None);
    assert!(
        rig.streams
            .values()
            .filter(|it| it.is_accepted)
            .all(|it| it.fate == Fate::Closed)
    );
}
