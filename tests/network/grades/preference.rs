//! `ringd --prefer`: the member with which the idle token rests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use ring_segment::{Ring, Ringd, Test, Timing, WAIT, binaries, is_claim, now, tests};

use super::{HEARTBEAT, Holder, WAIT_LIMIT, bridge, output_of};

pub(super) fn tests() -> Vec<Test> {
    tests![the_idle_token_comes_back_to_the_preferred_machine_and_work_is_not_interrupted]
}

/// Waits until this daemon owns the token, and checks that the idle token rests there.
fn check_rests(ring: &Ring, at: usize) -> Result<()> {
    ring.daemons[at].wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    let since = now();
    std::thread::sleep(Duration::from_secs(1));
    let frames = ring.frames_since(since);
    let other = frames.iter().find(|seen| seen.port != at && is_claim(seen));
    ensure!(other.is_none(), "the token left its place: {other:?}");
    Ok(())
}

fn the_idle_token_comes_back_to_the_preferred_machine_and_work_is_not_interrupted() -> Result<()> {
    let started = AtomicUsize::new(0);
    let prefer_second = move |ringd: Ringd| {
        let is_second = started.fetch_add(1, Ordering::Relaxed) == 1;
        ringd.option("--prefer", if is_second { "100" } else { "0" })
    };
    // The token must rest, so no stall of a busy machine may look like the death of its owner.
    let timing = Timing::stall_tolerant(2 * HEARTBEAT);
    let mut ring = Ring::start_with(bridge(3)?, 3, timing, binaries(), prefer_second)?;
    ring.wait_until_formed()?;
    check_rests(&ring, 1)?;
    // Work on another machine gets the token despite the preference.
    output_of(&ring.daemons[0], &["-w", WAIT], "true")?;
    check_rests(&ring, 1)?;
    ring.daemons[1].kill()?;
    let holder = Holder::start_working(&ring.daemons[2], &["-w", WAIT])?;
    ring.daemons[1].start()?;
    ring.daemons[1].wait_for_status(WAIT_LIMIT, |status| status["state"] == "WAITER")?;
    std::thread::sleep(Duration::from_secs(1));
    ring.daemons[2].wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    holder.finish()?;
    check_rests(&ring, 1)
}
