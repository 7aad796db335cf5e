//! The candidate's side of a pass (`docs/jitterbug/protocol/passing.md` C1 to C12).

use super::prelude::*;

fn list() -> [Node; 2] {
    [2, 1].map(node)
}

#[test]
fn tp1_is_answered_by_tp3_for_an_equal_list_and_by_tp2_otherwise() {
    let mut rig = Rig::waiter(5);
    let stream = rig.offer(2, 9, hash(&[node(1)]));
    assert_eq!(rig.take_written(stream), TP3);
    let stream = rig.offer(2, 9, hash(&list()));
    assert_eq!(rig.take_written(stream), TP2);
}

#[test]
fn every_node_that_is_not_passing_answers_at_once() {
    for mut rig in [Rig::orphan(), Rig::waiter(5), Rig::leader(5)] {
        let stream = rig.offer(2, 1, 7);
        assert_eq!(rig.take_written(stream), TP2);
    }
}

#[test]
fn a_waiter_and_an_orphan_take_the_token_and_lead() {
    for mut rig in [Rig::orphan(), Rig::waiter(5)] {
        let stream = rig.receive_token(2, 3, &list(), b"41");
        assert_eq!(
            (rig.state(), rig.token()),
            (State::Leader, 3),
            "smaller or not"
        );
        assert_eq!(
            rig.fate(stream),
            Fate::Closed,
            "the node ends the connection without a reset"
        );
        assert_eq!(rig.machine.counters().taken, 1);
        assert!(rig.take_events().iter().any(|it| matches!(
            it,
            Event::Accepted {
                how: Acceptance::Taken,
                token_id: 3,
                ..
            }
        )));
    }
}

#[test]
fn a_leader_merges_and_keeps_the_larger_id() {
    for (given, left) in [(3, 5), (9, 9)] {
        let mut rig = Rig::leader(5);
        let stream = rig.receive_token(2, given, &list(), b"1");
        assert_eq!((rig.state(), rig.token()), (State::Leader, left));
        assert_eq!(rig.fate(stream), Fate::Closed);
        assert_eq!(rig.machine.counters().merged, 1);
    }
}

/// Returns a node that passed the token with id 5 to node 2.
fn gave() -> Rig {
    let (mut rig, stream) = Rig::giver();
    rig.acknowledge(stream);
    rig.clear_output();
    rig
}

#[test]
fn a_token_weaker_than_one_given_away_of_late_is_absorbed() {
    let mut rig = gave();
    rig.run(ms(1000));
    let due = rig.due();
    let stream = rig.receive_token(3, 4, &[node(3)], b"");
    assert_eq!((rig.state(), rig.token()), (State::Waiter, 5));
    assert_eq!(
        rig.fate(stream),
        Fate::Closed,
        "the giver gets its acknowledgement"
    );
    assert_eq!(rig.due(), due, "the timers stay the same");
    assert_eq!(rig.machine.counters().absorbed, 1);
    assert_eq!(rig.machine.snapshot().to_add, [node(3)]);
}

#[test]
fn an_orphan_also_absorbs_and_continues_its_restore() {
    let mut rig = gave();
    rig.run(ms(1999));
    rig.receive_token(2, 6, &[1, 2].map(node), b"9");
    let (stream, _) = rig.next_candidate();
    rig.accept_pass(stream);
    rig.receive_end(stream, &[]);
    assert_eq!(rig.state(), State::Waiter);
    rig.run(ms(1990));
    assert_eq!(rig.state(), State::Waiter);
    rig.machine.force_orphan();
    rig.drain();
    rig.receive_token(3, 4, &[node(3)], b"");
    assert_eq!((rig.state(), rig.token()), (State::Orphan, 6));
    assert_eq!(rig.machine.counters().absorbed, 1);
}

#[test]
fn a_token_equal_to_the_one_given_away_is_taken_and_replaces_it() {
    let mut rig = gave();
    rig.receive_token(2, 5, &[1, 2].map(node), b"9");
    assert_eq!((rig.state(), rig.token()), (State::Leader, 5));
    rig.machine.force_orphan();
    rig.drain();
    rig.receive_token(3, 4, &[node(3)], b"");
    assert_eq!((rig.state(), rig.token()), (State::Leader, 4));
}

#[test]
fn after_renew_timeout_a_token_given_away_no_longer_counts() {
    let mut rig = gave();
    rig.run(ms(1999));
    rig.machine.force_waiter();
    rig.drain();
    rig.run(ms(1));
    rig.receive_token(3, 4, &[node(3)], b"");
    assert_eq!((rig.state(), rig.token()), (State::Leader, 4));
}

#[test]
fn a_pass_with_unknown_outcome_is_not_a_token_given_away() {
    let (mut rig, stream) = Rig::giver();
    rig.accept_pass(stream);
    rig.close_by_kernel(stream, CloseReason::Reset);
    assert_eq!(rig.state(), State::Orphan);
    rig.receive_token(3, 4, &[node(3)], b"");
    assert_eq!((rig.state(), rig.token()), (State::Leader, 4));
}

