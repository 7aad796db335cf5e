//! The cost of a ring in which no program takes a lock.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::contest::float;
use crate::real::daemon::Daemon;
use crate::real::fabric::Place;
use crate::real::usage::{self, Usage};

/// Figures of an idle ring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Idle {
    /// Frames per second that the ring sends.
    pub frames: f64,
    pub bytes: f64,
    /// Mean share of a core per daemon, in percent.
    pub cpu: f64,
    /// Mean resident memory of a daemon, in MiB.
    pub memory: f64,
}

impl Idle {
    pub(super) fn measure(daemons: &[Daemon], places: &[Place], time: Duration) -> Result<Self> {
        let usages = || {
            let pairs = daemons.iter().zip(places);
            let usages = pairs.map(|(daemon, place)| Usage::of(daemon, place));
            usages.collect::<Result<Vec<_>>>()
        };
        let before = usages()?;
        let began = Instant::now();
        thread::sleep(time);
        let (lasted, after) = (began.elapsed().as_secs_f64(), usages()?);
        let nodes = float(daemons.len());
        let pairs = || before.iter().zip(&after);
        let sent = |at: usize| -> f64 {
            let sent = pairs().map(|(from, to)| f64::from(to.sent[at] - from.sent[at]));
            sent.sum()
        };
        let cpu: Duration = pairs()
            .map(|(from, to)| to.cpu.saturating_sub(from.cpu))
            .sum();
        let resident: f64 = after.iter().map(|it| f64::from(it.resident)).sum();
        Ok(Self {
            frames: sent(0) / lasted,
            bytes: sent(1) / lasted,
            cpu: 100.0 * cpu.as_secs_f64() / lasted / nodes,
            memory: resident / nodes / 1024.0,
        })
    }
}

/// Returns the number of frames that all machines have sent.
pub(super) fn count_sent(places: &[Place]) -> Result<f64> {
    let frames = places
        .iter()
        .map(|place| Ok(f64::from(usage::sent(place)?[0])));
    frames.sum()
}
