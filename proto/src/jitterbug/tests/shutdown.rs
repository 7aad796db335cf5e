//! Shutdown (`docs/jitterbug/protocol/leader.md` H1 to H6).

use super::prelude::*;

/// Returns a leader that shuts down and knows node 2.
fn leaving() -> Rig {
    let mut rig = Rig::leader_of(2);
    rig.command(Command::ShutDown);
    rig
}

/// Refuses every candidate for this many milliseconds.
fn refuse_for(rig: &mut Rig, millis: u64) {
    for _ in 0..millis / 10 {
        if let Some((stream, _)) = rig.candidate() {
            rig.close_by_kernel(stream, CloseReason::Refused);
        }
        rig.run(ms(10));
    }
}

#[test]
fn a_waiter_and_an_orphan_end_at_once() {
    for mut rig in [Rig::waiter(5), Rig::orphan()] {
        let stream = rig.offer(2, 9, 7);
        rig.command(Command::ShutDown);
        assert!(rig.machine.is_finished());
        assert_eq!(rig.fate(stream), Fate::Reset);
        assert!(rig.take_events().contains(&Event::ShutDown));
    }
}

#[test]
fn a_leader_leaves_the_hold_out_and_passes() {
    let mut rig = Rig::leader_of(2);
    rig.command(Command::Work(true));
    rig.command(Command::ShutDown);
    let (stream, _) = rig.candidate().expect("it passes");
    rig.acknowledge(stream);
    assert!(rig.machine.is_finished());
    assert_eq!(rig.fate(stream), Fate::Closed);
}

#[test]
fn a_leader_kills_a_running_program() {
    let mut rig = Rig::leader_with(computing(), 5);
    rig.add_node(2);
    rig.running_job();
    rig.command(Command::ShutDown);
    assert_eq!(rig.jobs, [JobRequest::Cancel]);
    assert!(rig.candidate().is_some());
}

/// Returns a leader with data `1` that shuts down while a program decides about `7`. The data `7` came with a merged
/// token.
fn leaving_undecided() -> (Rig, u64) {
    let mut rig = Rig::leader_with(deciding(), 5);
    rig.receive_token(2, 4, &[1, 2].map(node), b"7");
    let job = rig.running_job();
    rig.command(Command::ShutDown);
    (rig, job.id)
}

#[test]
fn a_shutdown_waits_for_a_running_decision() {
    for (received, data) in [(true, b"7"), (false, b"1")] {
        let (mut rig, job) = leaving_undecided();
        assert_eq!(rig.jobs, [], "the decision goes on");
        rig.run(ms(499));
        assert!(rig.candidate().is_none());
        rig.answer_job(job, Outcome::Decided { received });
        assert_eq!(rig.machine.data(), data, "the node does not compute");
        assert!(rig.candidate().is_some());
    }
}

#[test]
fn a_decision_that_takes_longer_than_a_pass_may_leaves_the_data_as_it_is() {
    let (mut rig, job) = leaving_undecided();
    rig.run(ms(500));
    let (stream, _) = rig.candidate().expect("the token goes on");
    assert_eq!(rig.machine.data(), b"1");
    rig.acknowledge(stream);
    assert!(rig.machine.is_finished());
    assert_eq!(rig.jobs, [JobRequest::Cancel]);
    rig.answer_job(job, Outcome::Decided { received: true });
    assert_eq!(rig.machine.data(), b"1");
}

#[test]
fn a_waiter_that_ends_guesses_nothing_either() {
    let (mut rig, stream) = Rig::giver_with(deciding());
    rig.acknowledge(stream);
    rig.receive_token(2, 4, &[1, 2].map(node), b"0");
    rig.running_job();
    rig.command(Command::ShutDown);
    assert!(rig.machine.is_finished());
    assert_eq!(rig.machine.data(), b"1");
}

