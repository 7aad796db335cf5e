//! Tests of jobs that run once in a period (`docs/reference/lab2/once.md`).

use super::grade::{beat, constants_expecting_three, message_with_promise, owner as owner_of};
use super::once_rig::{
    HOUR, ID, agree, nightly, outcome, owner_asking, owner_running, owner_writing, progress,
    question, stamp, stamps, stamps_frame, waiter, wire_stamp,
};
use super::rig::{
    ANSWER_TIMEOUT, BLANK, HEARTBEAT, ME, Rig, TAKE_TIMEOUT, WAITER_TIMEOUT, constants, here, mac,
    ms, take, token, token_of,
};
use crate::lab2::{
    Command, Grade, Lab2, OnceProgress, OnceRequest, Pause, RunEnd, RunView, Stamp, State,
    StoredStamp,
};
use crate::time::nanos;
use crate::{LinkState, Machine};
use ring_codec::lab2::{Purpose, RunOutcome};
use std::time::Duration;

#[test]
fn a_run_begins_when_all_members_have_answered_and_stored_its_stamp() {
    let (mut rig, asked) = owner_asking(nightly());
    assert_eq!(agree(&mut rig, asked, &[3]), [""; 0]);
    assert_eq!(rig.machine.runs().count(), 0, "a member may know of a run");
    assert_eq!(agree(&mut rig, asked, &[7]), ["STAMPS Ask 1 to all"]);
    let stored = rig
        .durable
        .stamp
        .expect("the stamp is stored before it is announced");
    assert_eq!((stored.stamp.runner, stored.stamp.progress), (mac(ME), 11));
    let asked = question(&rig);
    agree(&mut rig, asked, &[3]);
    assert_eq!(progress(&rig), Some(OnceProgress::Asking));
    assert_eq!(rig.pass_time(HEARTBEAT / 4), ["STAMPS Ask 1 to all"]);
    agree(&mut rig, asked, &[7]);
    assert_eq!(progress(&rig), Some(OnceProgress::Begun));
}

#[test]
fn an_answer_to_an_earlier_question_or_another_tenure_does_not_count() {
    let (mut rig, asked) = owner_writing(nightly());
    let (token_asked, serial, digest) = asked;
    for wrong in [
        (token_asked, serial - 1, digest),
        (token_asked, serial + 1, digest),
        (token(10), serial, digest),
    ] {
        agree(&mut rig, wrong, &[3, 7]);
        assert_eq!(progress(&rig), Some(OnceProgress::Asking), "{wrong:?}");
    }
}

#[test]
fn a_run_that_a_member_reports_prevents_another() {
    let (mut rig, asked) = owner_asking(nightly());
    let known = wire_stamp(&stamp("nightly", RunOutcome::Done), Some(HOUR));
    rig.hear(3, stamps_frame(asked, Purpose::Differ, &[known]));
    assert_eq!(rig.pass_time(TAKE_TIMEOUT), ["STAMPS Ask 1 to all"]);
    let asked = question(&rig);
    agree(&mut rig, asked, &[3, 7]);
    let Some(OnceProgress::Ran(run)) = progress(&rig) else {
        panic!("{:?}", progress(&rig));
    };
    assert_eq!(run.stamp, stamp("nightly", RunOutcome::Done));
    assert!(run.age >= HOUR && run.age < HOUR + ms(100));
}

#[test]
fn a_run_counts_for_its_period_and_with_retry_only_if_it_was_done() {
    use RunOutcome::{Begun, Done, Failed, Void};
    let runs_again = |outcome, age, retry| {
        let request = OnceRequest { retry, ..nightly() };
        let (mut rig, asked) = owner_asking(request);
        let known = wire_stamp(&stamp("nightly", outcome), Some(age));
        rig.hear(3, stamps_frame(asked, Purpose::Differ, &[known]));
        rig.pass_time(TAKE_TIMEOUT);
        let asked = question(&rig);
        agree(&mut rig, asked, &[3, 7]);
        progress(&rig) == Some(OnceProgress::Asking)
    };
    for outcome in [Begun, Done, Failed, Void] {
        assert!(runs_again(outcome, 20 * HOUR, false), "its period is over");
    }
    assert!(!runs_again(Begun, HOUR, false) && runs_again(Begun, HOUR, true));
    assert!(!runs_again(Failed, HOUR, false) && runs_again(Failed, HOUR, true));
    assert!(!runs_again(Done, HOUR, false) && !runs_again(Done, HOUR, true));
    assert!(runs_again(Void, HOUR, false) && runs_again(Void, HOUR, true));
}

