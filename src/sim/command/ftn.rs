//! `ringd sim --system ftn`: the same command around the world of the token service.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use super::options::Selection;
use super::{Error, Options, TRACE_LINES, files, many};
use crate::sim::ftn::{Excuse, FaultKind, Outcome, Rule, Schedule, Stats, replay, shrink, trace};

/// More lines than any run has.
const ALL_LINES: usize = 10_000_000;

/// Runs what the options ask for and prints what happened. `true`: nothing was broken.
pub(super) fn run(options: &Options, out: &mut impl Write) -> Result<bool, Error> {
    let record = options.record.as_deref();
    match options.selection() {
        Selection::Schedule(path) => {
            let schedule = files::read_schedule(&path, Schedule::check)?;
            one(&schedule, record, None, out)
        }
        Selection::Seed(seed) => {
            let schedule = Schedule::of(&options.ftn_settings(seed));
            one(&schedule, record, Some(&options.keep()), out)
        }
        Selection::Seeds(seeds) => run_many(options, seeds, out),
    }
}

fn one(
    schedule: &Schedule,
    record: Option<&Path>,
    keep: Option<&Path>,
    out: &mut impl Write,
) -> Result<bool, Error> {
    if let Some(directory) = record {
        write_record(schedule, directory)?;
    }
    let outcome = replay(schedule);
    let Schedule {
        seed,
        servers,
        clients,
        quorum,
        ..
    } = schedule;
    let options = schedule.options();
    writeln!(
        out,
        "seed          {seed}, {servers} servers, quorum {quorum}, {clients} clients, HB {:?}, ST {:?}, CT {:?}",
        options.heartbeat, options.server_timeout, options.client_timeout
    )?;
    writeln!(out, "actions       {}", schedule.actions.len())?;
    let mut sum = Sum::default();
    sum.add(&outcome.stats);
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
        Some(keep) => shorten(schedule, first.rule, keep, out)?,
        None => tell_story(schedule, out)?,
    }
    Ok(false)
}

/// What happens in a run, line by line, and its schedule.
fn write_record(schedule: &Schedule, directory: &Path) -> Result<(), Error> {
    files::keep(directory, "schedule.json", &schedule.to_text()?)?;
    let mut story = trace(schedule, ALL_LINES).join("\n");
    story.push('\n');
    files::keep(directory, "story.txt", &story)
}

fn shorten(
    schedule: &Schedule,
    rule: Rule,
    keep: &Path,
    out: &mut impl Write,
) -> Result<(), Error> {
    let bar = many::spinner();
    let mut short = shrink(schedule, rule, |runs, actions| {
        bar.set_message(format!("shrinking: {runs} runs, {actions} actions left"));
    });
    bar.finish_and_clear();
    rule.text().clone_into(&mut short.about);
    let text = short.to_text()?;
    writeln!(out, "\nThe shortest schedule that does so:\n\n{text}")?;
    tell_story(&short, out)?;
    let path = files::keep_schedule(keep, short.seed, &text)?;
    let path = path.display();
    writeln!(
        out,
        "\nTo see it again: ringd sim --system ftn --schedule {path}"
    )?;
    Ok(())
}

fn tell_story(schedule: &Schedule, out: &mut impl Write) -> Result<(), Error> {
    let lines = trace(schedule, TRACE_LINES).join("\n");
    writeln!(out, "\nWhat led to it:\n\n{lines}")?;
    Ok(())
}

fn run_many(options: &Options, seeds: Range<u64>, out: &mut impl Write) -> Result<bool, Error> {
    if let Some(directory) = &options.record {
        // Better now than after hours.
        files::make(directory)?;
    }
    let mut sum = Sum::default();
    let failed = many::run(
        seeds,
        |seed| replay(&Schedule::of(&options.ftn_settings(seed))),
        |outcome: &Outcome| outcome.violations.first().map(ToString::to_string),
        |outcome| sum.add(&outcome.stats),
    );
    sum.print(out)?;
    if failed.is_empty() {
        writeln!(out, "Nothing was broken.")?;
        return Ok(true);
    }
    writeln!(out, "\nBROKEN with {} seeds:", failed.len())?;
    let mut seen: Vec<Rule> = Vec::new();
    for (seed, Outcome { violations, .. }) in &failed {
        for violation in violations {
            writeln!(out, "  seed {seed}: {violation}")?;
        }
    }
    for (seed, Outcome { violations, .. }) in &failed {
        let Some(first) = violations.first().filter(|it| !seen.contains(&it.rule)) else {
            continue;
        };
        seen.push(first.rule);
        let schedule = Schedule::of(&options.ftn_settings(*seed));
        writeln!(out, "\nSeed {seed}: {first}")?;
        shorten(&schedule, first.rule, &options.keep(), out)?;
        if let Some(directory) = &options.record {
            write_record(&schedule, &directory.join(format!("seed-{seed}")))?;
        }
    }
    Ok(false)
}

/// What runs have come to.
#[derive(Default)]
struct Sum {
    runs: u64,
    all: Stats,
}

impl Sum {
    fn add(&mut self, stats: &Stats) {
        self.runs += 1;
        self.all.add(stats);
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let all = &self.all;
        let kinds = FaultKind::ALL
            .iter()
            .map(|kind| (kind.word(), all.met(*kind)));
        let excuses = Excuse::ALL
            .iter()
            .map(|excuse| (excuse.text(), all.excused(*excuse)));
        writeln!(out, "runs          {}", self.runs)?;
        writeln!(out, "time          {:?} in all", all.time)?;
        writeln!(out, "faults met    {}", listed(kinds))?;
        writeln!(
            out,
            "datagrams     {} sent, {} of strangers or replayed, {} read, {} lost to full sockets",
            all.sent.iter().sum::<u64>(),
            all.injected,
            all.delivered,
            all.overflowed
        )?;
        writeln!(
            out,
            "sessions      {} live, {} lost",
            all.sessions, all.lost
        )?;
        writeln!(
            out,
            "tokens        {} grants, {} updates, {} surveys, {} conflicts",
            all.grants, all.updates, all.surveys, all.conflicts
        )?;
        let (warm, cold) = all.take_overs;
        writeln!(
            out,
            "leaders       {warm} warm take-overs, {cold} cold ones, {} resets",
            all.resets
        )?;
        writeln!(
            out,
            "slowest       READY after {}, leader replaced after {}, its tokens granted after {}",
            took(all.ready_after),
            took(all.replaced_after),
            took(all.served_after)
        )?;
        writeln!(out, "excused       {}", listed(excuses))?;
        writeln!(out, "fingerprint   {:016x}", all.fingerprint)
    }
}

/// Those that are not 0, with their numbers.
fn listed<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> String {
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

fn took(time: Option<Duration>) -> String {
    time.map_or("-".into(), |time| format!("{:.3} s", time.as_secs_f64()))
}
