//! Many programs take locks with different names at the same time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use ring_segment::Rng;

use crate::contest::{Lock, float};

/// Number of names.
pub(super) const NAMES: u64 = 1_000;
/// Number of programs on each node that take random names.
pub(super) const PROGRAMS_PER_NODE: usize = 8;

/// Takes of several programs.
#[derive(Debug)]
pub(super) struct Takes {
    /// Sorted times from a request to its grant.
    pub took: Vec<Duration>,
    /// Takes per second.
    pub rate: f64,
}

/// A lock with a name that its client chooses.
pub(crate) trait ByName: Lock {
    /// Chooses the name with this number for the next lock.
    fn choose(&mut self, number: u64);
}

/// Makes each client take and release random names without pauses.
pub(super) fn take_random<L: ByName>(clients: Vec<L>, time: Duration) -> Result<Takes> {
    let seeded = clients.into_iter().zip(0..);
    run_threads(seeded.collect(), time, |(mut client, seed), over| {
        let mut chance = Rng::with_seed(seed);
        let mut took = Vec::new();
        while !over.load(Ordering::Relaxed) {
            client.choose(chance.u64(0..NAMES));
            let asked = Instant::now();
            client.lock()?;
            took.push(asked.elapsed());
            client.unlock()?;
        }
        Ok(took)
    })
}

/// Makes one client after the other of each group release its lock, and take the lock again. All clients hold their
/// locks before and after.
pub(super) fn take_again<L: Lock>(groups: Vec<&mut [L]>, time: Duration) -> Result<Takes> {
    run_threads(groups, time, |group, over| {
        let mut took = Vec::new();
        loop {
            for client in group.iter_mut() {
                if over.load(Ordering::Relaxed) {
                    return Ok(took);
                }
                client.unlock()?;
                let asked = Instant::now();
                client.lock()?;
                took.push(asked.elapsed());
            }
        }
    })
}

/// Runs one thread per part of the work, and ends the threads after `time`.
fn run_threads<T: Send>(
    parts: Vec<T>,
    time: Duration,
    work: impl Fn(T, &AtomicBool) -> Result<Vec<Duration>> + Sync,
) -> Result<Takes> {
    let over = AtomicBool::new(false);
    let began = Instant::now();
    let mut took = thread::scope(|scope| {
        let (over, work) = (&over, &work);
        let start = |part| scope.spawn(move || work(part, over));
        let workers: Vec<_> = parts.into_iter().map(start).collect();
        thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        let joined = workers.into_iter().map(thread::ScopedJoinHandle::join);
        let joined = joined.map(|took| took.expect("the thread does not panic"));
        joined.collect::<Result<Vec<_>>>()
    })?
    .concat();
    took.sort_unstable();
    Ok(Takes {
        rate: float(took.len()) / began.elapsed().as_secs_f64(),
        took,
    })
}
