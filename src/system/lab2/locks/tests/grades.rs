//! Tests of locks that require a grade.

use std::time::Duration;

use ring_control::lab2::{Grade, LockRequest, LossReason, RefusalReason};
use ring_proto::lab2::{Command, State};
use ring_proto::time::Instant;

use super::super::Notice;
use super::{HEARTBEAT, LEASE, Rig};

const TAKE_TIMEOUT: Duration = Duration::from_millis(5);
/// The time for which the node keeps the token from other members while its grade is too low.
const CONFIRMATION_TIME: Duration = Duration::from_millis(40);
const MS: Duration = Duration::from_millis(1);
/// The time for which a confirmation by the members lasts.
const GRADE_LASTS: Duration = Duration::from_millis(300);

fn requiring(grade: Grade) -> LockRequest {
    LockRequest {
        require: Some(grade),
        ..LockRequest::default()
    }
}

impl Rig {
    /// Makes the members confirm the tenure with this grade, for the duration of a confirmation.
    fn confirm(&mut self, grade: Grade) -> Instant {
        self.machine.grade = grade;
        self.machine.grade_until = self.now + GRADE_LASTS;
        self.machine.grade_until
    }

    /// Creates a node that has the token with a quorum, and a client that holds the token.
    fn has_quorum(id: u64) -> (Self, Instant) {
        let mut rig = Self::has_token(5);
        let until = rig.confirm(Grade::Quorum);
        let notices = rig.want_with(id, requiring(Grade::Quorum));
        assert!(
            matches!(notices[..], [(_, Notice::Granted { .. })]),
            "{notices:?}"
        );
        (rig, until)
    }

    /// Ends the confirmations, so that the grade falls.
    fn drop_grade_to(&mut self, grade: Grade) {
        self.machine.grade = grade;
        self.machine.grade_until = self.now;
    }
}

fn lost(why: LossReason, until: Instant) -> Vec<(u64, Notice)> {
    vec![(1, Notice::Lost { why, until })]
}

#[test]
fn a_lock_waits_for_its_grade_while_members_are_asked_to_confirm() {
    let mut rig = Rig::has_token(5);
    assert_eq!(rig.want_with(1, requiring(Grade::Quorum)), []);
    assert_eq!(rig.commands, [Command::WantToken, Command::Confirm]);
    rig.confirm(Grade::AllHeard);
    assert_eq!(rig.update(), [], "all-heard is less than a quorum");
    let until = rig.confirm(Grade::Quorum);
    assert_eq!(rig.update(), rig.granted_until(1, until));
}

#[test]
fn the_members_are_asked_once_per_take_timeout_for_a_limited_time() {
    let mut rig = Rig::has_token(5);
    rig.want_with(1, requiring(Grade::AllHeard));
    assert_eq!(rig.locks.deadline(), Some(rig.now + TAKE_TIMEOUT));
    rig.advance_in_steps(TAKE_TIMEOUT - MS);
    assert_eq!(rig.count(&Command::Confirm), 1);
    rig.advance_in_steps(MS);
    assert_eq!(rig.count(&Command::Confirm), 2);
    rig.advance_in_steps(10 * CONFIRMATION_TIME);
    assert_eq!(rig.count(&Command::Confirm), 8, "until its time is over");
    assert_eq!(
        rig.locks.deadline(),
        None,
        "heartbeats continue by themselves"
    );
}

#[test]
fn other_members_get_their_turn_while_the_grade_is_missing() {
    let mut rig = Rig::has_token(5);
    rig.machine.others_want = true;
    rig.want_with(1, requiring(Grade::Quorum));
    rig.advance_in_steps(CONFIRMATION_TIME - MS);
    assert_eq!(rig.count(&Command::WorkDone), 0);
    rig.advance_in_steps(MS);
    let last = rig.commands[rig.commands.len() - 2..].to_vec();
    assert_eq!(last, [Command::WorkDone, Command::WantToken]);
    rig.take_token(9);
    rig.update();
    assert_eq!(
        rig.commands.last(),
        Some(&Command::Confirm),
        "another tenure, another attempt"
    );
}

#[test]
fn a_later_request_of_another_member_is_met_at_once() {
    let mut rig = Rig::has_token(5);
    rig.want_with(1, requiring(Grade::Quorum));
    rig.advance_in_steps(2 * CONFIRMATION_TIME);
    assert_eq!(rig.count(&Command::WorkDone), 0, "nobody else wants it");
    rig.machine.others_want = true;
    rig.update();
    assert_eq!(rig.count(&Command::WorkDone), 1);
}

