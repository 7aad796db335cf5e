//! `ringctl top` on a terminal, with the daemons of a real ring.

use anyhow::{Result, ensure};
use ring_segment::{Pty, Ring, Segment, Test, Timing, binaries, tests};

use super::environment::HEARTBEAT;

pub(super) fn tests() -> Vec<Test> {
    tests![top_follows_a_ring_whose_member_dies]
}

fn top_follows_a_ring_whose_member_dies() -> Result<()> {
    let timing = Timing::tolerant(HEARTBEAT);
    let mut ring = Ring::start(Segment::bridge(3)?, 3, timing, binaries())?;
    ring.wait_until_formed()?;
    let mut pty = Pty::new(100, 40);
    let mut command = pty.command(binaries().ringctl);
    command.arg("--socket").arg(ring.daemons[0].control());
    command.args(["top", "--interval", "200ms"]);
    let mut top = ring.segment.node(0).ns().spawn(&mut command)?;
    pty.wait_for("Members (3)");
    pty.wait_until("a rate", |screen| {
        let rate = screen.split("Hops ").nth(1).unwrap_or_default();
        rate.starts_with(|char: char| char.is_ascii_digit()) && !rate.starts_with("0.0/s")
    });
    pty.wait_until("the path of the token", |screen| screen.contains(" > "));
    let dead = ring.segment.node(2).mac().to_string();
    ring.daemons[2].kill()?;
    pty.wait_until("the dead member", |screen| {
        let mut lines = screen.lines();
        lines.any(|line| line.contains(&dead) && line.contains("silent"))
    });
    pty.wait_until("the event", |screen| screen.contains("member_silent"));
    pty.wait_until("the trouble", |screen| {
        screen.contains(&format!("! member {dead}")) && screen.contains("ringctl forget")
    });
    ring.daemons[0].kill()?;
    pty.wait_for("no daemon, since ");
    ring.daemons[0].start()?;
    pty.wait_until("the daemon", |screen| !screen.contains("no daemon"));
    pty.type_keys("q");
    let status = top.wait()?;
    ensure!(status.success(), "it ended with {status}");
    pty.wait_until_restored();
    Ok(())
}
