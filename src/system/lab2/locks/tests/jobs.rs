//! Tests with clients that request the token for a job that runs once per period.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::RunOutcome;
use ring_control::lab2::{LockRequest, RefusalReason};
use ring_process::ClientId;
use ring_proto::lab2::{Command, JobName, OnceProgress, RunEnd, RunView, Stamp, State};

use super::super::{Job, Notice};
use super::{HEARTBEAT, LEASE, Rig, client};

const HOUR: Duration = Duration::from_secs(3600);

fn job() -> Job {
    Job {
        name: JobName::new("nightly").expect("a name"),
        every: 20 * HOUR,
        retry: false,
    }
}

fn run() -> RunView {
    RunView {
        stamp: Stamp {
            name: job().name,
            progress: 1,
            run: 0,
            runner: MacAddr([2, 0, 0, 0, 0, 9]),
            outcome: RunOutcome::Done,
            period: 20 * HOUR,
        },
        age: HOUR,
        before: None,
    }
}

fn already_ran() -> Notice {
    Notice::Ran {
        run: run(),
        left: 19 * HOUR,
    }
}

/// Queues a client that requests the token for the job.
fn wants_to_run(rig: &mut Rig, id: ClientId) {
    let (client, request) = (client(id), LockRequest::default());
    let asked = rig
        .locks
        .request(rig.now, client, request, Some(job()), HEARTBEAT);
    assert_eq!(asked, Ok(()));
}

/// Sets the progress of the job of client 1, and returns the notices.
fn set_progress(rig: &mut Rig, standing: OnceProgress) -> Vec<(ClientId, Notice)> {
    rig.machine.once = Some((1, standing));
    rig.update()
}

fn is_once(command: &Command) -> bool {
    matches!(command, Command::Once(request) if request.id == 1 && request.name == job().name)
}

/// Creates a machine that asks the members about the job of client 1.
fn asking() -> Rig {
    let mut rig = Rig::has_token(1);
    wants_to_run(&mut rig, 1);
    rig.machine.once = None;
    let (now, machine) = (rig.now, rig.machine);
    let mut tell = |_, _: &LockRequest, notice| panic!("{notice:?}");
    let command = rig.locks.update(now, &machine, &mut tell);
    assert_eq!(command, Some(Command::WantToken));
    let command = rig.locks.update(now, &machine, &mut tell);
    assert!(command.as_ref().is_some_and(is_once), "{command:?}");
    rig
}

#[test]
fn a_job_is_granted_the_token_when_its_run_may_begin_and_not_before() {
    let mut rig = asking();
    assert_eq!(set_progress(&mut rig, OnceProgress::Asking), []);
    assert_eq!(
        set_progress(&mut rig, OnceProgress::Begun),
        rig.grant_notices(1)
    );
}

#[test]
fn a_job_that_has_run_or_does_not_fit_is_refused_and_the_machine_is_free() {
    for (standing, notice) in [
        (OnceProgress::Ran(run()), already_ran()),
        (
            OnceProgress::Full,
            Notice::Refused(RefusalReason::JobTableFull),
        ),
        (OnceProgress::TooSmall, Notice::Refused(RefusalReason::Mtu)),
    ] {
        let mut rig = asking();
        let (now, mut machine) = (rig.now, rig.machine);
        machine.once = Some((1, standing));
        let mut notices = Vec::new();
        let mut tell = |client, _: &LockRequest, notice| notices.push((client, notice));
        let command = rig.locks.update(now, &machine, &mut tell);
        assert_eq!(command, Some(Command::EndOnce(1, RunEnd::NotRun)));
        assert_eq!(notices, [(1, notice)]);
        assert_eq!(rig.update(), []);
        assert_eq!(rig.commands.last(), Some(&Command::WorkDone));
    }
}

#[test]
fn a_client_that_leaves_before_the_run_has_not_run_and_later_is_lost() {
    for (standing, end) in [
        (OnceProgress::Asking, RunEnd::NotRun),
        (OnceProgress::Begun, RunEnd::Unknown),
    ] {
        let mut rig = asking();
        set_progress(&mut rig, standing);
        rig.locks.release(1);
        let (now, machine) = (rig.now, rig.machine);
        let mut tell = |_, _: &LockRequest, notice| panic!("{notice:?}");
        let command = rig.locks.update(now, &machine, &mut tell);
        assert_eq!(command, Some(Command::EndOnce(1, end)));
    }
}

