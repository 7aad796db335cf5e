//! Clients that compete for one lock. The lock may have any implementation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

pub(crate) trait Lock: Send {
    /// Waits until the client holds the lock.
    fn lock(&mut self) -> Result<()>;
    fn unlock(&mut self) -> Result<()>;
}

#[derive(Debug)]
pub(crate) struct Contest {
    /// Sorted times from a release to the next grant, if the next grant goes to a different client.
    pub hand_overs: Vec<Duration>,
    pub rate: f64,
    /// Share of the grants that went to a different client than the grant before, from 0 to 1.
    pub moved: f64,
    /// The smallest and the largest number of grants that a client received, each divided by the mean number of all
    /// clients.
    pub parts: (f64, f64),
}

/// Makes all clients lock and unlock at the same time, without pauses.
pub(crate) fn contend<L: Lock>(clients: Vec<L>, time: Duration) -> Result<Contest> {
    let over = AtomicBool::new(false);
    let began = Instant::now();
    let grants: Vec<Vec<Instant>> = thread::scope(|scope| {
        let over = &over;
        let start = |client| scope.spawn(move || lock_until(client, over));
        let workers: Vec<_> = clients.into_iter().map(start).collect();
        thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        let joined = workers.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .map(|grants| grants.expect("the thread does not panic"))
            .collect::<Result<_>>()
    })?;
    let lasted = began.elapsed().as_secs_f64();
    let all: usize = grants.iter().map(Vec::len).sum();
    let part = |count: usize| float(count) * float(grants.len()) / float(all);
    let counts = || grants.iter().map(Vec::len);
    let parts = (
        part(counts().min().unwrap_or(0)),
        part(counts().max().unwrap_or(0)),
    );
    let hand_overs = hand_overs(&grants);
    Ok(Contest {
        moved: float(hand_overs.len()) / float(all),
        hand_overs,
        rate: float(all) / lasted,
        parts,
    })
}

/// Makes one client lock and unlock without pauses. Returns the sorted times of its grants, and the grants per second.
pub(crate) fn measure_uncontended<L: Lock>(
    client: &mut L,
    time: Duration,
) -> Result<(Vec<Duration>, f64)> {
    let mut took = Vec::new();
    let began = Instant::now();
    while began.elapsed() < time {
        let start = Instant::now();
        client.lock()?;
        took.push(start.elapsed());
        client.unlock()?;
    }
    let rate = float(took.len()) / began.elapsed().as_secs_f64();
    took.sort_unstable();
    Ok((took, rate))
}

/// Locks and unlocks until `over` is set. Returns the times of the grants.
fn lock_until<L: Lock>(mut client: L, over: &AtomicBool) -> Result<Vec<Instant>> {
    let mut grants = Vec::new();
    while !over.load(Ordering::Relaxed) {
        client.lock()?;
        grants.push(Instant::now());
        client.unlock()?;
    }
    Ok(grants)
}

fn hand_overs(grants: &[Vec<Instant>]) -> Vec<Duration> {
    let of_clients = grants.iter().enumerate();
    let mut order: Vec<(Instant, usize)> = of_clients
        .flat_map(|(client, grants)| grants.iter().map(move |&at| (at, client)))
        .collect();
    order.sort_unstable();
    let next = order.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    let mut gaps: Vec<Duration> = next.map(|pair| pair[1].0 - pair[0].0).collect();
    gaps.sort_unstable();
    gaps
}

/// Returns a percentile of sorted times, in nanoseconds.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> Result<f64> {
    let at = sorted.get(sorted.len() * percent / 100);
    at.map(|time| time.as_secs_f64() * 1e9)
        .context("no grant was measured")
}

pub(crate) fn median<T>(samples: &[T], value: fn(&T) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(value).collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

pub(crate) fn micros(nanos: f64) -> String {
    format!("{:.1} µs", nanos / 1e3)
}

#[expect(clippy::cast_precision_loss, reason = "less than 2^52")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}
