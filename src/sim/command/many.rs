//! Many runs, on all cores.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::report::Sum;
use crate::sim::lab2::{Outcome, Settings, Subject, run as run_one};

/// How often the bar is drawn anew.
const TICK: Duration = Duration::from_millis(200);
/// So many seeds are taken at a time: enough that cores do not wait for one another.
const PORTION: u64 = 8;

/// A sign that something is going on.
pub(super) fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(TICK);
    bar
}

/// Runs all seeds; what they come to in all, and those in which something was broken, in order.
pub(super) fn run<M: Subject>(
    seeds: Range<u64>,
    settings: impl Fn(u64) -> Settings + Sync,
) -> (Sum, Vec<(u64, Outcome)>) {
    let bar = ProgressBar::new(seeds.end - seeds.start);
    if let Ok(style) = ProgressStyle::with_template(
        "{wide_bar} {pos}/{len} seeds, {msg} broken, {elapsed} of {duration}",
    ) {
        bar.set_style(style);
    }
    bar.set_message("0");
    let next = AtomicU64::new(seeds.start);
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut sum = Sum::default();
    let mut failed = Vec::new();
    thread::scope(|scope| {
        let (report, reports) = mpsc::channel();
        for _ in 0..cores {
            let (report, next, settings, end) = (report.clone(), &next, &settings, seeds.end);
            scope.spawn(move || {
                loop {
                    let first = next.fetch_add(PORTION, Ordering::Relaxed);
                    for seed in first..end.min(first.saturating_add(PORTION)) {
                        let outcome = run_one::<M>(&settings(seed));
                        // Nobody listens: the command was given up.
                        if report.send((seed, outcome)).is_err() {
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
            sum.add(&outcome.stats);
            bar.inc(1);
            if let Some(first) = outcome.violations.first() {
                bar.println(format!("seed {seed}: {first}"));
                failed.push((seed, outcome));
                bar.set_message(failed.len().to_string());
            }
        }
    });
    bar.finish_and_clear();
    failed.sort_by_key(|&(seed, _)| seed);
    (sum, failed)
}
