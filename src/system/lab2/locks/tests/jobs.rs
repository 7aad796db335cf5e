//! Clients that want the token to run a job once in its period.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::RunOutcome;
use ring_control::lab2::{LockRequest, RefusalReason};
use ring_process::ClientId;
use ring_proto::lab2::{Command, JobName, OnceStanding, RunEnd, RunView, Stamp, State};

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

fn has_run() -> Notice {
    Notice::Ran {
        run: run(),
        left: 19 * HOUR,
    }
}

/// A client wants to run the job; the machine is asked for it.
fn wants_to_run(rig: &mut Rig, id: ClientId) {
    let (client, request) = (client(id), LockRequest::default());
    let asked = rig
        .locks
        .request(rig.now, client, request, Some(job()), HEARTBEAT);
    assert_eq!(asked, Ok(()));
}

/// What is said when the job has come so far, which is that of client 1.
fn stands(rig: &mut Rig, standing: OnceStanding) -> Vec<(ClientId, Notice)> {
    rig.machine.once = Some((1, standing));
    rig.update()
}

fn is_once(command: &Command) -> bool {
    matches!(command, Command::Once(request) if request.id == 1 && request.name == job().name)
}

/// A machine that is asking the members for the job of client 1.
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
    assert_eq!(stands(&mut rig, OnceStanding::Asking), []);
    assert_eq!(stands(&mut rig, OnceStanding::Begun), rig.granted(1));
}

#[test]
fn a_job_that_has_run_or_finds_no_room_is_refused_and_the_machine_is_free() {
    for (standing, notice) in [
        (OnceStanding::Ran(run()), has_run()),
        (OnceStanding::Full, Notice::Refused(RefusalReason::Names)),
        (OnceStanding::TooSmall, Notice::Refused(RefusalReason::Mtu)),
    ] {
        let mut rig = asking();
        let (now, mut machine) = (rig.now, rig.machine);
        machine.once = Some((1, standing));
        let mut told = Vec::new();
        let mut tell = |client, _: &LockRequest, notice| told.push((client, notice));
        let command = rig.locks.update(now, &machine, &mut tell);
        assert_eq!(command, Some(Command::EndOnce(1, RunEnd::NotRun)));
        assert_eq!(told, [(1, notice)]);
        assert_eq!(rig.update(), []);
        assert_eq!(rig.commands.last(), Some(&Command::WorkDone));
    }
}

#[test]
fn who_gives_up_before_the_run_begins_has_not_run_and_who_is_gone_later_is_lost() {
    for (standing, end) in [
        (OnceStanding::Asking, RunEnd::NotRun),
        (OnceStanding::Begun, RunEnd::Unknown),
    ] {
        let mut rig = asking();
        stands(&mut rig, standing);
        rig.locks.release(1);
        let (now, machine) = (rig.now, rig.machine);
        let mut tell = |_, _: &LockRequest, notice| panic!("{notice:?}");
        let command = rig.locks.update(now, &machine, &mut tell);
        assert_eq!(command, Some(Command::EndOnce(1, end)));
    }
}

#[test]
fn who_waits_for_a_job_that_runs_elsewhere_is_told_without_the_token() {
    let mut rig = Rig::new();
    wants_to_run(&mut rig, 1);
    rig.wants(2);
    let mut told = Vec::new();
    let mut tell = |client, _: &LockRequest, notice| told.push((client, notice));
    rig.locks
        .dismiss(|once| (once.id == 1).then(run), &mut tell);
    assert_eq!(told, [(1, has_run())]);
    assert!(rig.locks.concerns(2) && !rig.locks.concerns(1));
}

/// A settled machine that asks the members about the job of client 1, as a test lives through time.
fn told_while_asking(rig: &mut Rig, time: Duration) -> Vec<(ClientId, Notice)> {
    let turn = Duration::from_millis(1);
    let mut told = Vec::new();
    for _ in 0..time.as_millis() {
        rig.now = rig.now + turn;
        // The machine renews what it has.
        rig.machine.lease_until = rig.now + LEASE;
        let mut tell = |client, _: &LockRequest, notice| told.push((client, notice));
        while let Some(command) = rig.locks.update(rig.now, &rig.machine, &mut tell) {
            match command {
                Command::Once(request) => {
                    rig.machine.once = Some((request.id, OnceStanding::Asking));
                }
                Command::EndOnce(..) => rig.machine.once = None,
                Command::WorkDone if rig.machine.others_want => rig.goes(State::Waiter),
                _ => {}
            }
            rig.commands.push(command);
        }
    }
    told
}

/// A member that never agrees, of an older version or with a full disk, does not cost the ring its token.
#[test]
fn a_job_that_nobody_agrees_to_gives_way_to_other_members_and_is_tried_again_on_the_next_turn() {
    let mut rig = asking();
    stands(&mut rig, OnceStanding::Asking);
    rig.machine.others_want = true;
    let lasts = rig.machine.asking_lasts;
    told_while_asking(&mut rig, lasts - Duration::from_millis(1));
    assert!(rig.machine.token.is_some(), "members may need so long");
    let due = rig.locks.deadline();
    assert_eq!(due, Some(rig.now + Duration::from_millis(1)));
    told_while_asking(&mut rig, Duration::from_millis(1));
    assert_eq!(rig.machine.token, None, "the others have their turn");
    let given_up = Command::EndOnce(1, RunEnd::NotRun);
    assert_eq!(rig.count(&given_up), 1);
    assert_eq!(rig.commands.last(), Some(&Command::WantToken));
    assert!(rig.locks.concerns(1), "it waits on");
    let asked = |rig: &Rig| rig.commands.iter().filter(|it| is_once(it)).count();
    let before = asked(&rig);
    rig.comes(4);
    told_while_asking(&mut rig, Duration::from_millis(1));
    assert_eq!(asked(&rig), before + 1, "it is tried again");
    assert_eq!(stands(&mut rig, OnceStanding::Begun), rig.granted(1));
}

#[test]
fn a_job_that_nobody_agrees_to_gives_way_to_who_waits_behind_it_on_this_machine() {
    let mut rig = asking();
    stands(&mut rig, OnceStanding::Asking);
    rig.wants(2);
    let lasts = rig.machine.asking_lasts;
    let told = told_while_asking(&mut rig, lasts);
    assert_eq!(told, rig.granted(2));
    assert!(rig.locks.concerns(1), "it waits on");
}

#[test]
fn a_job_that_keeps_nobody_waiting_is_asked_about_without_end() {
    let mut rig = asking();
    stands(&mut rig, OnceStanding::Asking);
    let lasts = rig.machine.asking_lasts;
    told_while_asking(&mut rig, 3 * lasts);
    assert_eq!(rig.count(&Command::EndOnce(1, RunEnd::NotRun)), 0);
    assert_eq!(rig.locks.deadline(), None, "nothing is to be done");
}

#[test]
fn who_wants_no_job_is_not_kept_waiting_by_one_that_needs_more() {
    let mut rig = asking();
    stands(&mut rig, OnceStanding::Asking);
    rig.wants(2);
    assert!(rig.locks.concerns(1) && rig.locks.concerns(2));
    assert_eq!(stands(&mut rig, OnceStanding::Asking), []);
    rig.locks.release(1);
    rig.machine.once = None;
    assert_eq!(rig.update(), rig.granted(2));
}
