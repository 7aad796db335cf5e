//! `ring-sim --system andrews`: the world of the coordinated ring.

use std::io::{self, Write};

use super::Options;
use super::system::{Simulation, listed, took};
use crate::andrews::{Excuse, FaultKind, Schedule, Stats};

/// The coordinated ring.
pub(super) struct Andrews;

impl Simulation for Andrews {
    const NAME: &'static str = "andrews";

    type Schedule = Schedule;

    fn schedule(options: &Options, seed: u64) -> Schedule {
        Schedule::of(&options.andrews_settings(seed))
    }

    fn check(schedule: &Schedule) -> Result<(), String> {
        schedule.check()
    }

    fn headline(schedule: &Schedule) -> String {
        let options = schedule.options(0);
        format!(
            "{} nodes, hold {:?}, ack-timeout {:?}, token-timeout {:?}, poll {:?}, database-timeout {:?}, {:?}",
            schedule.ids.len(),
            options.hold,
            options.ack_timeout,
            options.token_timeout,
            options.poll,
            options.database_timeout,
            schedule.elections
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
        let [joins, successors, requests, bullies] = all.sent;
        let [held, returned, made, lost] = all.tokens;
        let [claims, removals, joined] = all.topology;
        let [started, won] = all.elections;
        let [committed, refused, failed] = all.jobs;
        let [done, token, database, unknown, crowded] = all.answers;
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
