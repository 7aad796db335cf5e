//! Runs the clients during one kind of fault, and counts the lost elements.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use nix::sys::signal::Signal;
use ring_segment::{Rng, limit};

use super::draw_time;
use super::faults::{self, Fault};
use super::locks::{CLIENTS_LOG, Locks};
use super::processes::send;
use crate::rivals::Server;

const CLIENTS_PER_NODE: usize = 2;
/// Longest time that a client usually works on the set, in seconds.
const SHORT_WORK: f64 = 0.05;
const LONG_WORK_SHARE: f64 = 0.1;
/// Pause of a client after a failure.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum time that the last clients need to end after the last fault.
const LAST_CLIENTS_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Work of a client. It runs as a separate process.
#[derive(Debug, Args)]
pub(crate) struct Addition {
    set: String,
    element: u64,
    seconds: f64,
}

impl Addition {
    /// Adds the element like a program that trusts its lock. If a process is killed while it writes, only its own
    /// element is lost.
    pub(crate) fn run(&self) -> Result<()> {
        let elements = fs::read_to_string(&self.set)?;
        sleep(Duration::from_secs_f64(self.seconds));
        let written = format!("{}.{}", self.set, self.element);
        fs::write(&written, format!("{elements}{}\n", self.element))?;
        Ok(fs::rename(written, &self.set)?)
    }
}

#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) faults: Vec<(Instant, String)>,
    pub(super) tried: u64,
    pub(super) acknowledged: usize,
    /// Acknowledged elements that are not in the set, with the times of their acknowledgements.
    pub(super) lost: Vec<(u64, Instant)>,
    /// Number of elements in the set whose client failed after it wrote them. The test allows such elements.
    pub(super) unconfirmed: usize,
}

/// Lets clients on every node add elements to the sets during a fault, and counts the updates.
pub(super) fn run(locks: &Locks, kind: Fault, time: Duration, chance: &mut Rng) -> Result<Outcome> {
    locks.wait_until_ready()?;
    for set in &locks.target.sets {
        File::create(locks.path(set))?;
    }
    let (over, tried) = (AtomicBool::new(false), AtomicU64::new(0));
    let (faults, acknowledged) = thread::scope(|scope| {
        let places = (0..locks.nodes().len()).flat_map(|node| [node; CLIENTS_PER_NODE]);
        let clients = places.map(|node| {
            let (over, tried, chance) = (&over, &tried, chance.fork());
            scope.spawn(move || add_elements(locks, node, tried, over, chance))
        });
        let clients: Vec<_> = clients.collect();
        let faults = faults::cause_faults(kind, locks, time, chance);
        over.store(true, Ordering::Relaxed);
        await_clients(&clients, locks);
        let joined = clients.into_iter().map(ScopedJoinHandle::join);
        let joined = joined.map(|it| it.unwrap_or_else(|panic| panic::resume_unwind(panic)));
        anyhow::Ok((faults?, joined.collect::<Result<Vec<_>>>()?.concat()))
    })?;
    limit::wait_until("the end of the last work", || {
        locks.working_processes().is_empty()
    });
    let mut there = BTreeSet::new();
    for set in &locks.target.sets {
        for element in fs::read_to_string(locks.path(set))?.lines() {
            there.insert(element.parse::<u64>()?);
        }
    }
    let mut lost = acknowledged.clone();
    lost.retain(|(element, _)| !there.contains(element));
    Ok(Outcome {
        faults,
        tried: tried.into_inner(),
        acknowledged: acknowledged.len(),
        unconfirmed: there.len() + lost.len() - acknowledged.len(),
        lost,
    })
}

/// Adds elements to random sets one by one, and returns the acknowledged elements.
fn add_elements(
    locks: &Locks,
    node: usize,
    tried: &AtomicU64,
    over: &AtomicBool,
    mut chance: Rng,
) -> Result<Vec<(u64, Instant)>> {
    let mut log = File::options();
    let log = log
        .create(true)
        .append(true)
        .open(locks.path(CLIENTS_LOG))?;
    let (_, _, longest_work) = locks.target.fault_settings();
    let mut acknowledged = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let element = tried.fetch_add(1, Ordering::Relaxed);
        let is_long = chance.f64() < LONG_WORK_SHARE;
        let longest = if is_long { longest_work } else { SHORT_WORK };
        let seconds = draw_time(0.0..longest, &mut chance).as_secs_f64();
        let set = chance.choice(&locks.target.sets).context("a set")?;
        let mut command = locks.command(node, set);
        command.args([element.to_string(), seconds.to_string()]);
        command.stdout(log.try_clone()?).stderr(log.try_clone()?);
        let mut client = locks.nodes()[node].ns().spawn(&mut command)?;
        if client.wait()?.success() {
            acknowledged.push((element, Instant::now()));
        } else {
            sleep(RETRY_INTERVAL);
        }
    }
    Ok(acknowledged)
}

/// Waits for the last clients, and kills the clients that take too long.
fn await_clients<T>(clients: &[ScopedJoinHandle<'_, T>], locks: &Locks) {
    let deadline = Instant::now() + LAST_CLIENTS_TIMEOUT;
    while !clients.iter().all(ScopedJoinHandle::is_finished) {
        if Instant::now() > deadline {
            let daemons: Vec<_> = locks.daemons().iter().map(Server::pid).collect();
            let pids = locks.processes().into_iter().map(|it| it.1);
            let others: Vec<_> = pids.filter(|pid| !daemons.contains(pid)).collect();
            send(&others, Signal::SIGKILL);
        }
        sleep(POLL_INTERVAL);
    }
}
