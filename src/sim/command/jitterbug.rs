//! `ringd sim --system jitterbug`: the world of Jitterbug.

use std::io::{self, Write};

use super::system::{Simulation, listed, took};
use super::{Error, Options};
use crate::sim::jitterbug::{
    Excuse, FaultKind, Outcome, Rule, Schedule, Stats, Violation, replay, shrink, trace,
};

/// Jitterbug.
pub(super) struct Jitterbug;

impl Simulation for Jitterbug {
    const NAME: &'static str = "jitterbug";

    type Schedule = Schedule;
    type Rule = Rule;
    type Outcome = Outcome;
    type Sum = Sum;

    fn schedule(options: &Options, seed: u64) -> Schedule {
        Schedule::of(&options.jitterbug_settings(seed))
    }

    fn check(schedule: &Schedule) -> Result<(), String> {
        schedule.check()
    }

    fn headline(schedule: &Schedule) -> String {
        let Schedule {
            seed, nodes, data, ..
        } = schedule;
        let options = schedule.options();
        let computes = if data.computes {
            "programs"
        } else {
            "counters"
        };
        format!(
            "{seed}, {nodes} nodes, {} TR1 every {:?}, renew {:?}, pass {:?}, hold {:?}, {computes}",
            options.tr_count,
            options.tr_interval,
            options.renew_timeout,
            options.token_pass_timeout,
            options.hold
        )
    }

    fn size(schedule: &Schedule) -> (u64, usize) {
        (schedule.seed, schedule.actions.len())
    }

    fn text(schedule: &Schedule, about: Option<Rule>) -> Result<String, Error> {
        let mut schedule = schedule.clone();
        if let Some(rule) = about {
            rule.text().clone_into(&mut schedule.about);
        }
        Ok(schedule.to_text()?)
    }

    fn replay(schedule: &Schedule) -> Outcome {
        replay(schedule)
    }

    fn trace(schedule: &Schedule, most: usize) -> Vec<String> {
        trace(schedule, most)
    }

    fn shrink(schedule: &Schedule, rule: Rule, tried: impl FnMut(usize, usize)) -> Schedule {
        shrink(schedule, rule, tried)
    }

    fn violations(outcome: &Outcome) -> &[Violation] {
        &outcome.violations
    }

    fn add(sum: &mut Sum, outcome: &Outcome) {
        sum.add(&outcome.stats);
    }

    fn print(sum: &Sum, out: &mut impl Write) -> io::Result<()> {
        sum.print(out)
    }
}

/// What runs have come to.
#[derive(Default)]
pub(super) struct Sum {
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
        let [tr1, tr2] = all.sent;
        let [done, failed, unknown, aborted] = all.passes;
        let [taken, merged, absorbed] = all.accepted;
        let (ended, given_up) = all.programs;
        writeln!(out, "runs          {}", self.runs)?;
        writeln!(out, "time          {:?} in all", all.time)?;
        writeln!(out, "faults met    {}", listed(kinds))?;
        writeln!(
            out,
            "datagrams     {tr1} TR1, {tr2} TR2, {} of strangers or replayed, {} read, {} lost to full sockets",
            all.injected, all.delivered, all.overflowed
        )?;
        writeln!(
            out,
            "passes        {done} done, {failed} failed, {unknown} unknown, {aborted} broken off"
        )?;
        writeln!(
            out,
            "tokens        {taken} taken, {merged} merged, {absorbed} absorbed, {} restored, {} stalls",
            all.restores, all.stalls
        )?;
        writeln!(
            out,
            "programs      {ended} done, {given_up} failed; {} datagrams and exchanges dropped",
            all.dropped
        )?;
        writeln!(
            out,
            "slowest       one token after {}, leader replaced after {}, one token after a cut after {}, \
             lists equal after {}, all have led after {}",
            took(all.settled_after),
            took(all.replaced_after),
            took(all.merged_after),
            took(all.equal_after),
            took(all.led_after)
        )?;
        writeln!(out, "excused       {}", listed(excuses))?;
        writeln!(out, "fingerprint   {:016x}", all.fingerprint)
    }
}
