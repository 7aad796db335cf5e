//! `ringd sim --system andrews`: the world of the coordinated ring.

use std::io::{self, Write};

use super::system::{Simulation, listed, took};
use super::{Error, Options};
use crate::sim::andrews::{
    Excuse, FaultKind, Outcome, Rule, Schedule, Stats, Violation, replay, shrink, trace,
};

/// The coordinated ring.
pub(super) struct Andrews;

impl Simulation for Andrews {
    const NAME: &'static str = "andrews";

    type Schedule = Schedule;
    type Rule = Rule;
    type Outcome = Outcome;
    type Sum = Sum;

    fn schedule(options: &Options, seed: u64) -> Schedule {
        Schedule::of(&options.andrews_settings(seed))
    }

    fn check(schedule: &Schedule) -> Result<(), String> {
        schedule.check()
    }

    fn headline(schedule: &Schedule) -> String {
        let options = schedule.options(0);
        format!(
            "{}, {} nodes, hold {:?}, ack-timeout {:?}, token-timeout {:?}, poll {:?}, database-timeout {:?}, {:?}",
            schedule.seed,
            schedule.ids.len(),
            options.hold,
            options.ack_timeout,
            options.token_timeout,
            options.poll,
            options.database_timeout,
            schedule.elections
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
        let [joins, successors, requests, bullies] = all.sent;
        let [held, returned, made, lost] = all.tokens;
        let [claims, removals, joined] = all.topology;
        let [started, won] = all.elections;
        let [committed, refused, failed] = all.jobs;
        let [done, token, database, unknown, crowded] = all.answers;
        writeln!(out, "runs          {}", self.runs)?;
        writeln!(out, "time          {:?} in all", all.time)?;
        writeln!(out, "faults met    {}", listed(kinds))?;
        writeln!(
            out,
            "datagrams     {joins} JOIN, {successors} SUCCESSOR, {requests} SUCCESSOR_REQUEST, {bullies} BULLY, \
             {} of strangers or replayed, {} read, {} lost to full sockets, {} frames dropped",
            all.injected, all.delivered, all.overflowed, all.dropped
        )?;
        writeln!(
            out,
            "tokens        {held} held, {returned} returned, {made} made, {lost} lost"
        )?;
        writeln!(
            out,
            "ring          {claims} claims, {removals} removed, {joined} put in, {started} elections started, {won} won"
        )?;
        writeln!(
            out,
            "database      {committed} done, {refused} refused, {failed} failed; {} posts",
            all.posts
        )?;
        writeln!(
            out,
            "requests      {done} done, {token} token, {database} database, {unknown} unknown, {crowded} crowded"
        )?;
        writeln!(
            out,
            "slowest       one ring after {}, led after {}, one token after {}, token went on after {}",
            took(all.ring_after),
            took(all.led_after),
            took(all.token_after),
            took(all.went_on_after)
        )?;
        writeln!(out, "excused       {}", listed(excuses))?;
        writeln!(out, "fingerprint   {:016x}", all.fingerprint)
    }
}