#[test]
fn a_passing_leader_gives_way_to_a_larger_pair_of_id_and_address() {
    // The pair (id, address) of the giver is compared with (5, 10.0.0.1).
    for (given, from, gives_way) in [(6, 3, true), (5, 3, true), (4, 3, false)] {
        let (mut rig, stream) = Rig::giver();
        rig.open_by_kernel(stream);
        let inbound = rig.offer(from, given, 7);
        let answered = rig.take_written(inbound) == TP2;
        assert_eq!(answered, gives_way, "{given} of {from}");
        let fate = if gives_way { Fate::Reset } else { Fate::Open };
        assert_eq!(rig.fate(stream), fate);
        assert_eq!(rig.machine.counters().passes_aborted, u64::from(gives_way));
    }
    // Here the node's own address is the larger address.
    let mut rig = Rig::leader(5);
    rig.link(NetworkState::Up(network(200)));
    rig.add_node(2);
    let (stream, _) = rig.next_candidate();
    let inbound = rig.offer(3, 5, 7);
    assert_eq!(
        (rig.take_written(inbound), rig.fate(stream)),
        (vec![], Fate::Open)
    );
}

#[test]
fn a_leader_yields_before_the_first_byte_of_tp5() {
    let (mut rig, stream) = Rig::giver();
    rig.open_by_kernel(stream);
    // The kernel accepts no byte of TP4, which comes before TP5.
    rig.room = 0;
    rig.receive(stream, TP2);
    rig.room = 1;
    let inbound = rig.offer(3, 6, 7);
    assert_eq!(rig.take_written(inbound), TP2);
    assert_eq!(rig.fate(stream), Fate::Reset);
}

#[test]
fn a_leader_never_yields_after_the_first_byte_of_tp5() {
    let (mut rig, stream) = Rig::giver();
    rig.accept_pass(stream);
    let inbound = rig.offer(3, 6, 7);
    assert_eq!(rig.take_written(inbound), []);
    assert_eq!(rig.fate(stream), Fate::Finished);
}

#[test]
fn after_yielding_the_leader_continues_with_step_4() {
    let (mut rig, stream) = Rig::giver();
    rig.open_by_kernel(stream);
    let inbound = rig.offer(3, 6, hash(&[node(3)]));
    rig.add_node(4);
    rig.receive(inbound, &tp4(&[node(3)]));
    let computes = rig.machine.counters().computes;
    rig.receive_end(inbound, &tp5(6, b""));
    assert_eq!((rig.state(), rig.token()), (State::Leader, 6));
    let addresses = rig.machine.snapshot().nodes;
    assert_eq!(addresses.len(), 4, "node 4 was applied, node 3 merged");
    assert_eq!(rig.machine.counters().computes, computes);
    assert_eq!(rig.next_candidate().1, 2);
}

#[test]
fn an_offer_that_waits_is_answered_when_the_pass_to_the_one_candidate_has_ended() {
    let (mut rig, stream) = Rig::giver();
    rig.add_node(4);
    let inbound = rig.offer(3, 4, hash(&[node(3)]));
    rig.receive(inbound, &tp4(&[node(3)])[..4]);
    assert_eq!(rig.take_written(inbound), []);
    rig.close_by_kernel(stream, CloseReason::Refused);
    assert_eq!(rig.take_written(inbound), TP2);
    assert!(
        rig.candidate().is_none(),
        "the node does not try the next candidate yet"
    );
    rig.receive(inbound, &tp4(&[node(3)])[4..]);
    rig.receive_end(inbound, &tp5(4, b""));
    assert_eq!(rig.machine.counters().merged, 1);
}

#[test]
fn a_waiter_takes_the_token_that_it_left_waiting_as_a_leader() {
    let (mut rig, stream) = Rig::giver();
    let inbound = rig.offer(3, 4, hash(&[1, 2].map(node)));
    rig.acknowledge(stream);
    assert_eq!(rig.state(), State::Waiter);
    assert_eq!(rig.take_written(inbound), TP3);
    rig.receive_end(inbound, &tp5(4, b""));
    // The node has just passed token 5.
    assert_eq!(rig.machine.counters().absorbed, 1);
}

#[test]
fn an_orphan_takes_the_token_that_it_left_waiting_as_a_leader() {
    let (mut rig, stream) = Rig::giver();
    rig.accept_pass(stream);
    let inbound = rig.offer(3, 4, hash(&[1, 2].map(node)));
    assert_eq!(rig.take_written(inbound), []);
    rig.close_by_kernel(stream, CloseReason::Reset);
    assert_eq!(rig.state(), State::Orphan);
    assert_eq!(rig.take_written(inbound), TP3);
    rig.receive_end(inbound, &tp5(4, b""));
    assert_eq!((rig.state(), rig.token()), (State::Leader, 4));
}

