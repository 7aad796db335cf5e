//! `ring-sim --system jitterbug`: the world of Jitterbug.

use std::io::{self, Write};

use super::Options;
use super::system::{Simulation, listed, took};
use crate::jitterbug::{Excuse, FaultKind, Schedule, Stats};

/// Jitterbug.
pub(super) struct Jitterbug;

impl Simulation for Jitterbug {
    const NAME: &'static str = "jitterbug";

    type Schedule = Schedule;

    fn schedule(options: &Options, seed: u64) -> Schedule {
        Schedule::of(&options.jitterbug_settings(seed))
    }

    fn check(schedule: &Schedule) -> Result<(), String> {
        schedule.check()
    }

    fn headline(schedule: &Schedule) -> String {
        let Schedule { nodes, data, .. } = schedule;
        let options = schedule.options();
        let computes = if data.computes {
            "programs"
        } else {
            "counters"
        };
        format!(
            "{nodes} nodes, {} TR1 every {:?}, renew {:?}, pass {:?}, hold {:?}, {computes}",
            options.tr_count,
            options.tr_interval,
            options.renew_timeout,
            options.token_pass_timeout,
            options.hold
        )
    }

    fn add(sum: &mut Stats, stats: &Stats) {
        sum.add(stats);
    }

    fn print(all: &Stats, out: &mut impl Write) -> io::Result<()> {
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