#[test]
fn a_missing_grade_is_awaited_at_most_for_the_waiter_timeout() {
    let mut rig = Rig::has_token(5);
    rig.machine.is_turn_over = true;
    rig.want_with(1, requiring(Grade::Quorum));
    rig.advance_in_steps(CONFIRMATION_TIME + LEASE - MS);
    assert_eq!(rig.count(&Command::WorkDone), 0);
    rig.advance_in_steps(MS);
    assert_eq!(rig.count(&Command::WorkDone), 1);
}

#[test]
fn a_client_that_requires_less_overtakes_one_whose_grade_is_missing() {
    let mut rig = Rig::has_token(5);
    rig.want_with(1, requiring(Grade::Quorum));
    rig.want_with(2, requiring(Grade::AllHeard));
    assert_eq!(rig.want(3), rig.grant_notices(3));
    assert_eq!(rig.want(4), []);
    let until = rig.confirm(Grade::Quorum);
    for id in [1, 2] {
        let notices = rig.release(if id == 1 { 3 } else { 1 });
        assert_eq!(notices, rig.granted_until(id, until), "in order");
    }
    assert_eq!(rig.release(2), rig.grant_notices(4));
}

#[test]
fn a_lock_lasts_until_the_earlier_of_lease_and_grade() {
    for (lease, promise) in [(LEASE, GRADE_LASTS), (GRADE_LASTS, LEASE)] {
        for (grade, earlier) in [
            (Grade::Quorum, GRADE_LASTS),
            (Grade::AllHeard, GRADE_LASTS),
            (Grade::Alone, lease),
        ] {
            let mut rig = Rig::has_token(5);
            rig.confirm(Grade::Quorum);
            rig.machine.lease_until = rig.now + lease;
            rig.machine.grade_until = rig.now + promise;
            let granted = rig.granted_until(1, rig.now + earlier);
            assert_eq!(rig.want_with(1, requiring(grade)), granted, "{grade:?}");
        }
    }
}

#[test]
fn a_confirmation_that_is_about_to_end_is_not_granted() {
    let mut rig = Rig::has_token(5);
    rig.confirm(Grade::Quorum);
    rig.now = rig.now + (GRADE_LASTS - LEASE / 2 + MS);
    rig.machine.lease_until = rig.now + LEASE;
    assert_eq!(rig.want_with(1, requiring(Grade::Quorum)), []);
    assert_eq!(rig.commands.last(), Some(&Command::Confirm));
    assert_eq!(
        rig.want(2),
        rig.grant_notices(2),
        "without a required grade it is granted"
    );
    assert_eq!(rig.release(2), []);
    let until = rig.confirm(Grade::Quorum);
    assert_eq!(rig.update(), rig.granted_until(1, until));
}

#[test]
fn only_a_new_confirmation_renews_a_lock_with_a_grade() {
    let (mut rig, _) = Rig::has_quorum(1);
    rig.now = rig.now + HEARTBEAT;
    rig.machine.lease_until = rig.now + LEASE;
    assert_eq!(rig.update(), []);
    let until = rig.confirm(Grade::Quorum);
    assert_eq!(rig.update(), [(1, Notice::Renewed { until })]);
}

#[test]
fn a_grade_that_falls_below_what_is_required_is_a_loss() {
    let (mut rig, until) = Rig::has_quorum(1);
    rig.now = rig.now + HEARTBEAT;
    rig.drop_grade_to(Grade::AllHeard);
    assert_eq!(rig.update(), lost(LossReason::Grade, until));
    assert_eq!(rig.locks.held_token(), None);
    assert!(rig.locks.is_held(), "it has its time to end");
    rig.confirm(Grade::Quorum);
    assert_eq!(rig.update(), [], "a lost lock does not come back");
}

#[test]
fn a_holder_learns_of_missing_confirmations_before_its_work_must_end() {
    let (mut rig, until) = Rig::has_quorum(1);
    let (granted, length) = (rig.now, GRADE_LASTS);
    // The node sends heartbeats, but the members do not answer.
    rig.machine.lease_until = granted + HEARTBEAT + LEASE;
    let notice = rig.locks.deadline().expect("a notice");
    let warned = granted + length / 4 * 3;
    assert!(
        warned.before(length / 32) < notice && notice < warned,
        "just before the client's own warning"
    );
    rig.now = notice.before(MS);
    assert_eq!(rig.update(), []);
    rig.now = notice;
    assert_eq!(rig.update(), lost(LossReason::Grade, until));
    assert_eq!(rig.locks.deadline(), Some(until));
    rig.want(2);
    rig.now = until.before(MS);
    assert_eq!(rig.update(), [], "the work has its whole lease to end");
}

