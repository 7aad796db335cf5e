//! Tests of the driver's order of calls to a machine, its store, its link and its observer.

mod doubles;

use super::frames::{RECEIVE_BATCH, TRANSMIT_BATCH};
use super::{Driver, Environment, Link, Quota, ReceiveBatch, Refused, TransmitBatch};
use doubles::{DriverRig, Journal, NOW, Puppet, ScriptedLink};
use ring_proto::LinkState;
use ring_proto::time::{Instant, Now};
use std::io;
use std::time::Duration;

#[test]
fn the_durable_is_stored_before_a_frame_leaves_and_events_come_last() {
    let mut stage = DriverRig::new().takes(1);
    let log = stage.command(b"edA");
    assert_eq!(
        log.join("; "),
        "is commanded; store 1; send A; A Accepted; e"
    );
}

#[test]
fn outputs_of_an_accepted_frame_are_stored_then_sent() {
    let mut stage = DriverRig::new().takes(2).takes(1);
    let log = stage.command(b"dXBe");
    let expected =
        "is commanded; store 1; send XB; X Accepted; B Accepted; store 2; send Y; Y Accepted; e";
    assert_eq!(log.join("; "), expected);
}

#[test]
fn a_machine_learns_by_when_its_frame_has_left() {
    let mut stage = DriverRig::new().takes(2);
    let log = stage.command(b"QAe");
    let expected = "is commanded; send QA; Q Accepted; A Accepted; left within 7ms; e";
    assert_eq!(log.join("; "), expected);
}

#[test]
fn every_input_is_drained() {
    let mut stage = DriverRig::new().takes(1).takes(1).takes(1);
    let drained = ["store", "send A", "A Accepted", "e"];
    let ((), timeout) = stage.with(|driver, environment| driver.timeout(NOW, environment));
    let ((), link) =
        stage.with(|driver, environment| driver.link_changed(NOW, LinkState::Down, environment));
    let command = stage.command(b"deA");
    for log in [timeout, link, command] {
        let after_the_input = log[1..].iter().zip(drained);
        for (found, expected) in after_the_input {
            assert!(found.starts_with(expected), "{log:?}");
        }
        assert_eq!(log.len(), 1 + drained.len());
    }
}

#[test]
fn frames_that_the_link_did_not_take_are_reported_as_failed_one_by_one() {
    let refused = io::ErrorKind::OutOfMemory;
    let mut stage = DriverRig::new().takes(1).refuses(refused).takes(1);
    let log = stage.command(b"ABC");
    let outcomes = "is commanded; send ABC; A Accepted; send BC; B Failed; send C; C Accepted";
    assert_eq!(log.join("; "), outcomes);
}

#[test]
fn a_frame_that_is_too_long_does_not_stop_those_behind_it() {
    let mut stage = DriverRig::new().takes(1);
    stage.wire.takes.push_back(Err(Refused::TooLong));
    let mut stage = stage.takes(1);
    let log = stage.command(b"ABC");
    let outcomes = "is commanded; send ABC; A Accepted; send BC; B TooLong; send C; C Accepted";
    assert_eq!(log.join("; "), outcomes);
}

#[test]
fn frames_of_a_batch_that_the_link_refused_are_reported_as_failed() {
    let down = io::ErrorKind::NetworkDown;
    let mut stage = DriverRig::new().refuses(down).refuses(down);
    let log = stage.command(b"XB");
    assert_eq!(log[2..], ["X Failed", "send B", "B Failed"]);
}

#[test]
fn without_a_link_every_frame_has_failed_and_nothing_is_received() {
    let mut stage = DriverRig::new();
    let mut environment: Environment<'_, ScriptedLink, _, _> = Environment {
        link: None,
        store: &mut stage.journal.clone(),
        observer: &mut stage.journal.clone(),
    };
    stage.driver.command(NOW, b"dAe", &mut environment);
    let more = stage.driver.receive(NOW, &mut environment);
    assert!(!more.expect("no link, no error"));
    let log = stage.journal.take();
    assert_eq!(log, ["is commanded", "store 1", "A Failed", "e"]);
}

#[test]
fn frames_beyond_one_batch_go_in_several() {
    let mut stage = DriverRig::new().takes(TRANSMIT_BATCH).takes(1);
    let log = stage.command(b"ABCDEFGHI");
    let sends: Vec<_> = log.iter().filter(|line| line.starts_with("send")).collect();
    assert_eq!(sends, ["send ABCDEFGH", "send I"]);
    assert_eq!(
        log.iter().filter(|line| line.ends_with("Accepted")).count(),
        9
    );
}

#[test]
fn each_received_frame_is_handled_and_drained_before_the_next() {
    let mut stage = DriverRig::new()
        .arrived(&[b"dAe", b"B", b"e"])
        .takes(1)
        .takes(1);
    let (more, log) = stage.with(|driver, environment| driver.receive(NOW, environment));
    assert!(!more.expect("received"), "there are no more frames");
    let expected = "hears dAe of 1ns; store 1; send A; A Accepted; e; hears B of 2ns; send B; B Accepted; hears e of \
    3ns; e";
    assert_eq!(log.join("; "), expected);
}