#[test]
fn a_member_stores_the_stamps_of_a_question_before_it_agrees() {
    let mut rig = waiter();
    let known = stamp("nightly", RunOutcome::Begun);
    let digest = {
        let mut other = waiter();
        other.hear_all(
            3,
            stamps_frame(
                (token(10), 1, 0),
                Purpose::Tell,
                &[wire_stamp(&known, None)],
            ),
        );
        other.hear_all(3, stamps_frame((token(10), 2, 0), Purpose::Ask, &[]));
        question(&other).2
    };
    let asked = (token(10), 4, digest);
    let sent = rig.hear_all(
        3,
        stamps_frame(asked, Purpose::Ask, &[wire_stamp(&known, Some(ms(1)))]),
    );
    assert_eq!(sent, ["STAMPS Agree 0 to n3"]);
    assert_eq!(rig.durable.stamp.expect("the stamp is stored").stamp, known);
    assert_eq!(question(&rig), asked);
    let sent = rig.hear_all(
        3,
        stamps_frame((token(10), 5, digest ^ 1), Purpose::Ask, &[]),
    );
    assert_eq!(
        sent,
        ["STAMPS Differ 1 to n3"],
        "the member knows another stamp"
    );
    assert_eq!(stamps(&rig.frames[0])[0].name, *known.name.bytes());
}

#[test]
fn a_recently_started_member_does_not_agree() {
    let mut rig = Rig::waiter();
    let asked = (token(10), 4, 0);
    assert_eq!(
        rig.hear_all(3, stamps_frame(asked, Purpose::Ask, &[])),
        [""; 0]
    );
    let mut rig = waiter();
    assert_eq!(
        rig.hear_all(3, stamps_frame(asked, Purpose::Ask, &[])),
        ["STAMPS Agree 0 to n3"]
    );
}

#[test]
fn a_quorum_needs_a_majority_and_no_more() {
    let mut rig = owner_of(constants_expecting_three());
    let beat = beat(&rig);
    rig.hear(3, message_with_promise(token(11), beat));
    assert_eq!(rig.machine.grade(), Grade::Quorum);
    let require = Grade::Quorum;
    rig.command(Command::Once(OnceRequest {
        require,
        ..nightly()
    }));
    let asked = question(&rig);
    assert_eq!(agree(&mut rig, asked, &[3]), ["STAMPS Ask 1 to all"]);
    let asked = question(&rig);
    agree(&mut rig, asked, &[3]);
    assert_eq!(progress(&rig), Some(OnceProgress::Begun));
}

#[test]
fn without_the_required_quorum_the_stamp_becomes_void() {
    let mut rig = owner_of(constants_expecting_three());
    let beat = beat(&rig);
    rig.hear(3, message_with_promise(token(11), beat));
    let require = Grade::Quorum;
    rig.command(Command::Once(OnceRequest {
        require,
        ..nightly()
    }));
    let asked = question(&rig);
    agree(&mut rig, asked, &[3]);
    assert_eq!(outcome(&rig), RunOutcome::Begun);
    let sent = rig.pass_time(WAITER_TIMEOUT);
    assert!(
        sent.iter().any(|line| line == "STAMPS Tell 1 to all"),
        "{sent:?}"
    );
    assert_eq!(progress(&rig), None);
    assert_eq!(outcome(&rig), RunOutcome::Void);
}

