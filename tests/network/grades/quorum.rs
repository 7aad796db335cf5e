//! Checks that at most one holder at a time has a quorum during splits, stalls and deaths.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    Case, Layout, SLACK, Segment, Test, Timing, WAIT, binaries, side_by_side, tests,
};

use super::holder::boottime;
use super::{
    Holder, LOST_CODE, QUORUM_OPTIONS, WAIT_LIMIT, bridge, check_disjoint, check_no_quorum,
    exclusive_timing, form, form_exclusive, form_with, output_of, ringctl, timing,
};

pub(super) fn tests() -> Vec<Test> {
    tests![
        exclusive a_holder_that_is_cut_off_or_whose_daemon_is_stopped_ends_before_the_next_begins,
        exclusive each_half_of_a_ring_has_a_view_and_no_half_has_a_quorum,
        three_of_five_members_are_a_quorum_and_two_are_not,
        a_stopped_member_does_not_prevent_a_quorum,
        ringctl_waits_for_a_quorum,
        a_holder_continues_when_an_isolated_machine_comes_back,
        // The member that hears both sides must object to an election before the election ends.
        exclusive a_member_that_was_started_again_does_not_help_two_holders,
    ]
}

/// Three rings run in parallel, so that their waits overlap.
fn a_holder_that_is_cut_off_or_whose_daemon_is_stopped_ends_before_the_next_begins() -> Result<()> {
    let cases: [Case; 3] = [
        ("cut off", || {
            a_holder_that_loses_its_token_ends_in_time(Segment::cut, Segment::heal)
        }),
        ("without carrier", || {
            a_holder_that_loses_its_token_ends_in_time(
                Segment::lose_carrier,
                Segment::regain_carrier,
            )
        }),
        ("standing still", check_holder_with_stopped_daemon),
    ];
    side_by_side(&cases)
}

type Wire = fn(&Segment, usize) -> Result<()>;

fn a_holder_that_loses_its_token_ends_in_time(cut: Wire, heal: Wire) -> Result<()> {
    let ring = form_exclusive::<3>(bridge(3)?)?;
    let mut first = Holder::start_working(&ring.daemons[0], QUORUM_OPTIONS)?;
    let second = Holder::start(&ring.daemons[1], QUORUM_OPTIONS)?;
    let at = boottime()?;
    cut(&ring.segment, 0)?;
    let code = first.wait_exit()?;
    ensure!(code == Some(LOST_CODE), "{code:?}");
    second.wait_for_sign(at)?;
    check_disjoint(&first, &second)?;
    check_short_wait(at, &second)?;
    heal(&ring.segment, 0)?;
    second.finish()?;
    for daemon in &ring.daemons {
        output_of(daemon, QUORUM_OPTIONS, "true")?;
    }
    Ok(())
}

/// Checks that the next holder waited only for an election and the end of earlier confirmations. Earlier confirmations
/// end no later than the election.
fn check_short_wait(from: Duration, next: &Holder) -> Result<()> {
    let waited = next
        .first()?
        .context("the command never began")?
        .saturating_sub(from);
    let timing = exclusive_timing();
    let bound = timing.one_owner_bound() + timing.waiter_timeout() + SLACK;
    ensure!(waited < bound, "the wait took {waited:?}");
    Ok(())
}

fn each_half_of_a_ring_has_a_view_and_no_half_has_a_quorum() -> Result<()> {
    let ring = form_exclusive::<4>(Layout::new(4).addresses().switch(4)?)?;
    let mut before = Holder::start_working(&ring.daemons[0], QUORUM_OPTIONS)?;
    ring.segment
        .rules()
        .set(|rules| rules.partition = vec![0, 0, 1, 1]);
    let code = before.wait_exit()?;
    ensure!(code == Some(LOST_CODE), "{code:?}");
    std::thread::scope(|scope| {
        let sides = [0, 2].map(|at| {
            let daemon = &ring.daemons[at];
            scope.spawn(move || check_no_quorum(daemon, exclusive_timing()))
        });
        sides.into_iter().try_for_each(|partition| {
            partition
                .join()
                .expect("the thread does not panic")
                .map(drop)
        })
    })?;
    let view = &["--require", "all-heard", "-w", WAIT];
    let mut halves = Vec::new();
    for at in [1, 3] {
        halves.push(Holder::start_working(&ring.daemons[at], view)?);
        ensure!(ring.daemons[at].status()?["grade"] == "all-heard");
    }
    let both = boottime()?;
    for half in halves {
        half.wait_for_sign(both)?;
        half.finish()?;
    }
    ring.segment
        .rules()
        .set(|rules| rules.partition = vec![0; 4]);
    let healed = boottime()?;
    let after = Holder::start_working(&ring.daemons[2], QUORUM_OPTIONS)?;
    check_short_wait(healed, &after)?;
    after.finish()
}

fn ringctl_waits_for_a_quorum() -> Result<()> {
    let mut ring = form_with(bridge(3)?, 1, |ringd| ringd.option("--ring-size", "3"))?;
    let wait = ["wait", "--quorum", "--timeout", "1"];
    let early = ringctl(&ring.daemons[0], &wait)?;
    let errors = String::from_utf8_lossy(&early.stderr);
    ensure!(early.status.code() == Some(1), "{early:?}");
    ensure!(
        errors.contains("timed out after 1 s: 1 of 3 members are present, 2 are needed"),
        "{errors}"
    );
    let mut command = Command::new(binaries().ringctl);
    command.arg("--socket").arg(ring.daemons[0].control());
    let waits = command.args(["wait", "--quorum"]).spawn()?;
    ring.join()?;
    let output = waits.wait_with_output()?;
    ensure!(output.status.success(), "{output:?}");
    for daemon in &ring.daemons {
        let output = ringctl(daemon, &["wait", "--quorum", "-w", WAIT])?;
        ensure!(output.status.success(), "{output:?}");
    }
    Ok(())
}

