//! Tests of pauses, in which no client is granted the token.

use std::time::Duration;

use ring_control::lab2::{LossReason, RefusalReason};
use ring_proto::lab2::{Command, Pause, PauseReason};

use super::super::Notice;
use super::{HEARTBEAT, LEASE, Rig, waiting};

/// The time within which a holder must end its work.
const ENDING_NOTICE: Duration = Duration::from_secs(1);
const PAUSE: Command = Command::Pause(Some(Pause::PLAIN));
const RESUME: Command = Command::Pause(None);

fn lost(rig: &Rig, after: Duration) -> Vec<(u64, Notice)> {
    let (why, until) = (LossReason::Paused, rig.now + after);
    vec![(1, Notice::Lost { why, until })]
}

#[test]
fn a_holder_ends_its_work_and_then_the_machine_is_paused() {
    let mut rig = Rig::has_token(5);
    rig.want(1);
    rig.locks.pause(true);
    assert_eq!(rig.update(), lost(&rig, LEASE));
    assert_eq!(rig.count(&PAUSE), 0, "not before the holder has ended");
    assert_eq!(rig.release(1), []);
    let notices = [Command::WantToken, PAUSE, Command::WorkDone];
    assert_eq!(rig.commands, notices);
    assert!(rig.locks.is_idle());
}

#[test]
fn a_holder_gets_a_second_and_is_awaited_until_its_lease_ends() {
    let mut rig = Rig::has_token(5);
    rig.machine.lease_until = rig.now + 10 * ENDING_NOTICE;
    rig.want(1);
    rig.locks.pause(true);
    assert_eq!(rig.update(), lost(&rig, ENDING_NOTICE));
    rig.advance(10 * ENDING_NOTICE - Duration::from_millis(1));
    assert_eq!(rig.count(&PAUSE), 0, "it may not have read the notice");
    rig.advance(Duration::from_millis(1));
    assert_eq!(rig.count(&PAUSE), 1);
}

#[test]
fn a_drained_holder_finishes_its_work_and_no_client_follows() {
    let mut rig = Rig::has_token(5);
    rig.want(1);
    rig.want(2);
    rig.locks.drain();
    assert_eq!(rig.update(), []);
    rig.machine.lease_until = rig.now + 10 * LEASE;
    let until = rig.machine.lease_until;
    assert_eq!(rig.update(), [(1, Notice::Renewed { until })], "it goes on");
    assert_eq!(rig.count(&PAUSE), 0);
    assert_eq!(rig.release(1), [], "the next is not granted it");
    assert_eq!(rig.count(&PAUSE), 1);
    rig.locks.pause(false);
    rig.update();
    rig.take_token(9);
    assert_eq!(rig.update(), rig.grant_notices(2));
}

#[test]
fn a_pause_ends_a_drained_holder_and_a_drain_does_not_save_a_paused_one() {
    for first_drains in [true, false] {
        let mut rig = Rig::has_token(5);
        rig.want(1);
        if first_drains {
            rig.locks.drain();
            assert_eq!(rig.update(), []);
        }
        rig.locks.pause(true);
        if !first_drains {
            rig.locks.drain();
        }
        assert_eq!(rig.update(), lost(&rig, LEASE));
        rig.release(1);
        assert_eq!(rig.count(&PAUSE), 1);
    }
}

#[test]
fn clients_wait_until_the_pause_ends() {
    let mut rig = Rig::has_token(5);
    rig.want(1);
    rig.want(2);
    rig.locks.pause(true);
    rig.update();
    assert_eq!(rig.release(1), []);
    assert_eq!(rig.want(3), []);
    assert_eq!(rig.advance_in_steps(HEARTBEAT), []);
    rig.commands.clear();
    rig.locks.pause(false);
    assert_eq!(rig.update(), []);
    assert_eq!(rig.commands, [RESUME, Command::WantToken]);
    rig.take_token(9);
    assert_eq!(rig.update(), rig.grant_notices(2), "in order");
}

#[test]
fn a_token_that_arrives_during_a_pause_is_not_granted() {
    let mut rig = Rig::has_token(5);
    rig.locks.pause(true);
    rig.update();
    rig.take_token(7);
    assert_eq!(rig.want(1), []);
    assert_eq!(rig.count(&Command::WantToken), 0, "nor is it wanted");
}

#[test]
fn a_client_that_does_not_wait_is_refused_during_a_pause() {
    let mut rig = Rig::has_token(5);
    rig.locks.pause(true);
    rig.update();
    let refused = Notice::Refused(RefusalReason::Paused);
    assert_eq!(rig.want_with(1, waiting(0)), [(1, refused)]);
    rig.locks.pause(false);
    rig.update();
    rig.take_token(6);
    assert_eq!(rig.want_with(1, waiting(0)), rig.grant_notices(1));
}

#[test]
fn a_client_is_refused_after_its_waiting_time_also_in_a_pause() {
    let mut rig = Rig::has_token(5);
    rig.locks.pause(true);
    rig.want_with(1, waiting(50));
    let notices = rig.advance_in_steps(Duration::from_millis(50));
    assert_eq!(notices, [(1, Notice::Refused(RefusalReason::Paused))]);
}

#[test]
fn the_machine_is_told_of_a_pause_and_of_its_end_once() {
    let mut rig = Rig::new();
    rig.locks.pause(false);
    rig.update();
    assert_eq!(rig.commands, [], "there was none");
    rig.locks.pause(true);
    rig.update();
    rig.locks.pause(true);
    rig.update();
    assert_eq!(rig.commands, [PAUSE]);
    rig.locks.pause(false);
    rig.locks.pause(false);
    rig.update();
    assert_eq!(rig.commands, [PAUSE, RESUME]);
}

#[test]
fn a_shutdown_ends_a_pause() {
    let mut rig = Rig::new();
    rig.locks.pause(true);
    rig.want(1);
    rig.locks.stop_granting();
    let leaving = Notice::Refused(RefusalReason::Leaving);
    assert_eq!(rig.update(), [(1, leaving)]);
    rig.locks.pause(false);
    let refused = Notice::Refused(RefusalReason::Leaving);
    assert_eq!(rig.want(2), [(2, refused)]);
}

#[test]
fn the_machine_gets_the_end_and_the_reason_of_a_pause_and_their_changes() {
    let mut rig = Rig::has_token(5);
    let terms = |text| Pause {
        until: Some(rig.now + HEARTBEAT),
        reason: PauseReason::new(text).expect("a legal reason"),
    };
    let (disk, cable) = (terms("disk"), terms("cable"));
    rig.locks.pause(true);
    rig.locks.set_pause_terms(disk);
    rig.update();
    rig.locks.set_pause_terms(cable);
    rig.update();
    let expected = [disk, cable].map(|pause| Command::Pause(Some(pause)));
    assert_eq!(rig.commands, expected);
}
