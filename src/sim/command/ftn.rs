//! `ringd sim --system ftn`: the world of the token service.

use std::io::{self, Write};

use super::system::{Simulation, listed, took};
use super::{Error, Options};
use crate::sim::ftn::{
    Excuse, FaultKind, Outcome, Rule, Schedule, Stats, Violation, replay, shrink, trace,
};

/// The token service.
pub(super) struct Ftn;

impl Simulation for Ftn {
    const NAME: &'static str = "ftn";

    type Schedule = Schedule;
    type Rule = Rule;
    type Outcome = Outcome;
    type Sum = Sum;

    fn schedule(options: &Options, seed: u64) -> Schedule {
        Schedule::of(&options.ftn_settings(seed))
    }

    fn check(schedule: &Schedule) -> Result<(), String> {
        schedule.check()
    }

    fn headline(schedule: &Schedule) -> String {
        let Schedule {
            seed,
            servers,
            clients,
            quorum,
            ..
        } = schedule;
        let options = schedule.options();
        format!(
            "{seed}, {servers} servers, quorum {quorum}, {clients} clients, HB {:?}, ST {:?}, CT {:?}",
            options.heartbeat, options.server_timeout, options.client_timeout
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
