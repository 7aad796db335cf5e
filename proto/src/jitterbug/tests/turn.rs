//! The turn of a leader (`docs/jitterbug/protocol/leader.md` L1 to L14).

use super::prelude::*;

#[test]
fn the_token_is_held_for_the_hold_and_then_passed() {
    let mut rig = Rig::leader_of(2);
    rig.run(ms(99));
    assert!(rig.candidate().is_none() && rig.machine.may_use_token());
    rig.run(ms(1));
    assert!(rig.candidate().is_some());
    assert!(
        !rig.machine.may_use_token(),
        "the giver no longer uses the token"
    );
    assert_eq!(rig.state(), State::Leader, "other nodes still see a leader");
}

#[test]
fn a_round_stays_below_renew_timeout_in_rings_of_any_size() {
    let mut rig = Rig::waiter(5);
    let many: Vec<_> = (2..=101).map(node).collect();
    rig.receive_token(2, 9, &many, b"1");
    // This is 2 s divided by 2 × 101 entries.
    rig.run(ms(9));
    assert!(rig.candidate().is_none());
    rig.run(ms(1));
    assert!(rig.candidate().is_some());
}

#[test]
fn after_an_unsuccessful_turn_the_token_is_held_for_ten_milliseconds_or_longer() {
    let mut rig = Rig::leader_with(holding(ms(0)), 5);
    let computes = rig.machine.counters().computes;
    rig.run(ms(1000));
    assert_eq!(rig.machine.counters().computes - computes, 100);
}

#[test]
fn local_work_keeps_the_token_as_long_as_it_has_it() {
    let mut rig = Rig::leader_of(2);
    rig.command(Command::Work(true));
    rig.run(ms(5000));
    assert!(rig.candidate().is_none() && rig.machine.may_use_token());
    rig.command(Command::Work(false));
    assert!(rig.candidate().is_some());
}

#[test]
fn a_leader_asked_to_yield_skips_the_rest_of_the_hold() {
    let mut rig = Rig::leader_of(2);
    rig.command(Command::Yield);
    assert!(rig.candidate().is_some());
    let mut rig = Rig::leader_of(2);
    rig.command(Command::Work(true));
    rig.command(Command::Yield);
    assert!(rig.candidate().is_none(), "local work keeps the token");
}

#[test]
fn observers_learn_whether_local_work_may_use_the_token() {
    let mut rig = Rig::orphan();
    rig.run(ms(600));
    let may_use = true;
    assert!(rig.take_events().contains(&Event::UseChanged { may_use }));
    rig.add_node(2);
    rig.next_candidate();
    let may_use = false;
    assert!(rig.take_events().contains(&Event::UseChanged { may_use }));
}

#[test]
fn nodes_to_be_added_are_in_the_list_before_the_pass() {
    let mut rig = Rig::leader_of(2);
    let before = rig.machine.snapshot();
    assert_eq!((before.nodes.len(), before.to_add), (1, vec![node(2)]));
    rig.next_candidate();
    let after = rig.machine.snapshot();
    assert_eq!((after.nodes.len(), after.to_add), (2, vec![]));
    assert_eq!(after.node_list_hash, hash(&[node(1), node(2)]));
}

#[test]
fn data_is_computed_once_per_turn_with_any_number_of_candidates() {
    let mut rig = Rig::leader_of(5);
    let before = rig.machine.data().to_vec();
    for _ in 0..4 {
        let (stream, _) = rig.next_candidate();
        assert_eq!(rig.machine.data(), before);
        rig.close_by_kernel(stream, CloseReason::Refused);
    }
    assert_eq!(rig.machine.data(), b"2", "the next turn");
}

#[test]
fn if_all_fail_or_are_skipped_the_node_stays_leader_and_has_another_turn() {
    let (mut rig, stream) = Rig::giver();
    let turn = rig.machine.turn();
    rig.close_by_kernel(stream, CloseReason::Refused);
    assert_eq!(rig.state(), State::Leader);
    assert!(rig.machine.may_use_token());
    assert_eq!(rig.machine.turn(), turn + 1);
    // In this turn the only other node is skipped.
    rig.run(ms(100));
    assert!(rig.candidate().is_none());
    assert_eq!((rig.state(), rig.machine.turn()), (State::Leader, turn + 2));
    assert!(rig.machine.may_use_token());
}

#[test]
fn a_turn_ends_with_a_pass_that_is_done_or_unknown() {
    let (mut rig, stream) = Rig::giver();
    rig.acknowledge(stream);
    assert_eq!(rig.state(), State::Waiter);
    rig.run(ms(1999));
    assert_eq!(rig.state(), State::Waiter);
    rig.run(ms(1));
    assert_eq!(
        rig.state(),
        State::Orphan,
        "renew_timeout has started with the pass"
    );
    let mut rig = Rig::leader_of(3);
    let (stream, _) = rig.next_candidate();
    rig.accept_pass(stream);
    rig.close_by_kernel(stream, CloseReason::Reset);
    assert_eq!(rig.state(), State::Orphan);
    assert!(
        rig.candidate().is_none(),
        "the node tries no other candidate"
    );
}

