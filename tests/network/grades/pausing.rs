//! `ringctl pause` and `resume`: maintenance.

use std::time::Duration;

use anyhow::{Result, ensure};
use ring_segment::{Daemon, Message, Ring, Seen, Test, is_claim, now, tests};

use super::{Holder, LOST, PATIENCE, ringctl, says, shared_ring};

/// How often an offer is made at the most.
const TAKE_ATTEMPTS: usize = 3;

pub fn tests() -> Vec<Test> {
    tests![
        a_paused_node_owns_nothing_and_the_others_go_on,
        a_pause_of_all_ends_with_the_first_that_resumes,
    ]
}

fn tell(daemon: &Daemon, what: &str) -> Result<()> {
    let output = ringctl(daemon, &[what])?;
    ensure!(output.status.success(), "{output:?}");
    Ok(())
}

/// What the others' tables say of a member.
fn penalty_column(daemon: &Daemon, member: &str) -> Result<String> {
    let text = String::from_utf8(ringctl(daemon, &["status"])?.stdout)?;
    let row = text
        .lines()
        .find(|line| line.contains(member) && line.starts_with("  "));
    Ok(row.unwrap_or_default().to_owned())
}

/// Since that time a daemon has claimed no token, and was offered hardly one: an offer may cross
/// what it says of its pause.
fn check_left_out(ring: &Ring, at: usize, since: Duration) -> Result<()> {
    let frames = ring.frames_since(since);
    let claim = frames.iter().find(|seen| seen.port == at && is_claim(seen));
    ensure!(claim.is_none(), "it owns the token: {claim:?}");
    let mac = ring.daemons[at].node().mac();
    let is_offer = |seen: &&Seen| matches!(seen.message, Message::TakeToken { .. });
    let offers = frames.iter().filter(|seen| seen.dst == mac);
    let offers = offers.filter(is_offer).count();
    ensure!(offers <= TAKE_ATTEMPTS, "it was offered {offers} times");
    Ok(())
}

fn a_paused_node_owns_nothing_and_the_others_go_on() -> Result<()> {
    let ring = shared_ring(3)?;
    let daemon = &ring.daemons[1];
    let mac = daemon.node().mac().to_string();
    let mut holder = Holder::at_work(daemon, &["-w", "20"])?;
    let waiting = Holder::start(daemon, &["-w", "25"])?;
    tell(daemon, "pause")?;
    let code = holder.wait_exit()?;
    ensure!(code == Some(LOST), "{code:?}");
    daemon.wait_for_status(PATIENCE, |status| {
        status["paused"] == true && status["state"] == "WAITER"
    })?;
    for other in [0, 2] {
        let row = penalty_column(&ring.daemons[other], &mac)?;
        ensure!(row.contains(" paused "), "{row}");
    }
    let text = String::from_utf8(ringctl(daemon, &["status"])?.stdout)?;
    ensure!(text.contains("WAITER, paused: owns nothing"), "{text}");
    let refused = ringctl(daemon, &["run", "-n", "true"])?;
    let why = String::from_utf8_lossy(&refused.stderr);
    ensure!(refused.status.code() == Some(1), "{refused:?}");
    ensure!(why.contains("this node is paused"), "{why}");
    let since = now();
    for _ in 0..10 {
        for other in [0, 2] {
            says(&ring.daemons[other], &["-w", "20", "-r", "quorum"], "true")?;
        }
    }
    check_left_out(&ring, 1, since)?;
    ensure!(waiting.first()?.is_none(), "nobody is granted it here");
    tell(daemon, "resume")?;
    waiting.wait_for_sign(Duration::ZERO)?;
    waiting.finish()?;
    for other in [0, 2] {
        let row = penalty_column(&ring.daemons[other], &mac)?;
        ensure!(!row.contains("paused"), "{row}");
    }
    says(daemon, &["-w", "20"], "true").map(drop)
}

fn a_pause_of_all_ends_with_the_first_that_resumes() -> Result<()> {
    let ring = shared_ring(3)?;
    for daemon in &ring.daemons {
        tell(daemon, "pause")?;
    }
    let waiting = Holder::start(&ring.daemons[2], &["-w", "25"])?;
    for daemon in &ring.daemons {
        daemon.wait_for_status(PATIENCE, |status| {
            let members = status["members"].as_array();
            members.is_some_and(|members| members.iter().all(|it| it["paused"] == true))
        })?;
    }
    // Again makes no difference.
    tell(&ring.daemons[1], "pause")?;
    ensure!(waiting.first()?.is_none(), "nobody is granted it");
    tell(&ring.daemons[2], "resume")?;
    tell(&ring.daemons[2], "resume")?;
    waiting.wait_for_sign(Duration::ZERO)?;
    waiting.finish()
}
