//! The same command around any world that is printed line by line: what a system adds is [`Simulation`].

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::options::Selection;
use super::progress::Progress;
use super::{Error, Options, TRACE_LINES, files, many};
use crate::sim::kernel::violation::Violation;

/// More lines than any run has.
const ALL_LINES: usize = 10_000_000;

/// A system's world, as the command sees it.
pub(super) trait Simulation {
    /// What `--system` calls it.
    const NAME: &'static str;

    /// A run written down.
    type Schedule: DeserializeOwned;
    /// What must hold.
    type Rule: Copy + Eq + fmt::Display;
    /// What a run has come to.
    type Outcome: Send;
    /// What runs have come to.
    type Sum: Default;

    /// The run of a seed.
    fn schedule(options: &Options, seed: u64) -> Self::Schedule;
    /// Whether a world can be made from a schedule; if not, why.
    fn check(schedule: &Self::Schedule) -> Result<(), String>;
    /// The seed, the nodes and what they are started with.
    fn headline(schedule: &Self::Schedule) -> String;
    /// The seed, and how many actions there are.
    fn size(schedule: &Self::Schedule) -> (u64, usize);
    /// A schedule as it stands in a file, with a sentence of what it shows.
    fn text(schedule: &Self::Schedule, about: Option<Self::Rule>) -> Result<String, Error>;
    /// Runs a schedule.
    fn replay(schedule: &Self::Schedule) -> Self::Outcome;
    /// The last lines of what happens in a run.
    fn trace(schedule: &Self::Schedule, most: usize) -> Vec<String>;
    /// A shorter schedule in which the same rule is broken.
    fn shrink(
        schedule: &Self::Schedule,
        rule: Self::Rule,
        tried: impl FnMut(usize, usize),
    ) -> Self::Schedule;
    /// What was broken.
    fn violations(outcome: &Self::Outcome) -> &[Violation<Self::Rule>];
    /// Adds a run.
    fn add(sum: &mut Self::Sum, outcome: &Self::Outcome);
    /// Prints what runs have come to.
    fn print(sum: &Self::Sum, out: &mut impl Write) -> io::Result<()>;
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
    let outcome = S::replay(schedule);
    let (seed, actions) = S::size(schedule);
    writeln!(out, "seed          {}", S::headline(schedule))?;
    writeln!(out, "actions       {actions}")?;
    let mut sum = S::Sum::default();
    S::add(&mut sum, &outcome);
    S::print(&sum, out)?;
    let violations = S::violations(&outcome);
    let Some(first) = violations.first() else {
        writeln!(out, "Nothing was broken.")?;
        return Ok(true);
    };
    writeln!(out, "\nBROKEN with seed {seed}:")?;
    for violation in violations {
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
    files::keep(directory, "schedule.json", &S::text(schedule, None)?)?;
    let mut lines = S::trace(schedule, ALL_LINES).join("\n");
    lines.push('\n');
    files::keep(directory, "trace.txt", &lines)
}

fn shorten<S: Simulation>(
    schedule: &S::Schedule,
    rule: S::Rule,
    keep: &Path,
    out: &mut impl Write,
) -> Result<(), Error> {
    let mut progress = Progress::new();
    let short = S::shrink(schedule, rule, |runs, actions| {
        progress.show(|_| format!("shrinking: {runs} runs, {actions} actions left"));
    });
    drop(progress);
    let text = S::text(&short, Some(rule))?;
    writeln!(out, "\nThe shortest schedule that does so:\n\n{text}")?;
    print_trace::<S>(&short, out)?;
    let path = files::keep_schedule(keep, S::size(&short).0, &text)?;
    writeln!(
        out,
        "\nTo see it again: ringd sim --system {} --schedule {}",
        S::NAME,
        path.display()
    )?;
    Ok(())
}

fn print_trace<S: Simulation>(schedule: &S::Schedule, out: &mut impl Write) -> Result<(), Error> {
    let lines = S::trace(schedule, TRACE_LINES).join("\n");
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
    let mut sum = S::Sum::default();
    let failed = many::run(
        seeds,
        |seed| S::replay(&S::schedule(options, seed)),
        |outcome| S::violations(outcome).first().map(ToString::to_string),
        |outcome| S::add(&mut sum, outcome),
    );
    S::print(&sum, out)?;
    if failed.is_empty() {
        writeln!(out, "Nothing was broken.")?;
        return Ok(true);
    }
    writeln!(out, "\nBROKEN with {} seeds:", failed.len())?;
    let mut seen: Vec<S::Rule> = Vec::new();
    for (seed, outcome) in &failed {
        for violation in S::violations(outcome) {
            writeln!(out, "  seed {seed}: {violation}")?;
        }
    }
    for (seed, outcome) in &failed {
        let first = S::violations(outcome).first();
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

/// Those that are not 0, with their numbers.
pub(super) fn listed<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> String {
    let counts = counts.filter(|(_, count)| *count > 0);
    let counts: Vec<_> = counts
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if counts.is_empty() {
        "none".into()
    } else {
        counts.join(", ")
    }
}

pub(super) fn took(time: Option<Duration>) -> String {
    time.map_or("-".into(), |time| format!("{:.3} s", time.as_secs_f64()))
}
