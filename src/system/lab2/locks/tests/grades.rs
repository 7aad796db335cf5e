//! How safe the token must be for whom.

use std::time::Duration;

use ring_control::lab2::{Grade, LockRequest, LossReason, RefusalReason};
use ring_proto::lab2::{Command, State};
use ring_proto::time::Instant;

use super::super::Notice;
use super::{HEARTBEAT, LEASE, Rig};

const TAKE_TIMEOUT: Duration = Duration::from_millis(5);
/// How long the token is kept from others for want of a grade.
const PATIENCE: Duration = Duration::from_millis(40);
const MS: Duration = Duration::from_millis(1);
/// How long members promise.
const PROMISE: Duration = Duration::from_millis(300);

fn requiring(grade: Grade) -> LockRequest {
    LockRequest {
        require: Some(grade),
        ..LockRequest::default()
    }
}

impl Rig {
    /// The members confirm the tenure: it has this grade for as long as they have promised.
    fn confirmed(&mut self, grade: Grade) -> Instant {
        self.machine.grade = grade;
        self.machine.grade_until = self.now + PROMISE;
        self.machine.grade_until
    }

    /// The token is here with a quorum, and a client of this number works under it.
    fn has_quorum(id: u64) -> (Self, Instant) {
        let mut rig = Self::has_token(5);
        let until = rig.confirmed(Grade::Quorum);
        let told = rig.wants_so(id, requiring(Grade::Quorum));
        assert!(
            matches!(told[..], [(_, Notice::Granted { .. })]),
            "{told:?}"
        );
        (rig, until)
    }

    /// The promises have run out.
    fn falls_to(&mut self, grade: Grade) {
        self.machine.grade = grade;
        self.machine.grade_until = self.now;
    }
}

fn lost(why: LossReason, until: Instant) -> Vec<(u64, Notice)> {
    vec![(1, Notice::Lost { why, until })]
}

#[test]
fn it_is_granted_once_the_token_is_as_safe_as_required_and_asked_for_until_then() {
    let mut rig = Rig::has_token(5);
    assert_eq!(rig.wants_so(1, requiring(Grade::Quorum)), []);
    assert_eq!(rig.commands, [Command::WantToken, Command::Confirm]);
    rig.confirmed(Grade::View);
    assert_eq!(rig.update(), [], "a view is less");
    let until = rig.confirmed(Grade::Quorum);
    assert_eq!(rig.update(), rig.granted_until(1, until));
}

#[test]
fn the_members_are_asked_once_in_take_timeout_and_not_for_ever() {
    let mut rig = Rig::has_token(5);
    rig.wants_so(1, requiring(Grade::View));
    assert_eq!(rig.locks.deadline(), Some(rig.now + TAKE_TIMEOUT));
    rig.live_through(TAKE_TIMEOUT - MS);
    assert_eq!(rig.count(&Command::Confirm), 1);
    rig.live_through(MS);
    assert_eq!(rig.count(&Command::Confirm), 2);
    rig.live_through(10 * PATIENCE);
    assert_eq!(
        rig.count(&Command::Confirm),
        8,
        "as long as is its patience"
    );
    assert_eq!(rig.locks.deadline(), None, "heartbeats go on by themselves");
}

#[test]
fn others_have_their_turn_while_the_grade_is_not_there() {
    let mut rig = Rig::has_token(5);
    rig.machine.others_want = true;
    rig.wants_so(1, requiring(Grade::Quorum));
    rig.live_through(PATIENCE - MS);
    assert_eq!(rig.count(&Command::WorkDone), 0);
    rig.live_through(MS);
    let last = rig.commands[rig.commands.len() - 2..].to_vec();
    assert_eq!(last, [Command::WorkDone, Command::WantToken]);
    rig.comes(9);
    rig.update();
    assert_eq!(
        rig.commands.last(),
        Some(&Command::Confirm),
        "another tenure, another attempt"
    );
}

#[test]
fn who_comes_to_want_it_later_has_it_at_once() {
    let mut rig = Rig::has_token(5);
    rig.wants_so(1, requiring(Grade::Quorum));
    rig.live_through(2 * PATIENCE);
    assert_eq!(rig.count(&Command::WorkDone), 0, "nobody else wants it");
    rig.machine.others_want = true;
    rig.update();
    assert_eq!(rig.count(&Command::WorkDone), 1);
}

#[test]
fn a_grade_that_does_not_come_is_waited_for_no_longer_than_others_are_patient() {
    let mut rig = Rig::has_token(5);
    rig.machine.turn_over = true;
    rig.wants_so(1, requiring(Grade::Quorum));
    rig.live_through(PATIENCE + LEASE - MS);
    assert_eq!(rig.count(&Command::WorkDone), 0);
    rig.live_through(MS);
    assert_eq!(rig.count(&Command::WorkDone), 1);
}

#[test]
fn who_requires_less_goes_before_one_whose_grade_is_not_there() {
    let mut rig = Rig::has_token(5);
    rig.wants_so(1, requiring(Grade::Quorum));
    rig.wants_so(2, requiring(Grade::View));
    assert_eq!(rig.wants(3), rig.granted(3));
    assert_eq!(rig.wants(4), []);
    let until = rig.confirmed(Grade::Quorum);
    for id in [1, 2] {
        let told = rig.release(if id == 1 { 3 } else { 1 });
        assert_eq!(told, rig.granted_until(id, until), "in order");
    }
    assert_eq!(rig.release(2), rig.granted(4));
}

