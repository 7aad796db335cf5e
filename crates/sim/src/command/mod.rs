//! `ring-sim`: the world as a command. Files, threads and the terminal are here, and only here.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what is around the worlds reads files and clocks, and has a thread for each processor"
)]

mod andrews;
mod error;
mod files;
mod ftn;
mod jitterbug;
mod many;
mod options;
mod progress;
mod report;
mod system;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub use error::Error;
pub use options::Options;
use ring_proto::lab2::Lab2;

use super::lab2::{Outcome, Rule, Schedule, Stats, Subject, Trace, replay, run as run_one, shrink};
use crate::kernel::stats::Tally as _;
use files::Files;
use options::{Selection, Simulated};
use progress::Progress;

/// So much of what led to a violation is printed.
const TRACE_LINES: usize = 60;

/// Runs what the options ask for and prints what happened. `true`: nothing was broken.
///
/// # Errors
/// A file cannot be read or written, or the output takes nothing.
pub fn run(options: &Options) -> Result<bool, Error> {
    // A machine that panics is a violation like any other, and is printed as one.
    std::panic::set_hook(Box::new(|_| ()));
    options.check()?;
    let out = &mut io::stdout().lock();
    match options.system {
        Simulated::Lab2 => run_machines::<Lab2>(options, out),
        Simulated::Ftn => system::run::<ftn::Ftn>(options, out),
        Simulated::Jitterbug => system::run::<jitterbug::Jitterbug>(options, out),
        Simulated::Andrews => system::run::<andrews::Andrews>(options, out),
    }
}

fn run_machines<M: Subject>(options: &Options, out: &mut impl Write) -> Result<bool, Error> {
    let record = options.record.as_deref();
    match options.selection() {
        Selection::Schedule(path) => {
            let schedule = files::read_schedule(&path, Schedule::check)?;
            one::<M>(&schedule, record, None, out)
        }
        Selection::Seed(seed) => {
            let schedule = Schedule::of(&options.settings(seed));
            one::<M>(&schedule, record, Some(&options.keep()), out)
        }
        Selection::Seeds(seeds) => many::<M>(options, seeds, out),
    }
}

/// Runs one schedule. If something is broken the shortest schedule that does so goes to `keep`.
fn one<M: Subject>(
    schedule: &Schedule,
    record: Option<&Path>,
    keep: Option<&Path>,
    out: &mut impl Write,
) -> Result<bool, Error> {
    let outcome = match record {
        Some(directory) => {
            let files = Files::create(directory, schedule)?;
            let outcome = replay::<M>(schedule, Some(Box::new(files.clone())));
            files.finish()?;
            outcome
        }
        None => replay::<M>(schedule, None),
    };
    report::run(out, schedule, &outcome)?;
    let Some(first) = outcome.violations.first() else {
        return Ok(true);
    };
    match keep {
        Some(keep) => shorten::<M>(schedule, first.rule, keep, out)?,
        None => print_trace::<M>(schedule, out)?,
    }
    Ok(false)
}

/// Shrinks a failing schedule, prints it with the trace of its end, and keeps it in a file.
fn shorten<M: Subject>(
    schedule: &Schedule,
    rule: Rule,
    keep: &Path,
    out: &mut impl Write,
) -> Result<(), Error> {
    let mut progress = Progress::new();
    let mut short = shrink::<M>(schedule, rule, |runs, actions| {
        progress.show(|_| format!("shrinking: {runs} runs, {actions} actions left"));
    });
    drop(progress);
    rule.text().clone_into(&mut short.about);
    writeln!(out, "\nThe shortest schedule that does so:\n")?;
    out.write_all(short.to_text()?.as_bytes())?;
    print_trace::<M>(&short, out)?;
    let path = files::keep_schedule(keep, short.seed, &short.to_text()?)?;
    let path = path.display();
    writeln!(out, "\nTo see it again: ring-sim --schedule {path}")?;
    Ok(())
}

fn print_trace<M: Subject>(schedule: &Schedule, out: &mut impl Write) -> Result<(), Error> {
    let trace = Trace::of(TRACE_LINES);
    let _ = replay::<M>(schedule, Some(Box::new(trace.clone())));
    writeln!(out, "\nWhat led to it:\n\n{}", trace.text())?;
    Ok(())
}

/// Runs many seeds; prints those in which something is broken, and shrinks the first for each
/// rule.
fn many<M: Subject>(
    options: &Options,
    seeds: std::ops::Range<u64>,
    out: &mut impl Write,
) -> Result<bool, Error> {
    if let Some(directory) = &options.record {
        // Better now than after hours.
        files::make(directory)?;
    }
    let count = seeds.end - seeds.start;
    let mut sum = Stats::default();
    let failed = many::run(
        seeds,
        |seed| run_one::<M>(&options.settings(seed)),
        |outcome: &Outcome| outcome.violations.first().map(ToString::to_string),
        |outcome| sum.add(&outcome.stats),
    );
    report::many(out, options, (count, &sum), &failed)?;
    let mut seen: Vec<Rule> = Vec::new();
    for (seed, Outcome { violations, .. }) in &failed {
        let Some(first) = violations.first() else {
            continue;
        };
        if seen.contains(&first.rule) {
            continue;
        }
        seen.push(first.rule);
        let schedule = Schedule::of(&options.settings(*seed));
        writeln!(out, "\nSeed {seed}: {first}")?;
        shorten::<M>(&schedule, first.rule, &options.keep(), out)?;
        if let Some(directory) = &options.record {
            let directory: PathBuf = directory.join(format!("seed-{seed}"));
            let files = Files::create(&directory, &schedule)?;
            let _ = replay::<M>(&schedule, Some(Box::new(files.clone())));
            files.finish()?;
        }
    }
    Ok(failed.is_empty())
}

#[cfg(test)]
mod tests;
