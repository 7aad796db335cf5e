//! Data (`docs/jitterbug/protocol/data.md`).

use super::prelude::*;

#[test]
fn the_default_computation_is_a_decimal_counter_of_any_length() {
    let next = |data: &[u8]| policy::counter(data);
    assert_eq!(next(b"").unwrap(), b"1");
    assert_eq!(next(b"0").unwrap(), b"1");
    assert_eq!(next(b"41").unwrap(), b"42");
    assert_eq!(next(b"099").unwrap(), b"100");
    let nines = vec![b'9'; 50];
    let mut hundred = vec![b'0'; 51];
    hundred[0] = b'1';
    assert_eq!(next(&nines).unwrap(), hundred);
    for none in [&b"x"[..], b"4 2", b"-1", b"1\n", b"\xff"] {
        assert_eq!(next(none), None);
    }
}

#[test]
fn greater_is_more_bytes_then_the_bytewise_larger() {
    assert!(policy::greater(b"10", b"9") && !policy::greater(b"9", b"10"));
    assert!(policy::greater(b"8", b"7") && !policy::greater(b"7", b"8"));
    assert!(policy::greater(b"\xff", b"\x7f"));
}

#[test]
fn longer_is_more_bytes_and_of_equal_length_the_received() {
    assert!(policy::longer(b"10", b"9") && !policy::longer(b"9", b"10"));
    assert!(policy::longer(b"7", b"8"));
}

/// Returns a leader with the computed data `8` that is deciding about the data `3`, and the id of the deciding job. The
/// data `3` came in a merge.
fn leader_that_decides() -> (Rig, u64) {
    let mut rig = Rig::waiter_with(deciding());
    rig.receive_token(2, 9, &[node(2)], b"8");
    assert_eq!(rig.machine.data(), b"9");
    rig.receive_token(2, 8, &[1, 2].map(node), b"3");
    let job = rig.running_job();
    let work = Work::Decide {
        received: b"3".to_vec().into(),
        own: b"9".to_vec().into(),
    };
    assert_eq!(job.work, work);
    (rig, job.id)
}

#[test]
fn no_decision_runs_for_equal_data_or_without_local_data() {
    let mut rig = Rig::waiter_with(deciding());
    rig.receive_token(2, 9, &[node(2)], b"8");
    rig.receive_token(2, 8, &[1, 2].map(node), b"9");
    assert!(rig.jobs.is_empty());
    assert_eq!(rig.machine.counters().decisions, 0);
    assert_eq!(rig.machine.data(), b"9");
}

#[test]
fn a_decision_runs_for_empty_received_data() {
    let mut rig = Rig::waiter_with(deciding());
    rig.receive_token(2, 9, &[node(2)], b"8");
    rig.receive_token(2, 8, &[1, 2].map(node), b"");
    assert!(matches!(rig.running_job().work, Work::Decide { .. }));
}

#[test]
fn exit_0_selects_the_received_data_and_1_the_local_data() {
    let (mut rig, job) = leader_that_decides();
    rig.answer_job(job, Outcome::Decided { received: true });
    assert_eq!(rig.machine.data(), b"4", "3, and computed");
    let (mut rig, job) = leader_that_decides();
    rig.answer_job(job, Outcome::Decided { received: false });
    assert_eq!(rig.machine.data(), b"9");
}

#[test]
fn other_results_and_timeouts_are_counted_and_the_received_data_continues() {
    let (mut rig, job) = leader_that_decides();
    rig.answer_job(job, Outcome::Failed);
    assert_eq!(rig.machine.data(), b"4");
    assert_eq!(rig.machine.counters().decide_failures, 1);
    let (mut rig, job) = leader_that_decides();
    rig.add_node(2);
    rig.machine.set_work(true);
    rig.run(ms(9999));
    assert_eq!(rig.machine.data(), b"9");
    rig.run(ms(1));
    assert_eq!(rig.machine.data(), b"4");
    assert_eq!(rig.jobs, [JobRequest::Cancel]);
    assert_eq!(rig.machine.counters().decide_failures, 1);
    rig.answer_job(job, Outcome::Decided { received: false });
    assert_eq!(rig.machine.data(), b"4", "the outcome is too late");
}