#[test]
fn it_may_rely_on_it_until_the_earlier_of_lease_and_grade() {
    for (lease, promise) in [(LEASE, PROMISE), (PROMISE, LEASE)] {
        for (grade, earlier) in [
            (Grade::Quorum, PROMISE),
            (Grade::View, PROMISE),
            (Grade::Alone, lease),
        ] {
            let mut rig = Rig::has_token(5);
            rig.confirmed(Grade::Quorum);
            rig.machine.lease_until = rig.now + lease;
            rig.machine.grade_until = rig.now + promise;
            let granted = rig.granted_until(1, rig.now + earlier);
            assert_eq!(rig.wants_so(1, requiring(grade)), granted, "{grade:?}");
        }
    }
}

#[test]
fn what_is_left_of_a_promise_is_granted_to_nobody_until_it_is_made_anew() {
    let mut rig = Rig::has_token(5);
    rig.confirmed(Grade::Quorum);
    rig.now = rig.now + (PROMISE - LEASE / 2 + MS);
    rig.machine.lease_until = rig.now + LEASE;
    assert_eq!(rig.wants_so(1, requiring(Grade::Quorum)), []);
    assert_eq!(rig.commands.last(), Some(&Command::Confirm));
    assert_eq!(rig.wants(2), rig.granted(2), "who requires nothing has it");
    assert_eq!(rig.release(2), []);
    let until = rig.confirmed(Grade::Quorum);
    assert_eq!(rig.update(), rig.granted_until(1, until));
}

#[test]
fn it_is_renewed_when_the_members_confirm_it_again_and_not_by_the_lease_alone() {
    let (mut rig, _) = Rig::has_quorum(1);
    rig.now = rig.now + HEARTBEAT;
    rig.machine.lease_until = rig.now + LEASE;
    assert_eq!(rig.update(), []);
    let until = rig.confirmed(Grade::Quorum);
    assert_eq!(rig.update(), [(1, Notice::Renewed { until })]);
}

#[test]
fn a_grade_that_falls_below_what_is_required_is_a_loss() {
    let (mut rig, until) = Rig::has_quorum(1);
    rig.now = rig.now + HEARTBEAT;
    rig.falls_to(Grade::View);
    assert_eq!(rig.update(), lost(LossReason::Grade, until));
    assert_eq!(rig.locks.held(), None);
    assert!(rig.locks.is_held(), "it has its time to end");
    rig.confirmed(Grade::Quorum);
    assert_eq!(rig.update(), [], "what is lost does not come back");
}

#[test]
fn a_grade_that_falls_no_lower_than_required_is_none() {
    for require in [Grade::View, Grade::Alone] {
        let mut rig = Rig::has_token(5);
        rig.confirmed(Grade::Quorum);
        rig.wants_so(1, requiring(require));
        rig.confirmed(Grade::View);
        assert_eq!(rig.update(), [], "{require:?}");
        assert!(rig.locks.held().is_some(), "{require:?}");
    }
}

#[test]
fn in_a_tenure_that_may_not_grant_yet_it_is_the_grade_that_is_missing_and_else_the_time() {
    for (require, grade, why) in [
        (Grade::Quorum, Grade::View, RefusalReason::Grade),
        (Grade::View, Grade::View, RefusalReason::Timeout),
        (Grade::Alone, Grade::Alone, RefusalReason::Timeout),
    ] {
        let mut rig = Rig::has_token(5);
        rig.confirmed(grade);
        rig.goes(State::Owner);
        let request = LockRequest {
            wait_ms: Some(20),
            ..requiring(require)
        };
        rig.wants_so(1, request);
        let told = rig.live_through(Duration::from_millis(20));
        assert_eq!(told, [(1, Notice::Refused(why))], "{require:?}");
    }
}

#[test]
fn who_waits_in_vain_is_told_whether_it_was_for_the_token_or_for_its_grade() {
    let request = LockRequest {
        wait_ms: Some(100),
        ..requiring(Grade::Quorum)
    };
    let mut rig = Rig::has_token(5);
    rig.wants_so(1, request.clone());
    let told = rig.live_through(Duration::from_millis(100));
    assert_eq!(told, [(1, Notice::Refused(RefusalReason::Grade))]);
    let mut rig = Rig::new();
    rig.wants_so(1, request);
    let told = rig.live_through(Duration::from_millis(100));
    assert_eq!(told, [(1, Notice::Refused(RefusalReason::Timeout))]);
}

#[test]
fn a_stronger_token_leaves_a_holder_the_time_that_others_have_promised() {
    for require in [Grade::Quorum, Grade::View, Grade::Alone] {
        let mut rig = Rig::has_token(5);
        let promised = rig.confirmed(Grade::Quorum);
        rig.wants_so(1, requiring(require));
        rig.now = rig.now + HEARTBEAT;
        rig.goes(State::Waiter);
        let until = match require {
            Grade::Quorum => promised,
            // On either side of a cut there may have been one.
            Grade::View | Grade::Alone => rig.now,
        };
        assert_eq!(rig.update(), lost(LossReason::StrongerToken, until));
    }
}

#[test]
fn nobody_here_is_granted_it_before_a_lost_holders_time_is_over() {
    let (mut rig, until) = Rig::has_quorum(1);
    rig.wants(2);
    rig.now = rig.now + HEARTBEAT;
    rig.goes(State::Waiter);
    rig.update();
    // It is here again: another tenure.
    rig.comes(9);
    rig.confirmed(Grade::Quorum);
    let left = until.since(rig.now);
    assert_eq!(rig.locks.deadline(), Some(until));
    assert_eq!(rig.live_through(left - MS), []);
    assert_eq!(rig.live_through(MS), rig.granted(2));
}

#[test]
fn a_lost_holder_that_lets_go_makes_room_at_once() {
    let (mut rig, _) = Rig::has_quorum(1);
    rig.wants(2);
    rig.falls_to(Grade::Alone);
    rig.update();
    assert_eq!(rig.live_through(HEARTBEAT), []);
    assert_eq!(rig.release(1), rig.granted(2));
}