#[test]
fn silent_members_are_awaited_for_waiter_timeout_unless_a_grade_is_required() {
    let (mut rig, asked) = owner_asking(nightly());
    agree(&mut rig, asked, &[3]);
    rig.pass_time(WAITER_TIMEOUT - ms(1));
    assert_eq!(rig.machine.runs().count(), 0);
    rig.pass_time(HEARTBEAT / 4 + ms(1));
    assert_eq!(rig.machine.runs().count(), 1);
}

#[test]
fn the_outcome_of_a_job_is_broadcast() {
    for (end, expected) in [
        (RunEnd::Done, RunOutcome::Done),
        (RunEnd::Failed, RunOutcome::Failed),
        (RunEnd::NotRun, RunOutcome::Void),
    ] {
        let mut rig = owner_running(nightly());
        let sent = rig.command(Command::EndOnce(ID, end));
        assert_eq!(sent, ["STAMPS Tell 1 to all"]);
        assert_eq!(stamps(&rig.frames[0])[0].outcome(), Some(expected));
        assert_eq!(outcome(&rig), expected);
        assert_eq!(progress(&rig), None);
    }
}

#[test]
fn a_run_that_has_begun_makes_other_runs_needless_but_not_itself() {
    let other = OnceRequest {
        id: ID + 1,
        ..nightly()
    };
    let (rig, _) = owner_writing(nightly());
    assert_eq!(rig.machine.find_sufficient_run(&nightly()), None);
    assert_eq!(
        rig.machine.find_sufficient_run(&other),
        None,
        "the run may still be cancelled"
    );
    let mut rig = owner_running(nightly());
    assert_eq!(rig.machine.find_sufficient_run(&nightly()), None);
    assert!(rig.machine.find_sufficient_run(&other).is_some());
    let another_try = OnceRequest {
        retry: true,
        ..other
    };
    assert_eq!(
        rig.machine.find_sufficient_run(&another_try),
        None,
        "the run may be lost"
    );
    rig.command(Command::EndOnce(ID, RunEnd::Done));
    assert!(rig.machine.find_sufficient_run(&another_try).is_some());
}

#[test]
fn a_run_whose_token_is_lost_stays_begun() {
    let mut rig = owner_running(nightly());
    rig.hear_all(9, here(token(40)));
    assert_eq!(rig.state(), State::Waiter);
    assert_eq!(progress(&rig), None);
    assert_eq!(outcome(&rig), RunOutcome::Begun);
    rig.command(Command::EndOnce(ID, RunEnd::Done));
    assert_eq!(
        outcome(&rig),
        RunOutcome::Begun,
        "the end of the run is unknown"
    );
}

#[test]
fn a_later_run_is_newer_whatever_the_clocks_show() {
    let mut rig = owner_running(OnceRequest {
        every: ms(1),
        ..nightly()
    });
    let first = *rig
        .machine
        .runs()
        .map(|run| run.stamp)
        .collect::<Vec<_>>()
        .first()
        .unwrap();
    rig.command(Command::EndOnce(ID, RunEnd::Done));
    rig.now.wall = 0;
    rig.pass_time(ms(2));
    rig.command(Command::Once(OnceRequest {
        every: ms(1),
        ..nightly()
    }));
    let asked = question(&rig);
    agree(&mut rig, asked, &[3, 7]);
    let second = rig.machine.runs().next().expect("a run").stamp;
    assert!((second.progress, second.run) > (first.progress, first.run));
}

