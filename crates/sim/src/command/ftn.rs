//! `ring-sim --system ftn`: the world of the token service.

use std::io::{self, Write};

use super::Options;
use super::system::{Simulation, listed, took};
use crate::ftn::{Excuse, FaultKind, Schedule, Stats};

/// The token service.
pub(super) struct Ftn;

impl Simulation for Ftn {
    const NAME: &'static str = "ftn";

    type Schedule = Schedule;

    fn schedule(options: &Options, seed: u64) -> Schedule {
        Schedule::of(&options.ftn_settings(seed))
    }

    fn check(schedule: &Schedule) -> Result<(), String> {
        schedule.check()
    }

    fn headline(schedule: &Schedule) -> String {
        let Schedule {
            servers,
            clients,
            quorum,
            ..
        } = schedule;
        let options = schedule.options();
        format!(
            "{servers} servers, quorum {quorum}, {clients} clients, HB {:?}, ST {:?}, CT {:?}",
            options.heartbeat, options.server_timeout, options.client_timeout
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
