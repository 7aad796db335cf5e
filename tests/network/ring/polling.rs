//! Daemons that look for frames and requests without sleeping (`--busy-poll`). They use all processors, with a nice
//! value below 0, so no other test runs at the same time.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_client::lock::{Lock, LockOptions};
use ring_segment::{
    Daemon, LONG_IDLE_HOLD, Layout, Ring, Segment, Test, Timing, WAIT_LIMIT, binaries, tests,
};
use serde_json::Value;

const HEARTBEAT: Duration = Duration::from_millis(100);

pub(super) fn tests() -> Vec<Test> {
    tests![
        exclusive a_daemon_that_polls_serves_its_clients_and_ends,
        exclusive with_auto_a_daemon_polls_only_while_the_token_never_rests,
        exclusive with_auto_a_daemon_polls_while_a_program_takes_locks_again_and_again,
    ]
}

/// Starts a ring of two daemons that poll, and waits until it is formed.
fn polling_ring(busy_poll: &'static str, idle_hold: Duration) -> Result<Ring> {
    let segment: Segment = Layout::new(2).addresses().bridge()?;
    segment.capture().record_only_broadcasts()?;
    let timing = Timing::stall_tolerant(HEARTBEAT).idle_hold(idle_hold);
    let ring = Ring::start_with(segment, 2, timing, binaries(), move |ringd| {
        ringd.option("--busy-poll", busy_poll)
    })?;
    ring.wait_until_formed()?;
    Ok(ring)
}

/// Returns the number of times that polling found a frame in memory.
fn found(status: &Value) -> Option<u64> {
    status["counters"]["busy_poll"]["found"].as_u64()
}

fn a_daemon_that_polls_serves_its_clients_and_ends() -> Result<()> {
    // The token always comes back before this time has passed, so the daemons never sleep.
    let mut ring = polling_ring("1s", Duration::ZERO)?;
    for daemon in &mut ring.daemons {
        daemon.wait_for_status(WAIT_LIMIT, |status| found(status) > Some(1000))?;
        let page = daemon.ringctl(&["status"])?;
        let text = String::from_utf8_lossy(&page.stdout);
        ensure!(text.contains("polling: "), "{page:?}");
        let run = daemon.ringctl(&["run", "--", "true"])?;
        ensure!(run.status.success(), "{run:?}");
    }
    for daemon in &mut ring.daemons {
        daemon.signal(Signal::SIGTERM)?;
        let ended = daemon.wait_exit(WAIT_LIMIT)?;
        ensure!(ended.success(), "{ended}");
    }
    Ok(())
}

fn with_auto_a_daemon_polls_only_while_the_token_never_rests() -> Result<()> {
    let racing = polling_ring("auto", Duration::ZERO)?;
    racing.daemons[0].wait_for_status(WAIT_LIMIT, |status| found(status) > Some(1000))?;
    drop(racing);
    let resting = polling_ring("auto", LONG_IDLE_HOLD)?;
    for daemon in &resting.daemons {
        ensure_no_polling(daemon)?;
    }
    Ok(())
}

fn with_auto_a_daemon_polls_while_a_program_takes_locks_again_and_again() -> Result<()> {
    let ring = polling_ring("auto", LONG_IDLE_HOLD)?;
    let daemon = &ring.daemons[0];
    ensure_no_polling(daemon)?;
    let began = Instant::now();
    loop {
        for _ in 0..1000 {
            Lock::acquire(&daemon.control(), &LockOptions::default())?.release()?;
        }
        let polling = &daemon.status()?["counters"]["busy_poll"];
        if polling["time_ns"].as_u64() > Some(0) {
            return Ok(());
        }
        ensure!(began.elapsed() < WAIT_LIMIT, "{polling}");
    }
}

fn ensure_no_polling(daemon: &Daemon) -> Result<()> {
    // The daemon updates the counters once per second.
    let is_updated = |status: &Value| status["up_ns"].as_u64() > Some(3_000_000_000);
    let status = daemon.wait_for_status(WAIT_LIMIT, is_updated)?;
    let polling = &status["counters"]["busy_poll"];
    ensure!(polling["time_ns"] == 0, "{polling}");
    Ok(())
}