#[test]
fn a_client_is_notified_of_a_run_elsewhere_without_the_token() {
    let mut rig = Rig::new();
    wants_to_run(&mut rig, 1);
    rig.want(2);
    let mut notices = Vec::new();
    let mut tell = |client, _: &LockRequest, notice| notices.push((client, notice));
    rig.locks
        .refuse_finished_jobs(|once| (once.id == 1).then(run), &mut tell);
    assert_eq!(notices, [(1, already_ran())]);
    assert!(rig.locks.involves(2) && !rig.locks.involves(1));
}

/// While the machine asks the members about the job of client 1, advances the time by `time` in steps. Returns the
/// notices.
fn advance_while_asking(rig: &mut Rig, time: Duration) -> Vec<(ClientId, Notice)> {
    let turn = Duration::from_millis(1);
    let mut notices = Vec::new();
    for _ in 0..time.as_millis() {
        rig.now = rig.now + turn;
        // The machine renews its lease.
        rig.machine.lease_until = rig.now + LEASE;
        let mut tell = |client, _: &LockRequest, notice| notices.push((client, notice));
        while let Some(command) = rig.locks.update(rig.now, &rig.machine, &mut tell) {
            match command {
                Command::Once(request) => {
                    rig.machine.once = Some((request.id, OnceProgress::Asking));
                }
                Command::EndOnce(..) => rig.machine.once = None,
                Command::WorkDone if rig.machine.others_want => rig.lose_token(State::Waiter),
                _ => {}
            }
            rig.commands.push(command);
        }
    }
    notices
}

/// A member may never agree, for example because of an older version or a full disk. A member that never agrees must
/// not block the ring's token.
#[test]
fn an_unconfirmed_job_gives_way_to_other_members_and_is_tried_again() {
    let mut rig = asking();
    set_progress(&mut rig, OnceProgress::Asking);
    rig.machine.others_want = true;
    let lasts = rig.machine.asking_lasts;
    advance_while_asking(&mut rig, lasts - Duration::from_millis(1));
    assert!(rig.machine.token.is_some(), "members may need that long");
    let due = rig.locks.deadline();
    assert_eq!(due, Some(rig.now + Duration::from_millis(1)));
    advance_while_asking(&mut rig, Duration::from_millis(1));
    assert_eq!(rig.machine.token, None, "the others have their turn");
    let given_up = Command::EndOnce(1, RunEnd::NotRun);
    assert_eq!(rig.count(&given_up), 1);
    assert_eq!(rig.commands.last(), Some(&Command::WantToken));
    assert!(rig.locks.involves(1), "it waits on");
    let asked = |rig: &Rig| rig.commands.iter().filter(|it| is_once(it)).count();
    let before = asked(&rig);
    rig.take_token(4);
    advance_while_asking(&mut rig, Duration::from_millis(1));
    assert_eq!(asked(&rig), before + 1, "it is tried again");
    assert_eq!(
        set_progress(&mut rig, OnceProgress::Begun),
        rig.grant_notices(1)
    );
}

#[test]
fn an_unconfirmed_job_gives_way_to_the_next_client() {
    let mut rig = asking();
    set_progress(&mut rig, OnceProgress::Asking);
    rig.want(2);
    let lasts = rig.machine.asking_lasts;
    let notices = advance_while_asking(&mut rig, lasts);
    assert_eq!(notices, rig.grant_notices(2));
    assert!(rig.locks.involves(1), "it waits on");
}

#[test]
fn an_unconfirmed_job_that_blocks_nobody_is_asked_about_indefinitely() {
    let mut rig = asking();
    set_progress(&mut rig, OnceProgress::Asking);
    let lasts = rig.machine.asking_lasts;
    advance_while_asking(&mut rig, 3 * lasts);
    assert_eq!(rig.count(&Command::EndOnce(1, RunEnd::NotRun)), 0);
    assert_eq!(rig.locks.deadline(), None, "nothing is to be done");
}

#[test]
fn a_job_does_not_delay_a_client_without_a_job_when_it_leaves() {
    let mut rig = asking();
    set_progress(&mut rig, OnceProgress::Asking);
    rig.want(2);
    assert!(rig.locks.involves(1) && rig.locks.involves(2));
    assert_eq!(set_progress(&mut rig, OnceProgress::Asking), []);
    rig.locks.release(1);
    rig.machine.once = None;
    assert_eq!(rig.update(), rig.grant_notices(2));
}