#[test]
fn a_machine_that_gathers_is_drained_after_the_last_frame_of_a_batch() {
    let mut stage = DriverRig::gathering()
        .arrived(&[b"dAe", b"B", b"e"])
        .takes(2);
    let (_, log) = stage.with(|driver, environment| driver.receive(NOW, environment));
    let expected = "hears dAe of 1ns; hears B of 2ns; hears e of 3ns; store 1; send AB; A Accepted; B Accepted; e; e";
    assert_eq!(log.join("; "), expected);
}

#[test]
fn a_full_batch_is_one_call_and_reports_that_there_may_be_more() {
    let frames = [b"e".as_slice(); RECEIVE_BATCH];
    let mut stage = DriverRig::new().arrived(&frames);
    let (more, log) = stage.with(|driver, environment| driver.receive(NOW, environment));
    assert!(more.expect("received"));
    assert_eq!(log.len(), 2 * RECEIVE_BATCH);
}

/// Runs one loop iteration at [`NOW`]. The deadline of the machine is `due`.
fn turn(mut stage: DriverRig, due: u64, arrived: bool) -> Vec<String> {
    let puppet = Puppet::due_at(Instant::from_nanos(due), &stage.journal);
    stage.driver = Driver::new(puppet);
    let (result, log) =
        stage.with(|driver, environment| driver.turn(NOW, arrived, || NOW, environment));
    result.expect("received");
    log
}

#[test]
fn unread_frames_are_handled_before_a_timeout_even_unannounced() {
    let stage = DriverRig::new().arrived(&[b"e"]);
    let stage = (0..4).fold(stage, |stage, _| stage.takes(1));
    let log = turn(stage, NOW.monotonic.as_nanos(), false);
    assert_eq!(log[..3], ["hears e of 1ns", "e", "time-out"]);
}

#[test]
fn a_turn_without_a_frame_or_a_timeout_does_not_touch_the_link() {
    let log = turn(DriverRig::new(), NOW.monotonic.as_nanos() + 1, false);
    assert_eq!(log, [""; 0]);
}

#[test]
fn before_a_timeout_a_turn_reads_all_older_frames() {
    let full = [b"e".as_slice(); RECEIVE_BATCH];
    let batches = 6;
    let stage = (0..batches).fold(DriverRig::new(), |stage, _| stage.arrived(&full));
    let stage = (0..4).fold(stage.arrived(&[]), |stage, _| stage.takes(1));
    let log = turn(stage, NOW.monotonic.as_nanos(), true);
    let heard = log.iter().take_while(|line| *line != "time-out").count();
    assert_eq!(heard, batches * 2 * RECEIVE_BATCH);
}

/// A link that always has more frames.
#[derive(Debug)]
struct EndlessLink;

impl Link for EndlessLink {
    const QUOTA: Quota = Quota::of_messages(2, 5);

    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch) -> io::Result<()> {
        batch.clear();
        while let Some(buffer) = batch.next_buffer() {
            buffer[0] = b'e';
            batch.push(1, (), now, Duration::from_nanos(1));
        }
        Ok(())
    }

    fn send(&mut self, batch: &TransmitBatch) -> Result<usize, Refused> {
        Ok(batch.len())
    }
}

#[test]
fn a_links_quota_bounds_a_turn() {
    let now = NOW.monotonic.as_nanos();
    for (due, expected) in [(now + 1, 2), (now, 5)] {
        let mut journal = Journal::default();
        let puppet = Puppet::due_at(Instant::from_nanos(due), &journal);
        let (received, transmit) = (ReceiveBatch::new(1, 8), TransmitBatch::of(1, 8));
        let mut driver = Driver::with_batches(puppet, received, transmit);
        let (mut link, mut store) = (EndlessLink, journal.clone());
        let mut environment = Environment {
            link: Some(&mut link),
            store: &mut store,
            observer: &mut journal,
        };
        let turn = driver.turn(NOW, true, || NOW, &mut environment);
        turn.expect("the link can receive");
        let heard = journal.take();
        let heard = heard.iter().filter(|line| line.starts_with("hears"));
        assert_eq!(heard.count(), expected);
    }
}

#[test]
fn an_empty_batch_does_nothing() {
    let mut stage = DriverRig::new().arrived(&[]);
    let (more, log) = stage.with(|driver, environment| driver.receive(NOW, environment));
    assert!(!more.expect("received"));
    assert_eq!(log, [""; 0]);
}

#[test]
fn an_error_of_the_link_is_returned_and_the_machine_does_not_see_it() {
    let mut stage = DriverRig::new().arrived(&[b"e"]);
    stage.with(|driver, environment| driver.receive(NOW, environment).expect("received"));
    let broken = Err(io::ErrorKind::NetworkDown.into());
    stage.wire.arrived.push_back(broken);
    let (result, log) = stage.with(|driver, environment| driver.receive(NOW, environment));
    let error = result.expect_err("the link is broken");
    assert_eq!(error.kind(), io::ErrorKind::NetworkDown);
    assert_eq!(
        log, [""; 0],
        "the driver does not repeat the frames of the last batch"
    );
}

#[test]
fn the_deadline_is_that_of_the_machine() {
    let deadline = Instant::from_nanos(99);
    let driver = Driver::new(Puppet::due_at(deadline, &Journal::default()));
    assert_eq!(driver.deadline(), Some(deadline));
    assert_eq!(driver.machine().deadline, Some(deadline));
}
