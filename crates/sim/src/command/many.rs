//! Many runs, on all cores.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use super::progress::{Progress, in_all};

/// The number of seeds that a thread takes at a time. With batches of this size, threads rarely wait for one another.
const SEEDS_PER_PORTION: u64 = 8;

/// Runs all seeds, and calls `add` with each outcome. Returns the failed outcomes in order. `first` returns the first
/// violation of an outcome.
pub(super) fn run<O: Send>(
    seeds: Range<u64>,
    run_one: impl Fn(u64) -> O + Sync,
    first: impl Fn(&O) -> Option<String>,
    mut add: impl FnMut(&O),
) -> Vec<(u64, O)> {
    let count = seeds.end - seeds.start;
    let (mut progress, mut done) = (Progress::new(), 0);
    let next = AtomicU64::new(seeds.start);
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut failed = Vec::new();
    thread::scope(|scope| {
        let (report, reports) = mpsc::channel();
        for _ in 0..cores {
            let (report, next, run_one, end) = (report.clone(), &next, &run_one, seeds.end);
            scope.spawn(move || {
                loop {
                    let first = next.fetch_add(SEEDS_PER_PORTION, Ordering::Relaxed);
                    for seed in first..end.min(first.saturating_add(SEEDS_PER_PORTION)) {
                        // Sending fails only if the command has ended.
                        if report.send((seed, run_one(seed))).is_err() {
                            return;
                        }
                    }
                    if first >= end {
                        return;
                    }
                }
            });
        }
        drop(report);
        for (seed, outcome) in reports {
            add(&outcome);
            done += 1;
            if let Some(first) = first(&outcome) {
                progress.keep(&format!("seed {seed}: {first}"));
                failed.push((seed, outcome));
            }
            let broken = failed.len();
            progress.show(|elapsed| {
                let (so_far, in_all) = (elapsed.as_secs(), in_all(elapsed, done, count));
                format!("{done}/{count} seeds, {broken} broken, {so_far} s of {in_all} s")
            });
        }
    });
    failed.sort_by_key(|&(seed, _)| seed);
    failed
}