/// The returning machine elected itself, and its token is stronger than the holder's token.
fn a_holder_continues_when_an_isolated_machine_comes_back() -> Result<()> {
    let ring = form::<3>(bridge(3)?)?;
    let holder = Holder::start_working(&ring.daemons[0], QUORUM_OPTIONS)?;
    ring.segment.cut(2)?;
    let alone = &ring.daemons[2];
    let progress = |status: &serde_json::Value| status["token"]["progress"].as_u64();
    let elected = alone.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    ensure!(progress(&elected) > progress(&ring.daemons[1].status()?));
    ring.segment.heal(2)?;
    let stronger = |status: &serde_json::Value| progress(status) > progress(&elected);
    alone.wait_for_status(WAIT_LIMIT, |status| {
        status["state"] == "WAITER" && stronger(status)
    })?;
    check_works_on(&holder, timing())?;
    ensure!(ring.daemons[0].status()?["grade"] == "quorum");
    holder.finish()?;
    output_of(alone, QUORUM_OPTIONS, "true").map(drop)
}

/// Checks that the holder still works after all earlier confirmations have expired.
fn check_works_on(holder: &Holder, timing: Timing) -> Result<()> {
    holder.wait_for_sign(boottime()? + 3 * timing.waiter_timeout())
}

fn three_of_five_members_are_a_quorum_and_two_are_not() -> Result<()> {
    let mut ring = form::<5>(bridge(5)?)?;
    let mut holder = Holder::start_working(&ring.daemons[1], QUORUM_OPTIONS)?;
    for at in [0, 4] {
        ring.daemons[at].kill()?;
    }
    check_works_on(&holder, timing())?;
    ensure!(ring.daemons[1].status()?["grade"] == "quorum");
    ring.daemons[2].kill()?;
    let code = holder.wait_exit()?;
    ensure!(code == Some(LOST_CODE), "{code:?}");
    for at in [1, 3] {
        check_no_quorum(&ring.daemons[at], timing())?;
    }
    ring.daemons[2].start()?;
    let grade = output_of(&ring.daemons[3], QUORUM_OPTIONS, "echo $RINGD_GRADE")?;
    ensure!(grade == "quorum", "{grade}");
    Ok(())
}

fn a_stopped_member_does_not_prevent_a_quorum() -> Result<()> {
    let ring = form::<3>(bridge(3)?)?;
    let holder = Holder::start_working(&ring.daemons[0], QUORUM_OPTIONS)?;
    ring.daemons[1].signal(Signal::SIGSTOP)?;
    check_works_on(&holder, timing())?;
    ensure!(ring.daemons[0].status()?["grade"] == "quorum");
    ring.daemons[1].signal(Signal::SIGCONT)?;
    check_works_on(&holder, timing())?;
    holder.finish()
}

/// The command does not learn of the loss, but the keeper ends the command in time.
fn check_holder_with_stopped_daemon() -> Result<()> {
    let ring = form_exclusive::<3>(bridge(3)?)?;
    let mut first = Holder::start_working(&ring.daemons[0], QUORUM_OPTIONS)?;
    let second = Holder::start(&ring.daemons[1], QUORUM_OPTIONS)?;
    let at = boottime()?;
    ring.daemons[0].signal(Signal::SIGSTOP)?;
    second.wait_for_sign(at)?;
    let code = first.wait_exit()?;
    ensure!(code == Some(LOST_CODE), "{code:?}");
    check_disjoint(&first, &second)?;
    check_short_wait(at, &second)?;
    ring.daemons[0].signal(Signal::SIGCONT)?;
    check_works_on(&second, exclusive_timing())?;
    second.finish()
}

/// A member confirms the holder, dies, and restarts without its memory. Meanwhile, the third member is elected. This
/// member has not heard the holder for a long time.
fn a_member_that_was_started_again_does_not_help_two_holders() -> Result<()> {
    let segment = Layout::new(3).addresses().switch(3)?;
    // A confirmation lasts longer than an election.
    let mut ring = form_exclusive::<3>(segment)?;
    let mut first = Holder::start_working(&ring.daemons[0], QUORUM_OPTIONS)?;
    let rules = ring.segment.rules();
    rules.set(|rules| rules.blocked.extend([(0, 2), (2, 0)]));
    ring.daemons[2].wait_for_status(WAIT_LIMIT, |status| status["state"] == "LOOSER")?;
    let second = Holder::start(&ring.daemons[2], QUORUM_OPTIONS)?;
    check_works_on(&first, exclusive_timing())?;
    ring.daemons[1].kill()?;
    ring.segment.cut(0)?;
    let at = boottime()?;
    ring.daemons[1].start()?;
    second.wait_for_sign(at)?;
    let code = first.wait_exit()?;
    ensure!(code == Some(LOST_CODE), "{code:?}");
    check_disjoint(&first, &second)?;
    second.finish()
}