#[test]
fn a_member_whose_clock_was_set_learns_the_age_of_a_run_from_others() {
    let known = stamp("nightly", RunOutcome::Done);
    let recalled = |began| {
        let stored = StoredStamp {
            place: 0,
            stamp: known,
            began,
            before: None,
        };
        let machine = Lab2::new(constants(), BLANK).with_stamps([stored]);
        let mut rig = Rig::looser();
        rig.machine = machine;
        rig.now.wall = nanos(30 * HOUR);
        rig.link_up();
        rig
    };
    let age = |rig: &Rig| rig.machine.runs().next().expect("a run").age;
    let rig = recalled(nanos(27 * HOUR));
    assert_eq!(age(&rig), 3 * HOUR);
    let mut ahead = recalled(nanos(31 * HOUR));
    assert_eq!(
        age(&ahead),
        Duration::ZERO,
        "the clock has gone back, so the run may have just begun"
    );
    ahead.hear_all(
        3,
        stamps_frame(
            (token(10), 1, 0),
            Purpose::Tell,
            &[wire_stamp(&known, Some(5 * HOUR))],
        ),
    );
    assert_eq!(age(&ahead), 5 * HOUR);
    let mut behind = recalled(0);
    assert_eq!(age(&behind), 30 * HOUR);
    behind.hear_all(
        3,
        stamps_frame(
            (token(10), 1, 0),
            Purpose::Tell,
            &[wire_stamp(&known, Some(HOUR))],
        ),
    );
    assert_eq!(
        age(&behind),
        HOUR,
        "otherwise the job would run again too early"
    );
    behind.hear_all(
        3,
        stamps_frame(
            (token(10), 2, 0),
            Purpose::Tell,
            &[wire_stamp(&known, Some(9 * HOUR))],
        ),
    );
    assert_eq!(age(&behind), HOUR);
}

#[test]
fn a_member_that_knows_a_younger_age_does_not_agree() {
    let mut rig = waiter();
    let known = stamp("nightly", RunOutcome::Done);
    rig.hear_all(
        3,
        stamps_frame(
            (token(10), 1, 0),
            Purpose::Tell,
            &[wire_stamp(&known, Some(HOUR))],
        ),
    );
    let sent = rig.hear_all(3, stamps_frame((token(10), 2, 1), Purpose::Ask, &[]));
    assert_eq!(sent, ["STAMPS Differ 1 to n3"]);
    let digest = question(&rig).2;
    for (age, purpose) in [
        (Some(HOUR), "Agree 0"),
        (Some(9 * HOUR), "Differ 1"),
        (None, "Differ 1"),
    ] {
        let asked = (token(10), 3, digest);
        let sent = rig.hear_all(
            3,
            stamps_frame(asked, Purpose::Ask, &[wire_stamp(&known, age)]),
        );
        assert_eq!(sent, [format!("STAMPS {purpose} to n3")], "{age:?}");
    }
}

/// After a split, members may know two runs of one job. The older run may have been made under the stronger token, so
/// its stamp replaces the stamp of the newer run.
#[test]
fn a_replaced_run_still_counts() {
    let younger = stamp("nightly", RunOutcome::Done);
    let newer = Stamp {
        progress: 10 + (1 << 40),
        runner: mac(7),
        ..younger
    };
    let both = [(younger, HOUR), (newer, 30 * HOUR)];
    for order in [both, [both[1], both[0]]] {
        let (mut rig, asked) = owner_asking(nightly());
        for (run, age) in order {
            rig.hear(
                3,
                stamps_frame(asked, Purpose::Differ, &[wire_stamp(&run, Some(age))]),
            );
        }
        rig.pass_time(TAKE_TIMEOUT);
        let asked = question(&rig);
        agree(&mut rig, asked, &[3, 7]);
        let stands = progress(&rig);
        assert!(matches!(stands, Some(OnceProgress::Ran(_))), "{stands:?}");
    }
}

#[test]
fn a_void_run_does_not_hide_the_earlier_one() {
    let (mut rig, asked) = owner_asking(nightly());
    let known = wire_stamp(&stamp("nightly", RunOutcome::Done), Some(19 * HOUR));
    rig.hear(3, stamps_frame(asked, Purpose::Differ, &[known]));
    let mut void = wire_stamp(
        &Stamp {
            run: 1,
            ..stamp("nightly", RunOutcome::Void)
        },
        Some(ms(1)),
    );
    void.before = nanos(19 * HOUR).into();
    rig.hear(3, stamps_frame(asked, Purpose::Differ, &[void]));
    let run = rig.machine.runs().next().expect("the run is known");
    assert!(nightly().is_satisfied_by(&run), "the earlier run counts");
    rig.stall(2 * HOUR);
    rig.wake();
    let run = rig.machine.runs().next().expect("the run is known");
    assert!(!nightly().is_satisfied_by(&run));
}