#[test]
fn decisions_are_made_one_at_a_time_in_order_of_arrival() {
    let (mut rig, first) = leader_that_decides();
    rig.receive_token(2, 7, &[1, 2].map(node), b"4");
    assert!(rig.jobs.is_empty());
    rig.answer_job(first, Outcome::Decided { received: false });
    let second = rig.running_job();
    let Work::Decide { received, .. } = second.work else {
        panic!("a decision");
    };
    assert_eq!(*received, *b"4");
}

#[test]
fn at_most_sixteen_wait_and_more_are_counted_and_dropped() {
    let (mut rig, _) = leader_that_decides();
    for data in 0..18_u8 {
        let stream = rig.receive_token(2, 7, &[1, 2].map(node), &[data]);
        assert_eq!(
            rig.fate(stream),
            Fate::Closed,
            "the token is merged although its data was dropped"
        );
    }
    assert_eq!(rig.machine.counters().decide_failures, 2);
    let dropped = rig
        .take_events()
        .iter()
        .filter(|it| **it == Event::DataDropped)
        .count();
    assert_eq!(dropped, 2);
}

#[test]
fn a_waiter_decides_too() {
    let mut rig = Rig::waiter_with(deciding());
    rig.receive_token(2, 9, &[1, 2].map(node), b"8");
    rig.pass();
    assert_eq!(rig.state(), State::Waiter);
    rig.receive_token(2, 3, &[1, 2].map(node), b"10");
    assert_eq!(rig.machine.counters().absorbed, 1);
    let job = rig.running_job();
    rig.answer_job(job.id, Outcome::Decided { received: true });
    assert_eq!(rig.machine.data(), b"10", "the node does not compute");
}

#[test]
fn step_1_waits_for_the_decision_of_the_token_that_was_taken() {
    let mut rig = Rig::waiter_with(deciding());
    rig.receive_token(2, 9, &[1, 2].map(node), b"8");
    rig.pass();
    rig.receive_token(2, 9, &[1, 2].map(node), b"20");
    let job = rig.running_job();
    rig.run(ms(1000));
    assert!(rig.candidate().is_none(), "the node decides first");
    assert!(rig.machine.may_use_token());
    rig.answer_job(job.id, Outcome::Decided { received: true });
    assert_eq!(rig.machine.data(), b"21");
    assert!(rig.candidate().is_some(), "the hold was over");
}

#[test]
fn a_leader_computes_again_after_a_merge_changed_its_data() {
    let mut rig = Rig::leader(5);
    rig.receive_token(2, 4, &[node(2)], b"41");
    assert_eq!(rig.machine.data(), b"42");
    let computes = rig.machine.counters().computes;
    rig.receive_token(2, 4, &[node(2)], b"3");
    assert_eq!(rig.machine.data(), b"42");
    assert_eq!(
        rig.machine.counters().computes,
        computes,
        "nothing has changed"
    );
}

#[test]
fn between_two_candidates_as_well() {
    let mut rig = Rig::leader_of(3);
    let (stream, _) = rig.next_candidate();
    let inbound = rig.offer(4, 4, hash(&[1, 2, 3].map(node)));
    rig.close_by_kernel(stream, CloseReason::Refused);
    rig.receive_end(inbound, &tp5(4, b"41"));
    assert_eq!(rig.machine.data(), b"42");
    assert_eq!(rig.next_candidate().1, 3);
}

/// Returns options with a computing program and at most four bytes of data.
fn short() -> Options {
    Options {
        max_data: 4,
        ..computing()
    }
}

