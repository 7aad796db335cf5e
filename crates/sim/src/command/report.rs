//! What runs have come to, for people.

use std::io::{self, Write};
use std::time::Duration;

use ring_codec::lab2::Kind;

use super::Options;
use crate::lab2::{FaultKind, Met, Outcome, Schedule, Stats};

/// What many runs have come to.
#[derive(Debug, Default)]
pub(super) struct Sum {
    runs: u64,
    delivered: u64,
    elections: u64,
    tenures: u64,
    quorums: u64,
    exempted: u64,
    silent: u64,
    forgotten: u64,
    met: Met,
    time: Duration,
    slowest_owner: Option<Duration>,
    slowest_tables: Option<Duration>,
    slowest_replaced: Option<Duration>,
    most_tenures_waited: u64,
    /// That of all runs, whatever order they ended in.
    fingerprint: u64,
}

impl Sum {
    pub(super) fn add(&mut self, stats: &Stats) {
        self.runs += 1;
        self.delivered += stats.delivered;
        self.elections += stats.elections;
        self.tenures += stats.tenures;
        self.quorums += stats.quorums;
        self.exempted += stats.exempted;
        self.silent += stats.silent;
        self.forgotten += stats.forgotten;
        self.time += stats.time;
        for (sum, met) in self.met.0.iter_mut().zip(stats.met.0) {
            *sum += met;
        }
        self.slowest_owner = self.slowest_owner.max(stats.one_owner_after);
        self.slowest_tables = self.slowest_tables.max(stats.tables_equal_after);
        self.slowest_replaced = self.slowest_replaced.max(stats.replaced_after);
        self.most_tenures_waited = self.most_tenures_waited.max(stats.tenures_waited);
        self.fingerprint = self.fingerprint.wrapping_add(stats.fingerprint);
    }
}

/// The faults that were met, with how often.
fn faults(met: &Met) -> String {
    let kinds = FaultKind::ALL.iter().zip(&met.0);
    let met: Vec<_> = kinds
        .filter(|&(_, &count)| count > 0)
        .map(|(kind, count)| format!("{} {count}", kind.word()))
        .collect();
    if met.is_empty() {
        "none".into()
    } else {
        met.join(", ")
    }
}

fn took(time: Option<Duration>) -> String {
    time.map_or("-".into(), |time| format!("{:.3} s", time.as_secs_f64()))
}

/// One run.
pub(super) fn run(out: &mut impl Write, schedule: &Schedule, outcome: &Outcome) -> io::Result<()> {
    let Outcome { violations, stats } = outcome;
    let Schedule {
        seed,
        nodes,
        idle_hold_us,
        take_timeout_us,
        take_attempts,
        ..
    } = schedule;
    let kinds: Vec<_> = Kind::ALL
        .iter()
        .map(|&kind| format!("{kind} {}", stats.sent(kind)))
        .collect();
    let hold = Duration::from_micros(*idle_hold_us);
    let take = Duration::from_micros(*take_timeout_us);
    writeln!(
        out,
        "seed          {seed}, {nodes} nodes, idle hold {hold:?}, {take_attempts} offers {take:?} apart"
    )?;
    writeln!(
        out,
        "time          {:?}, faults until {:?}",
        stats.time, stats.calm_at
    )?;
    writeln!(out, "actions       {}", schedule.actions.len())?;
    writeln!(out, "faults met    {}", faults(&stats.met))?;
    writeln!(out, "frames sent   {}", kinds.join(", "))?;
    let (foreign, dropped) = (stats.sent[0], stats.dropped);
    writeln!(out, "              strangers and replays {foreign}")?;
    writeln!(
        out,
        "frames read   {}, dropped {dropped}, lost to full queues {}",
        stats.delivered, stats.overflowed
    )?;
    writeln!(
        out,
        "owners        {} tenures, {} of them with a quorum, {} elections, {} failed hand-overs, \
         {} expired leases",
        stats.tenures,
        stats.quorums,
        stats.elections,
        stats.failed_hand_overs,
        stats.expired_leases
    )?;
    writeln!(
        out,
        "work          {} times with the token, {} refused as outdated; {} jobs once in their period",
        stats.jobs, stats.fenced, stats.runs
    )?;
    writeln!(
        out,
        "recovery      one owner after {}, equal tables after {}, {} tenures waited, dead owner \
         replaced after {}",
        took(stats.one_owner_after),
        took(stats.tables_equal_after),
        stats.tenures_waited,
        took(stats.replaced_after)
    )?;
    let (silent, forgotten) = (stats.silent, stats.forgotten);
    writeln!(
        out,
        "members       {silent} times silent, {forgotten} times forgotten"
    )?;
    writeln!(out, "exempted      {}", stats.exempted)?;
    writeln!(out, "fingerprint   {:016x}", stats.fingerprint)?;
    if violations.is_empty() {
        return writeln!(out, "Nothing was broken.");
    }
    writeln!(out, "\nBROKEN with seed {seed}:")?;
    for violation in violations {
        writeln!(out, "  {violation}")?;
    }
    Ok(())
}

/// Many runs.
pub(super) fn many(
    out: &mut impl Write,
    options: &Options,
    sum: &Sum,
    failed: &[(u64, Outcome)],
) -> io::Result<()> {
    let (nodes, time) = (options.lab2_nodes(), options.time);
    let asked = options.settings(0).faults;
    writeln!(
        out,
        "runs          {} of {nodes} nodes, {time:?} of {asked} each",
        sum.runs
    )?;
    writeln!(out, "time          {:?} in all", sum.time)?;
    writeln!(out, "faults met    {}", faults(&sum.met))?;
    writeln!(out, "frames read   {}", sum.delivered)?;
    writeln!(
        out,
        "owners        {} tenures, {} of them with a quorum, {} elections",
        sum.tenures, sum.quorums, sum.elections
    )?;
    writeln!(
        out,
        "slowest       one owner after {}, equal tables after {}, {} tenures waited, dead owner \
         replaced after {}",
        took(sum.slowest_owner),
        took(sum.slowest_tables),
        sum.most_tenures_waited,
        took(sum.slowest_replaced)
    )?;
    let (silent, forgotten) = (sum.silent, sum.forgotten);
    writeln!(
        out,
        "members       {silent} times silent, {forgotten} times forgotten"
    )?;
    writeln!(out, "exempted      {}", sum.exempted)?;
    writeln!(out, "fingerprint   {:016x}", sum.fingerprint)?;
    if failed.is_empty() {
        return writeln!(out, "Nothing was broken.");
    }
    writeln!(out, "\nBROKEN with {} seeds:", failed.len())?;
    for (seed, Outcome { violations, .. }) in failed {
        for violation in violations {
            writeln!(out, "  seed {seed}: {violation}")?;
        }
    }
    Ok(())
}
