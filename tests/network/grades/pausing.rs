//! `ringctl pause` and `resume`.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{Daemon, Message, Ring, Seen, Test, WAIT, binaries, is_claim, now, tests};
use serde_json::Value;

use super::holder::boottime;
use super::{
    Holder, LOST_CODE, WAIT_LIMIT, bridge, form_with, output_of, ringctl, shared_ring, timing,
};

/// Exit code of `ringctl pause` if the pause is incomplete.
const PENDING_CODE: i32 = 6;
/// Maximum number of offers in a handover.
const TAKE_ATTEMPTS: usize = 3;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_paused_node_owns_no_token_and_the_others_continue,
        a_pause_of_all_members_ends_when_the_first_member_resumes,
        a_pause_is_pending_until_another_member_takes_the_token_and_ringctl_can_wait_for_it,
        during_a_pause_a_running_command_may_finish_and_no_other_command_starts,
        a_persistent_pause_survives_a_restart_of_the_daemon_and_another_pause_does_not,
        a_pause_with_an_end_survives_a_restart_and_ends_by_itself,
        all_members_show_the_end_and_the_reason_of_a_pause,
    ]
}

fn tell(daemon: &Daemon, what: &str) -> Result<()> {
    let output = ringctl(daemon, &[what])?;
    ensure!(output.status.success(), "{output:?}");
    Ok(())
}

/// Returns the line about a member in the output of `ringctl status`. The line shows the penalty or the pause of the
/// member.
fn penalty_column(daemon: &Daemon, member: &str) -> Result<String> {
    let text = String::from_utf8(ringctl(daemon, &["status"])?.stdout)?;
    let row = text
        .lines()
        .find(|line| line.contains(member) && line.starts_with("  "));
    Ok(row.unwrap_or_default().to_owned())
}

/// Checks that a daemon claims no token from `since` on, and gets at most one series of offers. One series is allowed,
/// because a giver may send an offer before it learns of the pause.
fn check_left_out(ring: &Ring, at: usize, since: Duration) -> Result<()> {
    let frames = ring.frames_since(since);
    let claim = frames.iter().find(|seen| seen.port == at && is_claim(seen));
    ensure!(
        claim.is_none(),
        "the paused member owns the token: {claim:?}"
    );
    let mac = ring.daemons[at].node().mac();
    let is_offer = |seen: &&Seen| matches!(seen.message, Message::TakeToken { .. });
    let offers = frames.iter().filter(|seen| seen.dst == mac);
    let offers = offers.filter(is_offer).count();
    ensure!(
        offers <= TAKE_ATTEMPTS,
        "the paused member got {offers} offers"
    );
    Ok(())
}

fn a_paused_node_owns_no_token_and_the_others_continue() -> Result<()> {
    let ring = shared_ring(3)?;
    let daemon = &ring.daemons[1];
    let mac = daemon.node().mac().to_string();
    let mut holder = Holder::start_working(daemon, &["-w", WAIT])?;
    let waiting = Holder::start(daemon, &["-w", WAIT])?;
    tell(daemon, "pause")?;
    let code = holder.wait_exit()?;
    ensure!(code == Some(LOST_CODE), "{code:?}");
    daemon.wait_for_status(WAIT_LIMIT, |status| {
        status["paused"] == true && status["state"] == "WAITER"
    })?;
    for other in [0, 2] {
        let row = penalty_column(&ring.daemons[other], &mac)?;
        ensure!(row.contains(" paused "), "{row}");
    }
    let text = String::from_utf8(ringctl(daemon, &["status"])?.stdout)?;
    ensure!(
        text.contains("WAITER, paused: does not own the token"),
        "{text}"
    );
    let refused = ringctl(daemon, &["run", "-n", "true"])?;
    let why = String::from_utf8_lossy(&refused.stderr);
    ensure!(refused.status.code() == Some(1), "{refused:?}");
    ensure!(why.contains("this node is paused"), "{why}");
    let since = now();
    for _ in 0..10 {
        for other in [0, 2] {
            output_of(&ring.daemons[other], &["-w", WAIT, "-r", "quorum"], "true")?;
        }
    }
    check_left_out(&ring, 1, since)?;
    ensure!(
        waiting.first()?.is_none(),
        "the paused member grants no lock"
    );
    tell(daemon, "resume")?;
    waiting.wait_for_sign(Duration::ZERO)?;
    waiting.finish()?;
    for other in [0, 2] {
        let row = penalty_column(&ring.daemons[other], &mac)?;
        ensure!(!row.contains("paused"), "{row}");
    }
    output_of(daemon, &["-w", WAIT], "true").map(drop)
}

