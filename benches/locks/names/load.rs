//! Measures how many named locks a ring grants per second, and the work of its daemons.

use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use ring_control::lab2::{Grade, Status};

use super::client::{Client, Subject};
use super::latency::Times;
use super::throughput::{self, ByName, NAMES, PROGRAMS_PER_NODE, Takes};
use crate::contest::Lock;
use crate::real::daemon::Daemon;

/// Number of threads per node that serve the programs which hold one lock each.
const THREADS_PER_NODE: usize = 4;

#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub rate: f64,
    pub times: Times,
    pub work: Option<Work>,
}

/// The work of one take and its release.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// CPU time of all daemons in nanoseconds.
    pub daemons: f64,
    /// CPU time of all programs in nanoseconds.
    pub programs: f64,
    /// Sent frames of all daemons.
    pub frames: f64,
    /// Share of a core that the busiest daemon uses.
    pub busiest: f64,
}

impl Load {
    fn new(takes: &Takes, work: Option<Work>) -> Result<Self> {
        Ok(Self {
            rate: takes.rate,
            times: Times::new(&takes.took)?,
            work,
        })
    }
}

/// Makes [`PROGRAMS_PER_NODE`] programs on each node take random names.
pub(super) fn take_random(daemons: &[Daemon], grade: Grade, time: Duration) -> Result<Load> {
    let mut clients = Vec::new();
    for daemon in daemons {
        for _ in 0..PROGRAMS_PER_NODE {
            clients.push(Client::connect(&daemon.control(), Subject::Name, grade)?);
        }
    }
    observe(daemons, || throughput::take_random(clients, time))
}

/// Makes a program for each name hold its lock. One program after another releases its lock, and takes it again.
pub(super) fn take_held(daemons: &[Daemon], grade: Grade, time: Duration) -> Result<Load> {
    let mut clients = Vec::new();
    for (daemon, node) in daemons.iter().zip(0..) {
        let socket = daemon.control();
        for name in (node..NAMES).step_by(daemons.len()) {
            let mut client = Client::connect(&socket, Subject::Name, grade)?;
            client.choose(name);
            client.lock()?;
            clients.push(client);
        }
    }
    let per_thread = clients.len().div_ceil(daemons.len() * THREADS_PER_NODE);
    let load = observe(daemons, || {
        throughput::take_again(clients.chunks_mut(per_thread).collect(), time)
    })?;
    for client in &mut clients {
        client.unlock()?;
    }
    Ok(load)
}

/// Makes [`PROGRAMS_PER_NODE`] programs on each node take random names from another system.
pub(super) fn take_from_rival<L: ByName>(clients: Vec<L>, time: Duration) -> Result<Load> {
    Load::new(&throughput::take_random(clients, time)?, None)
}

/// Measures the work of the daemons and of this process during takes.
fn observe(daemons: &[Daemon], takes: impl FnOnce() -> Result<Takes>) -> Result<Load> {
    let frames = count_sent(daemons)?;
    let own = own_cpu_time()?;
    let before = cpu_times(daemons)?;
    let takes = takes()?;
    let after = cpu_times(daemons)?;
    let own = own_cpu_time()?.saturating_sub(own);
    let frames = count_sent(daemons)? - frames;
    let pairs = before.iter().zip(&after);
    let used: Vec<Duration> = pairs.map(|(from, to)| to.saturating_sub(*from)).collect();
    let count = crate::contest::float(takes.took.len());
    let nanos = |time: Duration| time.as_secs_f64() * 1e9 / count;
    let busiest = used.iter().max().context("there are daemons")?;
    let work = Work {
        daemons: nanos(used.iter().sum()),
        programs: nanos(own),
        frames: crate::contest::float(usize::try_from(frames)?) / count,
        busiest: busiest.as_secs_f64() * takes.rate / count,
    };
    Load::new(&takes, Some(work))
}

fn cpu_times(daemons: &[Daemon]) -> Result<Vec<Duration>> {
    daemons.iter().map(Daemon::cpu_time).collect()
}

fn own_cpu_time() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let times = [usage.user_time(), usage.system_time()].map(|it| it.num_microseconds());
    Ok(Duration::from_micros(
        times.iter().sum::<i64>().cast_unsigned(),
    ))
}

fn count_sent(daemons: &[Daemon]) -> Result<u64> {
    let counts = daemons.iter().map(|daemon| {
        let status: Status = daemon.status()?;
        Ok(status.counters.sent.values().sum::<u64>())
    });
    counts.sum()
}
