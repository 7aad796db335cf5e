//! Stalls daemons for a moment, as a busy machine does. A test that fails with stalls would fail on a busy machine.
//!
//! With the environment variable `RING_SEGMENT_STALLS=SEED` a test program stalls daemons in all tests that are not
//! exclusive. With `RING_SEGMENT_STALLS=SEED:COUNT` the program selects COUNT tests at random with the seed, and stalls
//! daemons only in these tests. At the end the program prints the number of stalls. If the program selected tests and
//! caused no stall, it fails.

use std::env;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use fastrand::Rng;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::clock;

const STALLS_VARIABLE: &str = "RING_SEGMENT_STALLS";
const STALL_MS: std::ops::RangeInclusive<u64> = 20..=500;
const PAUSE_MS: std::ops::RangeInclusive<u64> = 100..=1500;

/// Tests during which daemons are stalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    pub seed: u64,
    /// Number of tests, or `None` for all tests.
    pub count: Option<usize>,
}

impl Plan {
    pub(crate) fn from_environment() -> Result<Option<Self>> {
        let Ok(text) = env::var(STALLS_VARIABLE) else {
            return Ok(None);
        };
        let (seed, count) = match text.split_once(':') {
            Some((seed, count)) => (seed, Some(count)),
            None => (text.as_str(), None),
        };
        let read = || -> Result<Self> {
            let count = count.map(str::parse).transpose()?;
            let seed = seed.parse()?;
            Ok(Self { seed, count })
        };
        let plan = read().with_context(|| format!("{STALLS_VARIABLE} is to be SEED or SEED:COUNT"));
        plan.map(Some)
    }

    /// Selects `count` items of a list at random, and keeps their order.
    pub(crate) fn draw<T>(&self, mut all: Vec<T>) -> Vec<T> {
        let mut dice = Rng::with_seed(self.seed);
        while self.count.is_some_and(|count| all.len() > count) {
            all.remove(dice.usize(..all.len()));
        }
        all
    }
}

#[derive(Debug)]
struct Candidate {
    id: u32,
    process: OwnedFd,
    /// Whether the test itself has stopped the daemon, and will continue it.
    is_stopped: bool,
}

static CANDIDATES: Mutex<Vec<Candidate>> = Mutex::new(Vec::new());

fn candidates() -> MutexGuard<'static, Vec<Candidate>> {
    CANDIDATES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a started daemon for stalls.
pub(crate) fn register(child: &Child) -> Result<()> {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
    candidates().push(Candidate {
        id: child.id(),
        process: process.context("cannot open a process")?,
        is_stopped: false,
    });
    Ok(())
}

/// Excludes a daemon from stalls because it has ended or will soon end.
pub(crate) fn unregister(id: u32) {
    candidates().retain(|candidate| candidate.id != id);
}

/// Records that the test itself stops or continues a daemon. A daemon that is already stopped is not stalled.
pub(crate) fn set_stopped(id: u32, is_stopped: bool) {
    for candidate in candidates().iter_mut() {
        if candidate.id == id {
            candidate.is_stopped = is_stopped;
        }
    }
}

/// Thread that stalls one daemon after another until it ends.
#[derive(Debug)]
pub(crate) struct Stalls {
    over: Sender<()>,
    thread: JoinHandle<usize>,
}

impl Stalls {
    /// Begins the stalls of a test. The stalls depend only on the seed and the test, if the test is deterministic.
    pub(crate) fn begin(plan: Plan, test: &str) -> Self {
        let dice = Rng::with_seed(xxh3_64_with_seed(test.as_bytes(), plan.seed));
        let (over, until) = channel();
        let stall = move || {
            let (mut dice, mut count) = (dice, 0);
            loop {
                let pause = Duration::from_millis(dice.u64(PAUSE_MS));
                if until.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return count;
                }
                let length = Duration::from_millis(dice.u64(STALL_MS));
                let place = dice.usize(..);
                let Some(id) = stop_one(place) else { continue };
                count += 1;
                eprintln!("{:?}: process {id} is stalled for {length:?}", clock::now());
                let is_over = until.recv_timeout(length) != Err(RecvTimeoutError::Timeout);
                continue_process(id);
                if is_over {
                    return count;
                }
            }
        };
        let thread = thread::spawn(stall);
        Self { over, thread }
    }

    pub(crate) fn end(self) -> usize {
        drop(self.over);
        self.thread.join().unwrap_or_default()
    }
}

fn stop_one(place: usize) -> Option<u32> {
    let all = candidates();
    let free: Vec<&Candidate> = all.iter().filter(|it| !it.is_stopped).collect();
    let chosen = *free.get(place.checked_rem(free.len())?)?;
    pidfd_send_signal(&chosen.process, Signal::STOP).ok()?;
    Some(chosen.id)
}

fn continue_process(id: u32) {
    let all = candidates();
    let chosen = all.iter().find(|it| it.id == id && !it.is_stopped);
    // A signal to a daemon that has ended is harmless.
    let _ = chosen.map(|it| pidfd_send_signal(&it.process, Signal::CONT));
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan {
        seed: 7,
        count: Some(3),
    };

    #[test]
    fn the_same_seed_draws_the_same_sample_in_order() {
        let drawn = PLAN.draw((0..100).collect());
        assert_eq!(drawn.len(), 3);
        assert!(drawn.is_sorted());
        assert_eq!(drawn, PLAN.draw((0..100).collect()));
        let other = Plan { seed: 8, ..PLAN };
        assert_ne!(drawn, other.draw((0..100).collect()));
    }

    #[test]
    fn without_a_count_all_tests_are_drawn_and_a_large_count_is_no_error() {
        let all = Plan {
            count: None,
            ..PLAN
        };
        assert_eq!(all.draw(vec![1, 2, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(PLAN.draw(vec![1, 2]), [1, 2]);
    }
}