/// Checks the exit code of `ringctl`. Returns its errors.
fn check_exit(daemon: &Daemon, arguments: &[&str], code: i32) -> Result<String> {
    let output = ringctl(daemon, arguments)?;
    ensure!(
        output.status.code() == Some(code),
        "{arguments:?}: {output:?}"
    );
    Ok(String::from_utf8(output.stderr)?)
}

fn a_pause_is_pending_until_another_member_takes_the_token_and_ringctl_can_wait_for_it()
-> Result<()> {
    let mut ring = form_with(bridge(2)?, 1, |ringd| {
        ringd.option("--idle-hold", "forever")
    })?;
    let mut watch = PauseWatch::of(&ring.daemons[0])?;
    let errors = check_exit(&ring.daemons[0], &["pause", "--wait", "0"], PENDING_CODE)?;
    ensure!(
        errors.contains("pending: no other member has taken"),
        "{errors}"
    );
    let status = ring.daemons[0].status()?;
    ensure!(
        status["pausing"] == "token" && status["state"] == "OWNER",
        "{status:#}"
    );
    let text = String::from_utf8(ringctl(&ring.daemons[0], &["status"])?.stdout)?;
    ensure!(
        text.contains("pausing: no other member has taken"),
        "{text}"
    );
    let quiet = check_exit(
        &ring.daemons[0],
        &["pause", "-q", "-w", "0.1"],
        PENDING_CODE,
    )?;
    ensure!(quiet.is_empty(), "{quiet}");
    let mut command = Command::new(binaries().ringctl);
    command.arg("--socket").arg(ring.daemons[0].control());
    let waits = command
        .args(["pause", "--wait"])
        .stderr(Stdio::piped())
        .spawn()?;
    ring.daemons[0].wait_for_line(WAIT_LIMIT, |line| {
        line.contains("pause requested by process") && line.contains("; pending: no other member")
    })?;
    let complete = |daemon: &Daemon| {
        let lines = daemon.output();
        lines
            .iter()
            .filter(|it| it.contains("owns nothing"))
            .count()
    };
    let early = complete(&ring.daemons[0]);
    ensure!(
        early == 0,
        "status shows no owner while the member owns the token"
    );
    watch.expect_event("pausing")?;
    // Another member takes the token, although an idle token normally rests.
    ring.join()?;
    let output = waits.wait_with_output()?;
    ensure!(output.status.success(), "{output:?}");
    let status = ring.daemons[0].status()?;
    ensure!(
        status["pausing"].is_null() && status["paused"] == true,
        "{status:#}"
    );
    ensure!(status["state"] != "OWNER", "{status:#}");
    output_of(&ring.daemons[1], &["-w", WAIT], "true")?;
    check_exit(&ring.daemons[0], &["pause"], 0)?;
    ring.daemons[0].wait_for_line(WAIT_LIMIT, |line| {
        line.contains("paused: owns nothing until ringctl resume")
    })?;
    let count = complete(&ring.daemons[0]);
    ensure!(count == 1, "the event occurred {count} times");
    watch.expect_event("paused")?;
    tell(&ring.daemons[0], "resume")?;
    watch.expect_event("resumed")
}

struct PauseWatch {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl PauseWatch {
    /// Starts a watch, and waits for its snapshot.
    fn of(daemon: &Daemon) -> Result<Self> {
        let mut command = Command::new(binaries().ringctl);
        command.arg("--socket").arg(daemon.control());
        command.args(["watch", "--json"]).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("a pipe")?;
        let mut lines = BufReader::new(output).lines();
        lines.next().context("a snapshot")??;
        Ok(Self { child, lines })
    }

