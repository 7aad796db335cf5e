//! The same command around any world that is printed line by line: what a system adds is [`Simulation`].

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::options::Selection;
use super::progress::Progress;
use super::{Error, Options, TRACE_LINES, files, many};
use crate::kernel::run::{Outcome, Run, replay, shrink, trace};
use crate::kernel::schedule::Schedule as _;
use crate::kernel::stats::Tally as _;

/// More lines than any run has.
const ALL_LINES: usize = 10_000_000;

/// A system's world, as the command sees it.
pub(super) trait Simulation {
    /// What `--system` calls it.
    const NAME: &'static str;
    /// What has happened in runs, with the names of counters.
    const REPORT: &'static str;

    /// A run written down.
    type Schedule: Run<Rule: fmt::Display + Send, Stats: Send> + DeserializeOwned + Serialize;

    /// The run of a seed.
    fn schedule(options: &Options, seed: u64) -> Self::Schedule;
    /// Whether a world can be made from a schedule; if not, why.
    fn check(schedule: &Self::Schedule) -> Result<(), String>;
    /// The nodes and what they are started with.
    fn headline(schedule: &Self::Schedule) -> String;
}

type Rule<S> = <<S as Simulation>::Schedule as Run>::Rule;
type Stats<S> = <<S as Simulation>::Schedule as Run>::Stats;

/// What runs have come to.
struct Sum<S: Simulation + ?Sized> {
    runs: u64,
    all: Stats<S>,
}

impl<S: Simulation> Sum<S> {
    fn new() -> Self {
        Self {
            runs: 0,
            all: Stats::<S>::default(),
        }
    }

    fn add(&mut self, outcome: &Outcome<S::Schedule>) {
        self.runs += 1;
        self.all.add(&outcome.stats);
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "runs          {}", self.runs)?;
        write!(out, "{}", self.all.fill(S::REPORT))
    }
}

/// A schedule as it stands in a file.
fn text<S: Simulation>(schedule: &S::Schedule) -> Result<String, Error> {
    Ok(serde_json::to_string_pretty(schedule)? + "\n")
}

/// Runs what the options ask for and prints what happened. `true`: nothing was broken.
pub(super) fn run<S: Simulation>(options: &Options, out: &mut impl Write) -> Result<bool, Error> {
    let record = options.record.as_deref();
    match options.selection() {
        Selection::Schedule(path) => {
            let schedule = files::read_schedule(&path, S::check)?;
            one::<S>(&schedule, record, None, out)
        }
        Selection::Seed(seed) => {
            let schedule = S::schedule(options, seed);
            one::<S>(&schedule, record, Some(&options.keep()), out)
        }
        Selection::Seeds(seeds) => run_many::<S>(options, seeds, out),
    }
}

fn one<S: Simulation>(
    schedule: &S::Schedule,
    record: Option<&Path>,
    keep: Option<&Path>,
    out: &mut impl Write,
) -> Result<bool, Error> {
    if let Some(directory) = record {
        write_record::<S>(schedule, directory)?;
    }
    let outcome = replay(schedule);
    let seed = schedule.seed();
    writeln!(out, "seed          {seed}, {}", S::headline(schedule))?;
    writeln!(out, "actions       {}", schedule.actions().len())?;
    let mut sum = Sum::<S>::new();
    sum.add(&outcome);
    sum.print(out)?;
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

/// What happens in a run, line by line, and its schedule.
fn write_record<S: Simulation>(schedule: &S::Schedule, directory: &Path) -> Result<(), Error> {
    files::keep(directory, "schedule.json", &text::<S>(schedule)?)?;
    let mut lines = trace(schedule, ALL_LINES).join("\n");
    lines.push('\n');
    files::keep(directory, "trace.txt", &lines)
}

fn shorten<S: Simulation>(
    schedule: &S::Schedule,
    rule: Rule<S>,
    keep: &Path,
    out: &mut impl Write,
) -> Result<(), Error> {
    let mut progress = Progress::new();
    let mut short = shrink(schedule, rule, |runs, actions| {
        progress.show(|_| format!("shrinking: {runs} runs, {actions} actions left"));
    });
    drop(progress);
    *short.about_mut() = rule.to_string();
    let text = text::<S>(&short)?;
    writeln!(out, "\nThe shortest schedule that does so:\n\n{text}")?;
    print_trace::<S>(&short, out)?;
    let path = files::keep_schedule(keep, short.seed(), &text)?;
    writeln!(
        out,
        "\nTo see it again: ring-sim --system {} --schedule {}",
        S::NAME,
        path.display()
    )?;
    Ok(())
}

fn print_trace<S: Simulation>(schedule: &S::Schedule, out: &mut impl Write) -> Result<(), Error> {
    let lines = trace(schedule, TRACE_LINES).join("\n");
    writeln!(out, "\nWhat led to it:\n\n{lines}")?;
    Ok(())
}

fn run_many<S: Simulation>(
    options: &Options,
    seeds: Range<u64>,
    out: &mut impl Write,
) -> Result<bool, Error> {
    if let Some(directory) = &options.record {
        // Better now than after hours.
        files::make(directory)?;
    }
    let mut sum = Sum::<S>::new();
    let failed = many::run(
        seeds,
        |seed| replay(&S::schedule(options, seed)),
        |outcome| outcome.violations.first().map(ToString::to_string),
        |outcome| sum.add(outcome),
    );
    sum.print(out)?;
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
            write_record::<S>(&schedule, &directory.join(format!("seed-{seed}")))?;
        }
    }
    Ok(false)
}
