//! The giver's side of a pass (`docs/jitterbug/protocol/passing.md` P1 to P11).

use super::prelude::*;

fn giver_after_offer() -> (Rig, StreamId) {
    let (mut rig, stream) = Rig::giver();
    rig.open_by_kernel(stream);
    (rig, stream)
}

fn giver_after_token() -> (Rig, StreamId) {
    let (mut rig, stream) = giver_after_offer();
    rig.receive(stream, TP3);
    (rig, stream)
}

fn pass_counts(rig: &Rig) -> [u64; 4] {
    let it = rig.machine.counters();
    [
        it.passes_done,
        it.passes_failed,
        it.passes_unknown,
        it.passes_aborted,
    ]
}

const DONE: [u64; 4] = [1, 0, 0, 0];
const FAILED: [u64; 4] = [0, 1, 0, 0];
const UNKNOWN: [u64; 4] = [0, 0, 1, 0];

fn assert_failed(rig: &Rig, stream: StreamId) {
    assert_eq!(pass_counts(rig), FAILED);
    assert_eq!(
        rig.state(),
        State::Leader,
        "the node tries the next candidate or has another turn"
    );
    assert!(
        matches!(rig.fate(stream), Fate::Reset | Fate::Gone),
        "a failed pass ends with a reset"
    );
}

fn assert_unknown(rig: &Rig, stream: StreamId) {
    assert_eq!(pass_counts(rig), UNKNOWN);
    assert_eq!(rig.state(), State::Orphan);
    assert!(matches!(rig.fate(stream), Fate::Reset | Fate::Gone));
}

#[test]
fn the_leader_sends_tp1_then_tp5_for_an_equal_list() {
    let (mut rig, stream) = Rig::giver();
    assert_eq!(rig.take_written(stream), []);
    rig.open_by_kernel(stream);
    assert_eq!(rig.take_written(stream), tp1(5, hash(&[1, 2].map(node))));
    rig.receive(stream, TP3);
    assert_eq!(rig.take_written(stream), tp5(5, b"1"));
    assert_eq!(rig.fate(stream), Fate::Finished);
}

#[test]
fn an_end_of_stream_after_the_half_close_is_done() {
    let (mut rig, stream) = giver_after_token();
    rig.receive_end(stream, &[]);
    assert_eq!(pass_counts(&rig), DONE);
    assert_eq!(
        (rig.state(), rig.fate(stream)),
        (State::Waiter, Fate::Closed)
    );
}

#[test]
fn the_end_of_file_before_it_is_failed() {
    let (mut rig, stream) = giver_after_offer();
    rig.receive_end(stream, &[]);
    assert_failed(&rig, stream);
}

#[test]
fn an_answer_with_the_end_of_the_stream_fails() {
    for answer in [TP2, TP3] {
        let (mut rig, stream) = giver_after_offer();
        rig.receive_end(stream, answer);
        assert_failed(&rig, stream);
    }
}

#[test]
fn a_connection_that_does_not_stand_is_failed() {
    for why in [
        CloseReason::Refused,
        CloseReason::Reset,
        CloseReason::TimedOut,
        CloseReason::Failed,
    ] {
        let (mut rig, stream) = Rig::giver();
        rig.close_by_kernel(stream, why);
        assert_failed(&rig, stream);
        let (mut rig, stream) = giver_after_offer();
        rig.close_by_kernel(stream, why);
        assert_failed(&rig, stream);
    }
}

#[test]
fn a_reset_or_any_error_after_the_half_close_is_unknown() {
    for why in [
        CloseReason::Reset,
        CloseReason::TimedOut,
        CloseReason::Failed,
    ] {
        let (mut rig, stream) = giver_after_token();
        rig.close_by_kernel(stream, why);
        assert_unknown(&rig, stream);
    }
}