    /// Waits for the next event about a pause, and checks that it is `event`.
    fn expect_event(&mut self, event: &str) -> Result<()> {
        loop {
            let line = self.lines.next().context("the watch continues")??;
            let message: Value = serde_json::from_str(&line)?;
            let name = message["event"]["event"].as_str().unwrap_or_default();
            let all = [
                "pausing",
                "paused",
                "resumed",
                "member_paused",
                "member_resumed",
            ];
            if all.contains(&name) {
                ensure!(name == event, "{message}");
                return Ok(());
            }
        }
    }
}

impl Drop for PauseWatch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn during_a_pause_a_running_command_may_finish_and_no_other_command_starts() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let holder = Holder::start_working(daemon, &["-w", WAIT])?;
    let waiting = Holder::start(daemon, &["-w", WAIT])?;
    let errors = check_exit(daemon, &["pause", "--drain", "--wait", "0"], PENDING_CODE)?;
    ensure!(
        errors.contains("pending: a program of this machine"),
        "{errors}"
    );
    ensure!(daemon.status()?["pausing"] == "holder");
    // Renewals let the holder continue for longer than its first lease.
    holder.wait_for_sign(boottime()? + 2 * timing().waiter_timeout())?;
    holder.finish()?;
    check_exit(daemon, &["pause", "--drain", "--wait"], 0)?;
    ensure!(
        waiting.first()?.is_none(),
        "the paused member grants no lock"
    );
    tell(daemon, "resume")?;
    waiting.wait_for_sign(Duration::ZERO)?;
    waiting.finish()
}

fn a_persistent_pause_survives_a_restart_of_the_daemon_and_another_pause_does_not() -> Result<()> {
    let mut ring = form_with(bridge(2)?, 2, |ringd| ringd)?;
    check_exit(&ring.daemons[0], &["pause", "--persist"], 0)?;
    for _ in 0..2 {
        ring.daemons[0].kill()?;
        let since = now();
        ring.daemons[0].start()?;
        ring.daemons[0].wait_for_status(WAIT_LIMIT, |status| {
            status["paused"] == true && status["state"] == "WAITER"
        })?;
        output_of(&ring.daemons[1], &["-w", WAIT, "-r", "quorum"], "true")?;
        check_left_out(&ring, 0, since)?;
    }
    tell(&ring.daemons[0], "resume")?;
    output_of(&ring.daemons[0], &["-w", WAIT], "true")?;
    check_exit(&ring.daemons[0], &["pause"], 0)?;
    ring.daemons[0].kill()?;
    ring.daemons[0].start()?;
    ring.daemons[0].wait_for_status(WAIT_LIMIT, |status| status["paused"] == false)?;
    output_of(&ring.daemons[0], &["-w", WAIT], "true").map(drop)
}

fn a_pause_of_all_members_ends_when_the_first_member_resumes() -> Result<()> {
    let ring = shared_ring(3)?;
    for daemon in &ring.daemons {
        // The pause of a member is incomplete while the member still has the token.
        let code = ringctl(daemon, &["pause", "-w", "1"])?.status.code();
        ensure!([Some(0), Some(PENDING_CODE)].contains(&code), "{code:?}");
    }
    let waiting = Holder::start(&ring.daemons[2], &["-w", WAIT])?;
    for daemon in &ring.daemons {
        daemon.wait_for_status(WAIT_LIMIT, |status| {
            let members = status["members"].as_array();
            members.is_some_and(|members| members.iter().all(|it| it["paused"] == true))
        })?;
    }
    // A second pause has no effect.
    let again = ringctl(&ring.daemons[1], &["pause", "-w", "0"])?
        .status
        .code();
    ensure!([Some(0), Some(PENDING_CODE)].contains(&again), "{again:?}");
    ensure!(waiting.first()?.is_none(), "no client gets the lock");
    tell(&ring.daemons[2], "resume")?;
    tell(&ring.daemons[2], "resume")?;
    waiting.wait_for_sign(Duration::ZERO)?;
    waiting.finish()
}