#[test]
fn data_that_waits_behind_a_computation_is_decided_about_and_does_not_go_back() {
    let mut rig = Rig::leader_with(computing(), 5);
    let job = rig.running_job();
    let next = Outcome::Computed(b"9".to_vec().into());
    rig.answer_job(job.id, next);
    rig.run(ms(200));
    rig.running_job();
    rig.receive_token(2, 4, &[1, 2].map(node), b"7");
    rig.command(Command::ShutDown);
    assert_eq!(rig.machine.data(), b"9", "the greater of the two");
}

#[test]
fn nothing_that_it_would_say_outlives_it() {
    let mut rig = Rig::leader(5);
    rig.run(ms(700));
    // Its announcement is due, and no other node can take the token.
    rig.stall(ms(400));
    rig.command(Command::ShutDown);
    assert!(rig.machine.is_finished());
    assert_eq!(rig.take_datagrams(), []);
}

#[test]
fn penalties_are_ignored() {
    let mut rig = Rig::leader_of(2);
    rig.refuse_next();
    rig.command(Command::ShutDown);
    rig.run(ms(10));
    assert!(
        rig.candidate().is_some(),
        "the node tries a candidate with a penalty"
    );
}

#[test]
fn it_ends_with_a_pass_that_is_unknown() {
    let mut rig = leaving();
    let (stream, _) = rig.candidate().expect("it passes");
    rig.accept_pass(stream);
    rig.clear_output();
    rig.close_by_kernel(stream, CloseReason::Reset);
    assert!(rig.machine.is_finished());
    assert_eq!(rig.take_datagrams(), [], "the node begins no restore");
}

#[test]
fn it_ends_after_two_token_pass_timeouts() {
    let mut rig = leaving();
    refuse_for(&mut rig, 500);
    let (stream, _) = rig.candidate().expect("it goes on trying");
    rig.run(ms(499));
    assert!(!rig.machine.is_finished());
    rig.run(ms(1));
    assert!(rig.machine.is_finished());
    assert_eq!(rig.fate(stream), Fate::Reset);
    assert_eq!(rig.due(), None);
}

#[test]
fn a_pass_without_time_left_can_have_given_the_token_away() {
    for is_given in [false, true] {
        let mut rig = leaving();
        refuse_for(&mut rig, 600);
        let (stream, _) = rig.candidate().expect("it goes on trying");
        rig.open_by_kernel(stream);
        if is_given {
            rig.receive(stream, TP3);
        }
        rig.clear_output();
        rig.run(ms(400));
        assert!(rig.machine.is_finished());
        assert_eq!(rig.fate(stream), Fate::Reset);
        let counters = rig.machine.counters();
        let unknown = u64::from(is_given);
        assert_eq!(
            (counters.passes_unknown, counters.passes_aborted),
            (unknown, 0)
        );
        let ends = rig
            .take_events()
            .into_iter()
            .filter(|it| *it == Event::ShutDown);
        assert_eq!(ends.count(), 1);
        assert_eq!(rig.take_datagrams(), []);
    }
}

#[test]
fn a_leader_without_other_nodes_ends_at_once() {
    let mut rig = Rig::leader(5);
    rig.command(Command::ShutDown);
    assert!(rig.machine.is_finished());
    assert_eq!(rig.state(), State::Leader);
    assert!(!rig.machine.may_use_token());
}

#[test]
fn a_running_pass_continues() {
    let (mut rig, stream) = Rig::giver();
    rig.command(Command::ShutDown);
    rig.acknowledge(stream);
    assert!(rig.machine.is_finished());
    assert_eq!(rig.machine.counters().passes_done, 1);
}

#[test]
fn an_ended_node_sends_and_accepts_nothing() {
    let mut rig = Rig::waiter(5);
    rig.command(Command::ShutDown);
    rig.clear_output();
    rig.receive_tr1(2, -1);
    let stream = rig.offer(2, 9, hash(&[node(1)]));
    assert_eq!(rig.take_datagrams(), []);
    assert_eq!(rig.take_written(stream), []);
    rig.command(Command::ShutDown);
    rig.run(ms(10_000));
    assert_eq!(rig.take_datagrams(), []);
}