#[test]
fn time_over_before_the_half_close_is_failed_and_after_it_unknown() {
    let (mut rig, stream) = Rig::giver();
    rig.run(ms(499));
    assert_eq!(pass_counts(&rig), [0; 4]);
    rig.run(ms(1));
    assert_failed(&rig, stream);

    let (mut rig, stream) = giver_after_offer();
    rig.run(ms(500));
    assert_failed(&rig, stream);

    let (mut rig, stream) = giver_after_token();
    rig.run(ms(499));
    assert_eq!(pass_counts(&rig), [0; 4]);
    rig.run(ms(1));
    assert_unknown(&rig, stream);
}

#[test]
fn the_time_is_that_of_the_whole_pass() {
    let (mut rig, stream) = Rig::giver();
    rig.run(ms(300));
    rig.open_by_kernel(stream);
    rig.run(ms(199));
    assert_eq!(pass_counts(&rig), [0; 4]);
    rig.run(ms(1));
    assert_failed(&rig, stream);
}

/// Checks that no token leaves after the time limit of its pass. The deadline has passed, but the node handles an input
/// before the timeout.
#[test]
fn an_answer_after_the_time_gives_nothing() {
    for answer in [TP2, TP3] {
        let (mut rig, stream) = giver_after_offer();
        rig.take_written(stream);
        rig.run(ms(450));
        rig.stall(ms(50));
        rig.receive(stream, answer);
        assert_eq!(rig.take_written(stream), []);
        assert_failed(&rig, stream);
    }
}

#[test]
fn a_late_acknowledgement_counts() {
    let (mut rig, stream) = giver_after_token();
    rig.run(ms(490));
    rig.stall(ms(20));
    rig.receive_end(stream, &[]);
    assert_eq!((pass_counts(&rig), rig.state()), (DONE, State::Waiter));
}

#[test]
fn bytes_that_are_not_due_are_failed_before_the_half_close_and_unknown_after_it() {
    let wrong = [
        &[0x21][..],
        &[0x51],
        &[0x61],
        &[0x01],
        &[0x32],
        &[0xff],
        &[0x31, 0x31],
        &[0x41, 0],
    ];
    for bytes in wrong {
        let (mut rig, stream) = giver_after_offer();
        rig.receive(stream, bytes);
        assert_failed(&rig, stream);
    }
    for end in [false, true] {
        let (mut rig, stream) = giver_after_token();
        if end {
            rig.receive_end(stream, TP3);
        } else {
            rig.receive(stream, TP3);
        }
        assert_unknown(&rig, stream);
    }
}

#[test]
fn an_answer_before_tp1_was_offered_is_failed() {
    let (mut rig, stream) = Rig::giver();
    rig.receive(stream, TP3);
    assert_failed(&rig, stream);
}

#[test]
fn a_candidate_with_another_list_gets_tp4_from_the_start_of_the_pass() {
    let (mut rig, stream) = giver_after_offer();
    rig.take_written(stream);
    rig.add_node(3);
    rig.receive(stream, TP2);
    let both = [tp4(&[1, 2].map(node)), tp5(5, b"1")].concat();
    assert_eq!(rig.take_written(stream), both);
}

#[test]
fn after_unknown_the_node_looks_for_the_new_holder() {
    let (mut rig, stream) = giver_after_token();
    rig.clear_output();
    rig.close_by_kernel(stream, CloseReason::Reset);
    assert_eq!(rig.take_datagrams().len(), 1, "the first TR1 at once");
    let to = node(2);
    let why = PassFailure::Reset;
    assert!(rig.take_events().contains(&Event::PassUnknown { to, why }));
}

#[test]
fn a_slow_reader_gets_the_whole_token() {
    let (mut rig, stream) = Rig::giver();
    rig.room = 1;
    rig.open_by_kernel(stream);
    rig.receive(stream, TP2);
    let all = [
        tp1(5, hash(&[1, 2].map(node))),
        tp4(&[1, 2].map(node)),
        tp5(5, b"1"),
    ];
    assert_eq!(rig.take_written(stream), all.concat());
    assert_eq!(rig.fate(stream), Fate::Finished);
}
