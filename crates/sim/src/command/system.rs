//! The parts of the command that all systems share. [`SystemCommand`] contains the differences between systems.

use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::options::Selection;
use super::progress::Progress;
use super::{Error, Options, files, many};
use crate::kernel::run::Outcome;
use crate::kernel::schedule::Schedule;
use crate::kernel::shrink::shrink;
use crate::kernel::stats::Tally as _;

/// The number of trace lines that are printed before a violation.
const TRACE_LINES: usize = 60;
/// A number of lines that is larger than any trace.
const ALL_LINES: usize = 10_000_000;

pub(super) trait SystemCommand {
    const COMMAND: &'static str;
    /// The template of the report, in which names of counters stand for their values.
    const REPORT: &'static str;

    type Schedule: Schedule<Rule: fmt::Display + Send, Stats: Send> + DeserializeOwned + Serialize;

    /// Generates the schedule of a seed.
    fn schedule(options: &Options, seed: u64) -> Self::Schedule;
    /// Describes the nodes and their options.
    fn headline(schedule: &Self::Schedule) -> String;
    /// Runs a valid schedule. Returns the outcome and the last `most` lines of the trace. A panic of the state machine
    /// counts as a violation.
    fn play(schedule: &Self::Schedule, most: usize) -> (Outcome<Self::Schedule>, Vec<String>);

    fn report(schedule: &Self::Schedule, stats: &Stats<Self>) -> String {
        let actions = schedule.parts().actions.len();
        let rest = stats.fill(Self::REPORT);
        format!("actions       {actions}\nruns          1\n{rest}")
    }

    /// Describes the number and the kind of runs.
    fn runs(_: &Options, runs: u64) -> String {
        runs.to_string()
    }

    /// Returns a schedule as the text of a file.
    fn text(schedule: &Self::Schedule) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(schedule)? + "\n")
    }

    /// Writes a schedule and the trace of its run into a directory.
    fn record(schedule: &Self::Schedule, directory: &Path) -> Result<(), Error> {
        files::keep(directory, "schedule.json", &Self::text(schedule)?)?;
        let lines = Self::play(schedule, ALL_LINES).1.join("\n") + "\n";
        files::keep(directory, "trace.txt", &lines)
    }
}

type Rule<S> = <<S as SystemCommand>::Schedule as Schedule>::Rule;
type Stats<S> = <<S as SystemCommand>::Schedule as Schedule>::Stats;

/// Runs the simulations of the options and prints their outcomes. Returns `true` if no rule is broken.
pub(super) fn run<S: SystemCommand>(
    options: &Options,
    out: &mut impl Write,
) -> Result<bool, Error> {
    let record = options.record.as_deref();
    match options.selection() {
        Selection::Schedule(path) => {
            let schedule = files::read_schedule::<S::Schedule>(&path)?;
            one::<S>(&schedule, record, None, out)
        }
        Selection::Seed(seed) => {
            let schedule = S::schedule(options, seed);
            one::<S>(&schedule, record, Some(&options.keep()), out)
        }
        Selection::Seeds(seeds) => run_many::<S>(options, seeds, out),
    }
}

/// Runs one schedule. If a rule is broken, shrinks the schedule while the rule stays broken, and writes the short
/// schedule to `keep`.
fn one<S: SystemCommand>(
    schedule: &S::Schedule,
    record: Option<&Path>,
    keep: Option<&Path>,
    out: &mut impl Write,
) -> Result<bool, Error> {
    if let Some(directory) = record {
        S::record(schedule, directory)?;
    }
    let (outcome, _) = S::play(schedule, 0);
    let seed = schedule.parts().seed;
    writeln!(out, "seed          {seed}, {}", S::headline(schedule))?;
    write!(out, "{}", S::report(schedule, &outcome.stats))?;
    let Some(first) = outcome.violations.first() else {
        writeln!(out, "Nothing was broken.")?;
        return Ok(true);
    };
    writeln!(out, "\nBROKEN with seed {seed}:")?;
    for violation in &outcome.violations {
        writeln!(out, "  {violation}")?;
    }
    match keep {
        Some(keep) => shorten::<S>(schedule, first.rule, keep, out)?,
        None => print_trace::<S>(schedule, out)?,
    }
    Ok(false)
}

/// Shrinks a failing schedule, prints it with the end of its trace, and writes it to a file.
fn shorten<S: SystemCommand>(
    schedule: &S::Schedule,
    rule: Rule<S>,
    keep: &Path,
    out: &mut impl Write,
) -> Result<(), Error> {
    let mut progress = Progress::new();
    let fails = |shorter: &S::Schedule| S::play(shorter, 0).0.breaks(rule);
    let mut short = shrink(schedule, fails, |runs, actions| {
        progress.show(|_| format!("shrinking: {runs} runs, {actions} actions left"));
    });
    drop(progress);
    *short.parts_mut().about = rule.to_string();
    let text = S::text(&short)?;
    write!(out, "\nThe shortest schedule that does so:\n\n{text}")?;
    print_trace::<S>(&short, out)?;
    let path = files::keep_schedule(keep, short.parts().seed, &text)?;
    let (command, path) = (S::COMMAND, path.display());
    writeln!(out, "\nTo see it again: {command} --schedule {path}")?;
    Ok(())
}

fn print_trace<S: SystemCommand>(
    schedule: &S::Schedule,
    out: &mut impl Write,
) -> Result<(), Error> {
    let lines = S::play(schedule, TRACE_LINES).1.join("\n");
    writeln!(out, "\nWhat led to it:\n\n{lines}")?;
    Ok(())
}

/// Runs many seeds, and prints the failing seeds. For each broken rule, shrinks the schedule of the first failing seed.
fn run_many<S: SystemCommand>(
    options: &Options,
    seeds: Range<u64>,
    out: &mut impl Write,
) -> Result<bool, Error> {
    if let Some(directory) = &options.record {
        // The directory is created before the runs, so that an error ends the command at once and not after hours.
        files::make(directory)?;
    }
    let runs = seeds.end - seeds.start;
    let mut sum = Stats::<S>::default();
    let failed = many::run(
        seeds,
        |seed| S::play(&S::schedule(options, seed), 0).0,
        |outcome| outcome.violations.first().map(ToString::to_string),
        |outcome| sum.add(&outcome.stats),
    );
    writeln!(out, "runs          {}", S::runs(options, runs))?;
    write!(out, "{}", sum.fill(S::REPORT))?;
    if failed.is_empty() {
        writeln!(out, "Nothing was broken.")?;
        return Ok(true);
    }
    writeln!(out, "\nBROKEN with {} seeds:", failed.len())?;
    let mut seen: Vec<Rule<S>> = Vec::new();
    for (seed, outcome) in &failed {
        for violation in &outcome.violations {
            writeln!(out, "  seed {seed}: {violation}")?;
        }
    }
    for (seed, outcome) in &failed {
        let first = outcome.violations.first();
        let Some(first) = first.filter(|it| !seen.contains(&it.rule)) else {
            continue;
        };
        seen.push(first.rule);
        let schedule = S::schedule(options, *seed);
        writeln!(out, "\nSeed {seed}: {first}")?;
        shorten::<S>(&schedule, first.rule, &options.keep(), out)?;
        if let Some(directory) = &options.record {
            S::record(&schedule, &directory.join(format!("seed-{seed}")))?;
        }
    }
    Ok(false)
}
