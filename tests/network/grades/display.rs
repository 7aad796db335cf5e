//! Display of grades, and the number of members that a ring must know to have a quorum.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use ring_segment::{Daemon, Test, WAIT, binaries, tests};
use serde_json::Value;

use super::{
    Holder, QUORUM_OPTIONS, WAIT_LIMIT, bridge, check_no_quorum, form, form_with, output_of,
    ringctl, shared_ring, timing,
};

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_command_can_require_a_quorum_and_its_environment_shows_the_grade,
        status_and_watch_show_the_grade,
        a_lone_member_without_an_expected_number_has_no_quorum,
        expected_members_that_never_came_count,
    ]
}

fn a_command_can_require_a_quorum_and_its_environment_shows_the_grade() -> Result<()> {
    let ring = shared_ring(3)?;
    for daemon in &ring.daemons {
        let grade = output_of(daemon, QUORUM_OPTIONS, "echo $RINGD_GRADE")?;
        ensure!(grade == "quorum", "{grade}");
    }
    // A client that requires no grade gets the token.
    for daemon in &ring.daemons {
        let grade = output_of(daemon, &["-w", WAIT], "echo $RINGD_GRADE")?;
        ensure!(["alone", "quorum"].contains(&grade.as_str()), "{grade}");
    }
    Ok(())
}

/// `ringctl watch --json --turns`.
struct TurnWatch(Child, BufReader<std::process::ChildStdout>);

impl TurnWatch {
    /// Starts a watch, and reads the snapshot at the beginning of its output.
    fn start(daemon: &Daemon) -> Result<Self> {
        let mut command = Command::new(binaries().ringctl);
        command.arg("--socket").arg(daemon.control());
        let arguments = ["watch", "--json", "--turns"];
        command.args(arguments).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let reader = BufReader::new(child.stdout.take().context("a pipe")?);
        let mut watch = Self(child, reader);
        let snapshot = watch.next()?;
        ensure!(snapshot.get("snapshot").is_some(), "{snapshot}");
        Ok(watch)
    }

    fn next(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.1.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("'{line}'"))
    }
}

impl Drop for TurnWatch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn status_and_watch_show_the_grade() -> Result<()> {
    let ring = shared_ring(3)?;
    let mut watch = TurnWatch::start(&ring.daemons[2])?;
    let holder = Holder::start_working(&ring.daemons[2], QUORUM_OPTIONS)?;
    loop {
        let event = watch.next()?;
        let event = &event["event"];
        if event["event"] == "grade_changed" && event["grade"] == "quorum" {
            break;
        }
        let granted = event["event"] == "lock_granted";
        ensure!(
            !granted,
            "the token is granted before it has its grade: {event}"
        );
    }
    let status = ring.daemons[2].status()?;
    ensure!(status["grade"] == "quorum", "{status:#}");
    ensure!(status["constants"]["expect"] == 3, "{status:#}");
    let text = ringctl(&ring.daemons[2], &["status"])?.stdout;
    let text = String::from_utf8(text)?;
    ensure!(text.contains("OWNER, grade quorum"), "{text}");
    let other = ring.daemons[0].status()?;
    ensure!(
        other["grade"] == "alone",
        "the member owns no token: {other:#}"
    );
    holder.finish()
}

fn a_lone_member_without_an_expected_number_has_no_quorum() -> Result<()> {
    let ring = form_with(bridge(1)?, 1, |ringd| ringd)?;
    let daemon = &ring.daemons[0];
    let grade = output_of(daemon, &["-w", WAIT], "echo $RINGD_GRADE")?;
    ensure!(grade == "alone", "{grade}");
    check_no_quorum(daemon, timing())?;
    drop(ring);
    let ring = form::<1>(bridge(1)?)?;
    let daemon = &ring.daemons[0];
    let grade = output_of(daemon, QUORUM_OPTIONS, "echo $RINGD_GRADE")?;
    ensure!(grade == "quorum", "{grade}");
    daemon.wait_for_status(WAIT_LIMIT, |status| status["grade"] == "quorum")?;
    Ok(())
}

fn expected_members_that_never_came_count() -> Result<()> {
    let ring = form_with(bridge(2)?, 2, |ringd| ringd.option("--ring-size", "4"))?;
    for daemon in &ring.daemons {
        let why = check_no_quorum(daemon, timing())?;
        ensure!(why.contains("2 of 4 confirmed, 3 needed"), "{why}");
        let grade = output_of(daemon, &["-r", "view", "-w", WAIT], "echo $RINGD_GRADE")?;
        ensure!(grade == "all-heard", "{grade}");
    }
    Ok(())
}