#[test]
fn an_exchange_is_judged_by_the_state_at_its_end() {
    let mut rig = Rig::orphan();
    rig.run(ms(400));
    let inbound = rig.offer(3, 4, hash(&[node(1)]));
    rig.receive_datagram(2, &tr2(1));
    assert_eq!(rig.state(), State::Waiter);
    rig.receive_end(inbound, &tp5(4, b""));
    assert_eq!(rig.machine.counters().taken, 1);
}

#[test]
fn nothing_of_an_exchange_counts_before_its_end() {
    let whole = [tp4(&list()), tp5(9, b"41")].concat();
    for cut in 0..=whole.len() {
        let mut rig = Rig::waiter(5);
        let before = rig.machine.snapshot();
        let stream = rig.offer(2, 9, hash(&list()));
        rig.receive(stream, &whole[..cut]);
        rig.close_by_kernel(stream, CloseReason::Reset);
        assert_eq!(rig.machine.snapshot(), before);
        assert_eq!(rig.machine.data(), b"");
        assert_eq!(rig.drop_count(Reason::Reset), 1);
    }
}

#[test]
fn a_stream_may_be_cut_anywhere() {
    let whole = [tp1(9, hash(&list())), tp4(&list()), tp5(9, b"41")].concat();
    for cut in 1..whole.len() {
        let mut rig = Rig::waiter(5);
        let stream = rig.accept(2);
        rig.receive(stream, &whole[..cut]);
        rig.receive_end(stream, &whole[cut..]);
        assert_eq!(rig.machine.data(), b"42", "cut at {cut}");
    }
    let mut rig = Rig::waiter(5);
    let stream = rig.accept(2);
    for byte in &whole {
        rig.receive(stream, &[*byte]);
    }
    rig.receive_end(stream, &[]);
    assert_eq!(rig.machine.data(), b"42");
}

#[test]
fn a_token_later_than_token_pass_timeout_after_accept_is_dropped() {
    for (after, taken) in [(499, true), (500, false)] {
        let mut rig = Rig::waiter(5);
        let stream = rig.offer(2, 9, hash(&[node(1)]));
        // No timeout is handled, because the process stalls.
        rig.stall(ms(after));
        rig.receive_end(stream, &tp5(9, b"7"));
        assert_eq!(rig.state() == State::Leader, taken);
        assert_eq!(rig.fate(stream) == Fate::Closed, taken);
        assert_eq!(rig.drop_count(Reason::Late), u64::from(!taken));
    }
}

#[test]
fn an_exchange_ends_token_pass_timeout_after_accept_with_any_portions() {
    let mut rig = Rig::waiter(5);
    let stream = rig.accept(2);
    rig.run(ms(400));
    rig.receive(stream, &tp1(9, hash(&[node(1)])));
    rig.run(ms(99));
    assert_eq!(rig.fate(stream), Fate::Open);
    rig.run(ms(1));
    assert_eq!(rig.fate(stream), Fate::Reset);
}

#[test]
fn nothing_restarts_a_waiters_timer() {
    let mut rig = Rig::waiter(5);
    rig.run(ms(1000));
    rig.receive_tr1(2, 9);
    rig.receive_tr1(2, -9);
    rig.offer(2, 9, 1);
    rig.run(ms(999));
    assert_eq!(rig.state(), State::Waiter);
    rig.run(ms(1));
    assert_eq!(rig.state(), State::Orphan);
}

#[test]
fn one_connection_an_address_a_new_one_resets_the_older() {
    let mut rig = Rig::waiter(5);
    let first = rig.offer(2, 9, 1);
    let other = rig.accept(3);
    let second = rig.accept(2);
    assert_eq!(rig.fate(first), Fate::Reset);
    assert_eq!(
        (rig.fate(other), rig.fate(second)),
        (Fate::Open, Fate::Open)
    );
    assert_eq!(rig.drop_count(Reason::TooMany), 1);
}

#[test]
fn a_seventeenth_connection_resets_the_oldest_without_tp1_or_itself() {
    let mut rig = Rig::waiter(5);
    let streams: Vec<_> = (2..18)
        .map(|from| {
            rig.run(ms(1));
            rig.accept(from)
        })
        .collect();
    rig.receive(streams[0], &tp1(9, 1));
    let new = rig.accept(30);
    assert_eq!(
        (rig.fate(streams[0]), rig.fate(streams[1])),
        (Fate::Open, Fate::Reset)
    );
    assert_eq!(rig.fate(new), Fate::Open);
    for stream in streams[2..].iter().chain([&new]) {
        rig.receive(*stream, &tp1(9, 1));
    }
    let last = rig.accept(31);
    assert_eq!(rig.fate(last), Fate::Reset);
    assert_eq!(rig.drop_count(Reason::TooMany), 2);
}