#[test]
fn a_failed_computation_keeps_the_data_and_the_turn_continues() {
    let outcomes = [
        Outcome::Failed,
        Outcome::Computed(b"12345".to_vec().into()),
        Outcome::Decided { received: true },
    ];
    for outcome in outcomes {
        let mut rig = Rig::leader_with(short(), 5);
        rig.add_node(2);
        let job = rig.running_job();
        rig.run(ms(200));
        assert!(
            rig.candidate().is_none(),
            "the turn waits for the computation"
        );
        rig.answer_job(job.id, outcome);
        assert_eq!(rig.machine.data(), b"");
        assert_eq!(rig.machine.counters().compute_failures, 1);
        assert!(rig.candidate().is_some());
    }
    let mut rig = Rig::leader_with(Options::default(), 5);
    rig.receive_token(2, 4, &[node(2)], b"no number");
    assert_eq!(rig.machine.data(), b"no number");
    assert_eq!(rig.machine.counters().compute_failures, 1);
}

#[test]
fn a_computation_may_give_max_data_bytes() {
    let mut rig = Rig::leader_with(short(), 5);
    let job = rig.running_job();
    rig.answer_job(job.id, Outcome::Computed(b"1234".to_vec().into()));
    assert_eq!(rig.machine.data(), b"1234");
}

#[test]
fn a_computation_that_hangs_holds_the_token_for_compute_timeout_at_most() {
    let mut rig = Rig::leader_with(computing(), 5);
    rig.add_node(2);
    let job = rig.running_job();
    rig.run(ms(9999));
    assert!(rig.candidate().is_none());
    rig.run(ms(1));
    assert_eq!(rig.jobs, [JobRequest::Cancel]);
    assert_eq!(rig.machine.counters().compute_failures, 1);
    assert!(rig.candidate().is_some());
    rig.answer_job(job.id, Outcome::Computed(b"1".to_vec().into()));
    assert_eq!(rig.machine.data(), b"", "the outcome is too late");
}

#[test]
fn a_computation_ends_with_its_turn() {
    let mut rig = Rig::leader_with(computing(), 5);
    let lost = rig.running_job();
    rig.stall(ms(600));
    rig.fire_timeout();
    assert_eq!(rig.state(), State::Orphan);
    assert_eq!(rig.jobs, [JobRequest::Cancel]);
    rig.jobs.clear();
    rig.run(rig.options().restore_duration());
    assert_eq!(rig.state(), State::Leader);
    let next = rig.running_job();
    rig.answer_job(lost.id, Outcome::Computed(b"1".to_vec().into()));
    assert_eq!(
        rig.machine.data(),
        b"",
        "the result of an abandoned job counted"
    );
    rig.answer_job(next.id, Outcome::Computed(b"2".to_vec().into()));
    assert_eq!(rig.machine.data(), b"2");
}

#[test]
fn tr1_is_answered_while_something_is_computed_or_decided() {
    let computes = Rig::leader_with(computing(), 5);
    let mut decides = Rig::waiter_with(deciding());
    decides.receive_token(2, 9, &[1, 2].map(node), b"8");
    decides.pass();
    decides.receive_token(2, 9, &[1, 2].map(node), b"20");
    for mut rig in [computes, decides] {
        rig.running_job();
        rig.run(ms(700));
        rig.clear_output();
        rig.receive_tr1(2, -1);
        assert_eq!(rig.take_datagrams().len(), 1);
        assert!(rig.candidate().is_none());
    }
}

#[test]
fn data_and_token_id_are_decided_apart() {
    // Ring 9 has data 5, and ring 3 has data 7. The two tokens meet in a node of ring 3.
    let mut rig = Rig::leader(3);
    rig.receive_token(2, 3, &[node(2)], b"6");
    assert_eq!(rig.machine.data(), b"7");
    rig.receive_token(2, 9, &[1, 2].map(node), b"5");
    assert_eq!((rig.token(), rig.machine.data()), (9, &b"7"[..]));
}