#[test]
fn a_call_may_come_early_by_a_hundredth_of_the_period_and_a_minute() {
    let run = |age, before| RunView {
        stamp: stamp("nightly", RunOutcome::Done),
        age,
        before,
    };
    let day = OnceRequest {
        every: 24 * HOUR,
        ..nightly()
    };
    let minute = Duration::from_secs(60);
    let second = OnceRequest {
        every: ms(1000),
        ..nightly()
    };
    for (request, tolerance) in [(day, minute), (second, ms(10))] {
        let due = request.every - tolerance;
        assert!(request.is_satisfied_by(&run(due - ms(1), None)));
        assert!(!request.is_satisfied_by(&run(due, None)));
        let left = |age, before| request.period_left(&run(age, before));
        assert_eq!(left(due, None), tolerance);
        assert_eq!(left(request.every + ms(5), None), Duration::ZERO);
        // The earlier run also counts.
        assert!(request.is_satisfied_by(&run(due, Some(due - ms(1)))));
        assert_eq!(left(due, Some(due - ms(1))), tolerance + ms(1));
    }
}

#[test]
fn only_an_owner_runs_a_job() {
    let mut rig = waiter();
    rig.command(Command::Once(nightly()));
    assert_eq!(progress(&rig), None);
    let mut giver = Rig::giver();
    giver.command(Command::Once(nightly()));
    assert_eq!(progress(&giver), None);
    let mut rig = owner_running(nightly());
    rig.command(Command::Yield(None));
    assert_eq!(progress(&rig), None, "the request ended first");
    rig.hear(3, take(token(90)));
    assert!(rig.machine.poll_timeout().is_some());
}

/// Found by fuzzing: after the link went down, the job stayed `Begun` until the next input.
#[test]
fn a_job_ends_at_once_with_the_link() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig.command(Command::Once(nightly()));
    assert!(rig.machine.once_progress().is_some());
    rig.link(LinkState::Down);
    assert_eq!(rig.machine.once_progress(), None);
}

#[test]
fn a_paused_node_requests_no_job() {
    let mut rig = Rig::looser();
    rig.pass_time(2 * ANSWER_TIMEOUT);
    rig.command(Command::Pause(Some(Pause::PLAIN)));
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(rig.command(Command::Once(nightly())), [""; 0]);
    assert_eq!(progress(&rig), None);
}

#[test]
fn a_run_ends_with_its_token_but_not_when_its_owner_outbids() {
    let owner_running = stamp("nightly", RunOutcome::Begun);
    let mut rig = Rig::waiter();
    assert!(
        !rig.machine.is_run_over(&owner_running),
        "the token of the run"
    );
    // n3 outbids this token of another owner.
    rig.hear_all(7, here(token_of(1_000, 7, 1)));
    assert!(rig.machine.is_run_over(&owner_running));
    rig.hear_all(3, here(token_of(2_024, 3, 2)));
    assert!(!rig.machine.is_run_over(&owner_running));
    rig.hear_all(7, here(token_of(2_025, 3, 2)));
    assert!(
        rig.machine.is_run_over(&owner_running),
        "n3 has handed the token over"
    );
    let done = stamp("nightly", RunOutcome::Done);
    assert!(!rig.machine.is_run_over(&done));
}

#[test]
fn the_runner_knows_whether_its_run_goes_on() {
    let rig = owner_running(nightly());
    let run = rig.machine.runs().next().expect("the run is stamped").stamp;
    let earlier = Stamp { progress: 1, ..run };
    assert!(!rig.machine.is_run_over(&run));
    assert!(
        rig.machine.is_run_over(&earlier),
        "the run belongs to an earlier start"
    );
}