#[test]
fn a_stronger_rival_ends_the_hold_at_once() {
    let mut rig = Rig::leader(5);
    rig.receive_datagram(2, &tr1(6, 7002));
    let (_, peer) = rig.candidate().expect("the pass has begun");
    assert_eq!(peer.ip(), host(2));
    let mut rig = Rig::leader(5);
    rig.command(Command::Work(true));
    rig.receive_datagram(2, &tr1(6, 7002));
    assert!(
        rig.candidate().is_some(),
        "local work does not keep the token"
    );
}

#[test]
fn a_weaker_or_equal_rival_ends_nothing() {
    for heard in [4, 5] {
        let mut rig = Rig::leader(5);
        rig.receive_datagram(2, &tr1(heard, 7002));
        assert!(rig.candidate().is_none());
    }
}

#[test]
fn a_stronger_rival_kills_a_running_computation_whose_result_is_dropped() {
    let mut rig = Rig::leader_with(computing(), 5);
    let job = rig.running_job();
    assert!(matches!(job.work, Work::Compute(_)));
    rig.receive_datagram(2, &tr1(6, 7002));
    assert_eq!(rig.jobs, [JobRequest::Cancel]);
    assert!(rig.candidate().is_some());
    rig.answer_job(job.id, Outcome::Computed(b"7".to_vec().into()));
    assert_eq!(rig.machine.data(), b"");
}

/// Checks that a leader gives its token to a stronger leader at once, even if a command needs ten seconds for a
/// decision.
#[test]
fn a_stronger_rival_ends_step_1_but_not_the_decision() {
    let (mut rig, stream) = Rig::giver_with(deciding());
    rig.acknowledge(stream);
    rig.receive_token(2, 5, &[1, 2].map(node), b"7");
    let job = rig.running_job();
    assert!(rig.candidate().is_none());
    rig.receive_datagram(3, &tr1(6, 7003));
    let (_, peer) = rig.candidate().expect("the pass has begun");
    assert_eq!(peer.ip(), host(3));
    assert_eq!(rig.jobs, [], "the node cancels no job");
    let received = true;
    rig.answer_job(job.id, Outcome::Decided { received });
    assert_eq!(rig.machine.data(), b"7");
}

#[test]
fn the_hold_is_counted_from_the_beginning_of_the_turn() {
    let mut rig = Rig::leader_with(computing(), 5);
    rig.add_node(2);
    let job = rig.running_job();
    rig.run(ms(80));
    rig.answer_job(job.id, Outcome::Computed(b"7".to_vec().into()));
    rig.run(ms(19));
    assert!(rig.candidate().is_none());
    rig.run(ms(1));
    assert!(rig.candidate().is_some());
}

#[test]
fn an_inbound_exchange_with_an_answered_tp1_delays_a_pass() {
    let mut rig = Rig::leader_of(2);
    rig.run(ms(50));
    let inbound = rig.offer(3, 4, 77);
    rig.run(ms(499));
    assert!(rig.candidate().is_none());
    assert_eq!(rig.fate(inbound), Fate::Open);
    rig.run(ms(1));
    assert_eq!(rig.fate(inbound), Fate::Reset);
    assert!(rig.candidate().is_some());
}

#[test]
fn a_delayed_pass_starts_when_the_exchange_ends() {
    let mut rig = Rig::leader_of(2);
    rig.run(ms(50));
    let inbound = rig.offer(3, 4, hash(&[node(3)]));
    rig.run(ms(200));
    assert!(rig.candidate().is_none());
    rig.receive(inbound, &tp4(&[node(3)]));
    rig.receive_end(inbound, &tp5(4, b""));
    assert_eq!(rig.fate(inbound), Fate::Closed);
    assert!(rig.candidate().is_some());
    assert_eq!(rig.machine.snapshot().nodes.len(), 3);
}

#[test]
fn a_connection_without_tp1_delays_no_pass() {
    let mut rig = Rig::leader_of(2);
    rig.accept(3);
    rig.run(ms(100));
    assert!(rig.candidate().is_some());
}

#[test]
fn an_arriving_token_starts_a_turn() {
    let mut rig = Rig::waiter(5);
    rig.receive_token(2, 9, &[node(2)], b"41");
    assert_eq!(rig.machine.data(), b"42", "decided, then computed");
    assert_eq!(rig.token(), 9);
    rig.run(ms(100));
    assert!(rig.candidate().is_some());
}

#[test]
fn each_turn_has_its_own_number() {
    let mut rig = Rig::leader_with(deciding(), 5);
    let turn = rig.machine.turn();
    rig.receive_token(2, 4, &[1, 2].map(node), b"41");
    let job = rig.running_job();
    rig.answer_job(job.id, Outcome::Decided { received: true });
    assert_eq!(rig.machine.data(), b"42", "the node has computed again");
    assert_eq!(rig.machine.turn(), turn);
    rig.pass();
    assert_eq!(rig.machine.turn(), turn);
    // The next turn begins with a decision that takes time.
    rig.receive_token(2, 5, &[1, 2].map(node), b"43");
    rig.running_job();
    assert!(rig.machine.may_use_token());
    assert_eq!(rig.machine.turn(), turn + 1);
}
