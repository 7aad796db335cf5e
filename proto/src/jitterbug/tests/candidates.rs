//! Candidates and penalties (`docs/jitterbug/protocol/leader.md` K1 to K9).

use super::prelude::*;

fn penalty(rig: &Rig, number: u8) -> (u32, u32) {
    let snapshot = rig.machine.snapshot();
    let entry = snapshot
        .nodes
        .iter()
        .find(|it| it.node.ip == node(number).ip);
    entry
        .map(|it| (it.threshold, it.count))
        .expect("it is listed")
}

/// Returns a leader without a hold. Its list contains this many other nodes.
fn ring(nodes: u8) -> Rig {
    let mut rig = Rig::leader_with(holding(ms(0)), 5);
    (2..=nodes).for_each(|it| rig.add_node(it));
    rig
}

#[test]
fn candidates_are_tried_in_list_order_after_this_node() {
    let mut rig = ring(4);
    assert_eq!([(); 3].map(|()| rig.refuse_next()), [2, 3, 4]);
    // The node's own entry is the third of four.
    let mut rig = Rig::waiter(5);
    (2..=4).for_each(|it| rig.add_node(it));
    rig.receive_token(3, 9, &[3, 4, 1, 2].map(node), b"1");
    assert_eq!([(); 3].map(|()| rig.refuse_next()), [2, 3, 4]);
}

#[test]
fn a_healthy_node_is_tried_in_its_first_turn_and_in_every_other() {
    let mut rig = ring(2);
    for _ in 0..5 {
        let (stream, number) = rig.next_candidate();
        assert_eq!(number, 2);
        rig.acknowledge(stream);
        rig.receive_token(2, 9, &[1, 2].map(node), b"1");
    }
    assert_eq!(rig.machine.counters().passes_done, 5);
}

/// Returns the numbers of the turns in which the leader tries the only candidate.
fn turns_tried(count: u64) -> Vec<u64> {
    let mut rig = ring(2);
    let first = rig.machine.counters().computes;
    let mut turns = Vec::new();
    while turns.last().is_none_or(|last| *last < count) {
        rig.refuse_next();
        // The next turn has begun.
        turns.push(rig.machine.counters().computes - first);
    }
    turns
}

#[test]
fn the_kth_failure_in_a_row_costs_two_to_the_k_less_one_turns() {
    assert_eq!(turns_tried(63), [1, 3, 7, 15, 31, 63]);
}

#[test]
fn a_threshold_is_ten_at_most() {
    let mut rig = ring(2);
    for _ in 0..12 {
        rig.refuse(2);
        rig.machine.penalties_mut().note_token(node(2).ip);
    }
    assert_eq!(penalty(&rig, 2).0, 10);
}

#[test]
fn a_success_takes_one_off_the_threshold_only() {
    let mut rig = ring(3);
    for _ in 0..3 {
        rig.refuse(2);
    }
    assert_eq!(penalty(&rig, 2), (3, 0));
    let stream = rig.refuse_until(2);
    rig.acknowledge(stream);
    assert_eq!(penalty(&rig, 2), (2, 0));
}

#[test]
fn a_skipped_turn_adds_one_to_the_count() {
    let mut rig = ring(2);
    rig.refuse_next();
    assert_eq!(penalty(&rig, 2), (1, 0));
    rig.run(ms(10));
    assert_eq!(penalty(&rig, 2), (1, 1), "2^1 - 1: it is tried next");
}

#[test]
fn a_pass_whose_outcome_is_unknown_counts_as_failed() {
    let mut rig = ring(2);
    let (stream, _) = rig.next_candidate();
    rig.accept_pass(stream);
    rig.close_by_kernel(stream, CloseReason::Reset);
    assert_eq!(rig.state(), State::Orphan);
    assert_eq!(penalty(&rig, 2), (1, 0));
}

#[test]
fn a_tr1_makes_its_sender_eligible_at_once_but_keeps_the_threshold() {
    let mut rig = ring(2);
    for _ in 0..4 {
        rig.refuse_next();
    }
    assert_eq!(penalty(&rig, 2), (4, 0));
    rig.receive_datagram(2, &tr1(-1, 7002));
    assert_eq!(penalty(&rig, 2), (4, 15));
    let soon = rig.now + ms(10);
    rig.refuse_next();
    assert!(rig.now <= soon, "the node is tried in the next turn");
}

#[test]
fn tr1_makes_it_eligible_once_per_renew_timeout() {
    let mut rig = ring(2);
    rig.refuse_next();
    rig.receive_datagram(2, &tr1(-1, 7002));
    rig.refuse_next();
    assert_eq!(penalty(&rig, 2), (2, 0));
    rig.receive_datagram(2, &tr1(-1, 7002));
    assert_eq!(
        penalty(&rig, 2),
        (2, 0),
        "a second TR1 within renew_timeout has no effect"
    );
    rig.machine.penalties_mut().note_failed(node(2).ip);
    rig.stall(ms(400));
    rig.run(ms(1600));
    for _ in 0..6 {
        rig.machine.penalties_mut().note_failed(node(2).ip);
    }
    rig.receive_datagram(2, &tr1(-1, 7002));
    let (threshold, count) = penalty(&rig, 2);
    assert_eq!(count, (1 << threshold) - 1);
}

/// Some nodes are reachable only from time to time. Checks that such a node does not cost the leader one timeout per
/// `renew_timeout`.
#[test]
fn a_success_does_not_let_tr1_do_so_again() {
    let mut rig = ring(2);
    rig.refuse_next();
    rig.receive_datagram(2, &tr1(-1, 7002));
    rig.pass();
    assert_eq!(penalty(&rig, 2), (0, 0));
    rig.receive_token(2, 9, &[1, 2].map(node), b"1");
    rig.refuse_next();
    rig.receive_datagram(2, &tr1(-1, 7002));
    assert_eq!(penalty(&rig, 2), (1, 0));
}