fn a_pause_with_an_end_survives_a_restart_and_ends_by_itself() -> Result<()> {
    let mut ring = form_with(bridge(2)?, 2, |ringd| ringd)?;
    check_exit(&ring.daemons[0], &["pause", "--for", "4"], 0)?;
    let paused = now();
    ring.daemons[0].kill()?;
    ring.daemons[0].start()?;
    let status = ring.daemons[0].wait_for_status(WAIT_LIMIT, |status| status["paused"] == true)?;
    let left = status["pause"]["left_ns"].as_u64();
    ensure!(left.is_some_and(|left| left < 4_000_000_000), "{status:#}");
    ring.daemons[0].wait_for_line(WAIT_LIMIT, |line| {
        line.contains("paused, as before the start: owns nothing for ")
    })?;
    check_left_out(&ring, 0, paused + Duration::from_secs(1))?;
    ring.daemons[0].wait_for_status(WAIT_LIMIT, |status| status["paused"] == false)?;
    let lasted = now() - paused;
    ensure!(lasted > Duration::from_millis(3_500), "{lasted:?}");
    ring.daemons[0].wait_for_line(WAIT_LIMIT, |line| {
        line.contains("resumed: the time of the pause is over")
    })?;
    output_of(&ring.daemons[0], &["-w", WAIT], "true")?;
    ring.daemons[0].kill()?;
    ring.daemons[0].start()?;
    ring.daemons[0].wait_for_status(WAIT_LIMIT, |status| status["paused"] == false)?;
    Ok(())
}

/// Returns the pause of a member in the status of a daemon.
fn pause_of(status: &Value, mac: &str) -> Value {
    let members = status["members"].as_array().into_iter().flatten();
    let mut members = members.filter(|member| member["mac"] == mac);
    members.next().map_or(Value::Null, |it| it["pause"].clone())
}

fn all_members_show_the_end_and_the_reason_of_a_pause() -> Result<()> {
    let mut ring = form_with(bridge(3)?, 2, |ringd| ringd)?;
    let mac = ring.daemons[0].node().mac().to_string();
    let mut watch = PauseWatch::of(&ring.daemons[1])?;
    let pause = ["pause", "--for", "2h", "--reason", "new disk"];
    check_exit(&ring.daemons[0], &pause, 0)?;
    let is_shown = |pause: &Value| {
        let left = pause["left_ns"].as_u64().unwrap_or_default();
        pause["reason"] == "new disk" && (7_100_000_000_000..=7_200_000_000_000).contains(&left)
    };
    let own = ring.daemons[0].status()?;
    ensure!(
        is_shown(&own["pause"]) && is_shown(&pause_of(&own, &mac)),
        "{own:#}"
    );
    ring.daemons[1].wait_for_status(WAIT_LIMIT, |status| is_shown(&pause_of(status, &mac)))?;
    watch.expect_event("member_paused")?;
    ring.daemons[1].wait_for_line(WAIT_LIMIT, |line| {
        line.contains(" is paused for ") && line.contains("reason: new disk")
    })?;
    for daemon in &ring.daemons {
        let text = String::from_utf8(ringctl(daemon, &["status"])?.stdout)?;
        let shown = text
            .lines()
            .find(|line| line.contains(&mac) && line.contains("new disk"));
        ensure!(
            shown.is_some_and(|line| line.contains("ends in 1h 59m")),
            "{text}"
        );
    }
    // A member that joins later learns the pause too.
    ring.join()?;
    ring.daemons[2].wait_for_status(2 * WAIT_LIMIT, |status| is_shown(&pause_of(status, &mac)))?;
    check_exit(&ring.daemons[0], &["pause", "--reason", "new cable"], 0)?;
    watch.expect_event("member_paused")?;
    for daemon in &ring.daemons {
        daemon.wait_for_status(WAIT_LIMIT, |status| {
            let pause = pause_of(status, &mac);
            pause["reason"] == "new cable" && pause["left_ns"].is_null()
        })?;
    }
    tell(&ring.daemons[0], "resume")?;
    watch.expect_event("member_resumed")?;
    for daemon in &ring.daemons {
        daemon.wait_for_status(WAIT_LIMIT, |status| pause_of(status, &mac).is_null())?;
    }
    Ok(())
}