#[test]
fn a_new_confirmation_delays_the_notice_of_missing_confirmations() {
    let (mut rig, _) = Rig::has_quorum(1);
    let first = rig.locks.deadline().expect("a notice");
    rig.now = rig.now + HEARTBEAT;
    rig.machine.lease_until = rig.now + LEASE;
    let until = rig.confirm(Grade::Quorum);
    assert_eq!(rig.update(), [(1, Notice::Renewed { until })]);
    assert_eq!(rig.locks.deadline(), Some(first + HEARTBEAT));
}

#[test]
fn a_node_that_could_send_no_heartbeat_does_not_blame_the_members() {
    let (mut rig, until) = Rig::has_quorum(1);
    rig.machine.lease_until = until + LEASE / 32;
    rig.now = rig.locks.deadline().expect("a notice");
    assert_eq!(rig.update(), []);
    assert_eq!(rig.locks.deadline(), None, "it asks only once");
}

#[test]
fn a_grade_that_stays_as_high_as_required_is_no_loss() {
    for require in [Grade::AllHeard, Grade::Alone] {
        let mut rig = Rig::has_token(5);
        rig.confirm(Grade::Quorum);
        rig.want_with(1, requiring(require));
        rig.confirm(Grade::AllHeard);
        assert_eq!(rig.update(), [], "{require:?}");
        assert!(rig.locks.held_token().is_some(), "{require:?}");
    }
}

#[test]
fn in_a_tenure_that_may_not_grant_yet_the_reason_is_the_grade_or_the_time() {
    for (require, grade, why) in [
        (Grade::Quorum, Grade::AllHeard, RefusalReason::Grade),
        (Grade::AllHeard, Grade::AllHeard, RefusalReason::Timeout),
        (Grade::Alone, Grade::Alone, RefusalReason::Timeout),
    ] {
        let mut rig = Rig::has_token(5);
        rig.confirm(grade);
        rig.lose_token(State::Owner);
        let request = LockRequest {
            wait_ms: Some(20),
            ..requiring(require)
        };
        rig.want_with(1, request);
        let notices = rig.advance_in_steps(Duration::from_millis(20));
        assert_eq!(notices, [(1, Notice::Refused(why))], "{require:?}");
    }
}

#[test]
fn a_refusal_tells_whether_the_token_or_its_grade_was_missing() {
    let request = LockRequest {
        wait_ms: Some(100),
        ..requiring(Grade::Quorum)
    };
    let mut rig = Rig::has_token(5);
    rig.want_with(1, request.clone());
    let notices = rig.advance_in_steps(Duration::from_millis(100));
    assert_eq!(notices, [(1, Notice::Refused(RefusalReason::Grade))]);
    let mut rig = Rig::new();
    rig.want_with(1, request);
    let notices = rig.advance_in_steps(Duration::from_millis(100));
    assert_eq!(notices, [(1, Notice::Refused(RefusalReason::Timeout))]);
}

#[test]
fn a_stronger_token_leaves_a_holder_its_confirmed_time_only_with_a_quorum() {
    for require in [Grade::Quorum, Grade::AllHeard, Grade::Alone] {
        let mut rig = Rig::has_token(5);
        let promised = rig.confirm(Grade::Quorum);
        rig.want_with(1, requiring(require));
        rig.now = rig.now + HEARTBEAT;
        rig.lose_token(State::Waiter);
        let until = match require {
            Grade::Quorum => promised,
            // Each side of a split may have had an owner.
            Grade::AllHeard | Grade::Alone => rig.now,
        };
        assert_eq!(rig.update(), lost(LossReason::StrongerToken, until));
    }
}

#[test]
fn the_next_client_waits_until_a_lost_holders_time_is_over() {
    let (mut rig, until) = Rig::has_quorum(1);
    rig.want(2);
    rig.now = rig.now + HEARTBEAT;
    rig.lose_token(State::Waiter);
    rig.update();
    // The node has the token again, in another tenure.
    rig.take_token(9);
    rig.confirm(Grade::Quorum);
    let left = until.since(rig.now);
    assert_eq!(rig.locks.deadline(), Some(until));
    assert_eq!(rig.advance_in_steps(left - MS), []);
    assert_eq!(rig.advance_in_steps(MS), rig.grant_notices(2));
}

#[test]
fn a_lost_holder_that_releases_it_makes_room_at_once() {
    let (mut rig, _) = Rig::has_quorum(1);
    rig.want(2);
    rig.drop_grade_to(Grade::Alone);
    rig.update();
    assert_eq!(rig.advance_in_steps(HEARTBEAT), []);
    assert_eq!(rig.release(1), rig.grant_notices(2));
}
