//! Grades and pauses of real daemons, from the point of view of users of `ringctl`.

mod display;
mod holder;
mod pausing;
mod preference;
mod quorum;

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{
    Daemon, Layout, Ring, Ringd, Segment, SharedRing, Test, Timing, WAIT, WAIT_LIMIT, binaries,
};

use holder::Holder;
pub(crate) use holder::work_if_asked;

const HEARTBEAT: Duration = Duration::from_millis(100);
/// Exit code of `ringctl run` that lost the token.
const LOST_CODE: i32 = 75;
/// Exit code that the tests choose for a refused token.
const REFUSED_CODE: i32 = 9;
/// Options of a command that needs a quorum, and waits for a limited time.
const QUORUM_OPTIONS: &[&str] = &["--require", "quorum", "-w", WAIT];

pub(crate) fn tests() -> Vec<Test> {
    let mut tests = display::tests();
    tests.extend(quorum::tests());
    tests.extend(pausing::tests());
    tests.extend(preference::tests());
    tests
}

/// Returns constants that let a command survive while its daemon is stalled for half a second.
fn timing() -> Timing {
    Timing::stall_tolerant(HEARTBEAT)
}

/// Returns shorter constants for exclusive tests only.
fn exclusive_timing() -> Timing {
    Timing::stall_tolerant(HEARTBEAT / 2)
}

/// Returns a shared ring of daemons with `--ring-size`, for tests that harm no daemon.
fn shared_ring(count: usize) -> Result<SharedRing> {
    let layout = Layout::new(count).addresses();
    let expect = [("--ring-size", count.to_string())];
    SharedRing::on(layout, timing(), binaries(), &expect)
}

/// Forms a ring with `--ring-size` for one test.
fn form<const N: usize>(segment: Segment) -> Result<Ring> {
    form_with(segment, N, |ringd| {
        ringd.option("--ring-size", N.to_string())
    })
}

/// Forms a ring with shorter times for an exclusive test.
fn form_exclusive<const N: usize>(segment: Segment) -> Result<Ring> {
    let expect = |ringd: Ringd| ringd.option("--ring-size", N.to_string());
    form_by(segment, N, exclusive_timing(), expect)
}

fn form_with(segment: Segment, count: usize, options: fn(Ringd) -> Ringd) -> Result<Ring> {
    form_by(segment, count, timing(), options)
}

fn form_by(
    segment: Segment,
    count: usize,
    timing: Timing,
    options: fn(Ringd) -> Ringd,
) -> Result<Ring> {
    let ring = Ring::start_with(segment, count, timing, binaries(), options)?;
    ring.wait_until_formed()?;
    Ok(ring)
}

fn bridge(count: usize) -> Result<Segment> {
    Layout::new(count).addresses().bridge()
}

fn ringctl(daemon: &Daemon, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(binaries().ringctl);
    command.arg("--socket").arg(daemon.control());
    command.args(arguments).stdin(Stdio::null());
    Ok(command.output()?)
}

/// Returns the output of a script under `ringctl run` with these options.
fn output_of(daemon: &Daemon, options: &[&str], script: &str) -> Result<String> {
    let arguments = [&["run"], options, &["-c", script]].concat();
    let output = ringctl(daemon, &arguments)?;
    ensure!(output.status.success(), "{options:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Checks that the daemon grants no quorum during the time that a ring with these constants needs to elect its owner.
/// Returns the error.
fn check_no_quorum(daemon: &Daemon, timing: Timing) -> Result<String> {
    // The status may show the grade of the previous tenure until this grade expires.
    daemon.wait_for_status(WAIT_LIMIT, |status| status["grade"] != "quorum")?;
    let seconds = timing.one_owner_bound().as_secs() + 1;
    let wait = seconds.to_string();
    let refused = ["run", "-r", "quorum", "-w", &wait, "-E", "9", "true"];
    let output = ringctl(daemon, &refused)?;
    ensure!(output.status.code() == Some(REFUSED_CODE), "{output:?}");
    let why = String::from_utf8_lossy(&output.stderr);
    let message = format!("timed out after {seconds} s: no quorum: ");
    ensure!(why.contains(&message), "{why}");
    Ok(why.into_owned())
}

/// Checks that the first command ended before the second command began.
fn check_disjoint(first: &Holder, second: &Holder) -> Result<()> {
    let (ended, begun) = (
        first.last()?,
        second.first()?.context("the command never began")?,
    );
    ensure!(
        ended < begun,
        "the first command ended at {ended:?}, but the next began at {begun:?}"
    );
    Ok(())
}
