//! Measures a ring of `ringd` whose token never rests.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Result;

use crate::figures::Figures;
use crate::real::daemon::Daemon;
use crate::real::fabric::Fabric;
use crate::real::start::Start;

pub(crate) fn measure(
    fabric: &Fabric,
    start: &Start,
    ringd: &Path,
    time: Duration,
    busy_poll: Option<&str>,
) -> Result<Figures> {
    let mut options = vec!["--idle-hold", "0ms"];
    options.extend(
        busy_poll
            .map(|value| ["--busy-poll", value])
            .into_iter()
            .flatten(),
    );
    let daemons = Daemon::ring(start, &fabric.places, ringd, &options)?;
    let first = &daemons[0];
    let (from, began) = first.timed_status()?;
    thread::sleep(time);
    let (to, ended) = first.timed_status()?;
    let failed = to.counters.hand_overs_failed - from.counters.hand_overs_failed;
    if failed > 0 {
        eprintln!("{failed} handovers failed during the measurement");
    }
    let rotations = to.counters.hand_overs - from.counters.hand_overs;
    let latency = to.counters.hand_over_latency;
    let rotation = Figures::new(latency.p50_ns, latency.p99_ns, ended - began, rotations);
    Ok(rotation.per_hop(daemons.len()))
}