#[test]
fn a_tr1_of_an_eligible_node_does_not_use_up_the_next() {
    let mut rig = ring(2);
    rig.refuse_next();
    rig.run(ms(10));
    assert_eq!(penalty(&rig, 2), (1, 1));
    rig.receive_datagram(2, &tr1(-1, 7002));
    rig.refuse_next();
    assert_eq!(penalty(&rig, 2), (2, 0));
    rig.receive_datagram(2, &tr1(-1, 7002));
    assert_eq!(penalty(&rig, 2), (2, 3));
}

#[test]
fn a_token_from_a_node_makes_it_eligible() {
    let failed = || {
        let mut rig = ring(3);
        for _ in 0..3 {
            rig.refuse(2);
        }
        rig
    };
    for (token, absorbed) in [(9, 0), (4, 1)] {
        let mut rig = failed();
        let stream = rig.refuse_until(3);
        rig.acknowledge(stream);
        rig.receive_token(2, token, &[1, 2, 3].map(node), b"1");
        assert_eq!(rig.machine.counters().absorbed, absorbed);
        assert_eq!(penalty(&rig, 2), (3, 7));
    }
    let mut rig = failed();
    rig.refuse(3);
    let before = rig.machine.counters().merged;
    rig.receive_token(2, 4, &[1, 2, 3].map(node), b"1");
    assert_eq!(rig.machine.counters().merged, before + 1);
    assert_eq!(penalty(&rig, 2), (3, 7));
}

#[test]
fn a_candidate_behind_the_one_that_took_the_token_keeps_its_penalty() {
    let mut rig = ring(3);
    rig.refuse_next();
    rig.refuse_next();
    rig.run(ms(10));
    let before = penalty(&rig, 3);
    assert_eq!(before, (1, 1));
    rig.machine.penalties_mut().note_token(node(2).ip);
    let (stream, number) = rig.next_candidate();
    assert_eq!(number, 2);
    rig.acknowledge(stream);
    assert_eq!(penalty(&rig, 3), before);
}

#[test]
fn the_sender_of_a_stronger_announcement_is_first_with_any_penalty() {
    let mut rig = ring(4);
    for _ in 0..2 {
        rig.refuse(4);
    }
    rig.receive_datagram(4, &tr1(6, 7004));
    let (stream, number) = rig.next_candidate();
    assert_eq!(number, 4);
    rig.close_by_kernel(stream, CloseReason::Refused);
    assert_ne!(
        rig.next_candidate().1,
        4,
        "the node forgets the rival with its pass"
    );
    assert!(rig.machine.stronger_leader().is_none());
}

#[test]
fn a_rival_is_forgotten_however_its_pass_ends() {
    type PassEnd = fn(&mut Rig, StreamId);
    let fails: PassEnd = |rig, stream| rig.close_by_kernel(stream, CloseReason::Refused);
    let is_done: PassEnd = Rig::acknowledge;
    let is_unknown: PassEnd = |rig, stream| {
        rig.accept_pass(stream);
        rig.close_by_kernel(stream, CloseReason::Reset);
    };
    let gives_way: PassEnd = |rig, _| {
        rig.offer(3, 7, 0);
    };
    for (end, state) in [
        (fails, State::Leader),
        (is_done, State::Waiter),
        (is_unknown, State::Orphan),
        (gives_way, State::Leader),
    ] {
        let mut rig = ring(1);
        rig.receive_datagram(2, &tr1(6, 7002));
        let (stream, number) = rig.next_candidate();
        assert_eq!(number, 2);
        assert_eq!(rig.machine.stronger_leader(), Some(node(2)));
        end(&mut rig, stream);
        assert_eq!((rig.state(), rig.machine.stronger_leader()), (state, None));
    }
}

#[test]
fn the_sender_of_a_weaker_announcement_waits_for_its_place() {
    for heard in [4, 5] {
        let mut rig = ring(3);
        rig.receive_datagram(3, &tr1(heard, 7003));
        assert_eq!(rig.next_candidate().1, 2);
    }
}

#[test]
fn a_rival_that_fits_no_list_is_tried() {
    let mut rig = Rig::leader_with(room_for(1), 5);
    rig.receive_datagram(2, &tr1(6, 7002));
    assert_eq!(rig.machine.counters().nodes_refused, 1);
    assert_eq!(rig.next_candidate().1, 2);
}

#[test]
fn an_aborted_pass_changes_no_penalty() {
    let mut rig = ring(2);
    rig.refuse_next();
    rig.run(ms(10));
    let (_, number) = rig.next_candidate();
    assert_eq!((number, penalty(&rig, 2)), (2, (1, 1)));
    let inbound = rig.offer(3, 6, hash(&[node(3)]));
    assert_eq!(rig.machine.counters().passes_aborted, 1);
    assert_eq!(penalty(&rig, 2), (1, 1));
    rig.receive(inbound, &tp4(&[node(3)]));
    rig.receive_end(inbound, &tp5(6, b"1"));
    assert_eq!(rig.next_candidate().1, 2);
}

#[test]
fn nodes_that_a_merge_has_appended_are_tried_in_the_same_round() {
    let mut rig = ring(2);
    let (stream, _) = rig.next_candidate();
    let inbound = rig.offer(3, 4, hash(&[node(3)]));
    rig.close_by_kernel(stream, CloseReason::Refused);
    rig.receive(inbound, &tp4(&[node(3)]));
    rig.receive_end(inbound, &tp5(4, b""));
    assert_eq!(rig.next_candidate().1, 3);
}
