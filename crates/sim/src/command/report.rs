//! What runs of Lab2 have come to, for people.

use std::io::{self, Write};
use std::time::Duration;

use ring_codec::lab2::Kind;

use super::Options;
use crate::kernel::stats::Tally as _;
use crate::lab2::{Outcome, Schedule, Stats};

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
    let kinds = Kind::ALL.map(|kind| format!("{kind} {}", stats.sent(kind.name())));
    let hold = Duration::from_micros(*idle_hold_us);
    let take = Duration::from_micros(*take_timeout_us);
    writeln!(
        out,
        "seed          {seed}, {nodes} nodes, idle hold {hold:?}, {take_attempts} offers {take:?} apart"
    )?;
    let calm = stats.counters.calm_at.unwrap_or_default();
    writeln!(out, "time          {:?}, faults until {calm:?}", stats.time)?;
    writeln!(out, "actions       {}", schedule.actions.len())?;
    writeln!(out, "faults met    {}", stats.fill("{met}"))?;
    writeln!(out, "frames sent   {}", kinds.join(", "))?;
    let report = "\
              strangers and replays {injected}
frames read   {delivered}, dropped {dropped}, lost to full queues {overflowed}
owners        {tenures} tenures, {quorums} of them with a quorum, {elections} elections, \
              {failed_hand_overs} failed hand-overs, {expired_leases} expired leases
work          {jobs} times with the token, {fenced} refused as outdated; {runs} jobs once in their period
recovery      one owner after {one_owner_after}, equal tables after {tables_equal_after}, \
              {tenures_waited} tenures waited, dead owner replaced after {replaced_after}
members       {silent} times silent, {forgotten} times forgotten
exempted      {exempted}
fingerprint   {fingerprint}
";
    write!(out, "              {}", stats.fill(report))?;
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
    (runs, sum): (u64, &Stats),
    failed: &[(u64, Outcome)],
) -> io::Result<()> {
    let (nodes, time) = (options.lab2_nodes(), options.time);
    let asked = options.settings(0).faults;
    writeln!(
        out,
        "runs          {runs} of {nodes} nodes, {time:?} of {asked} each"
    )?;
    let report = "\
time          {time} in all
faults met    {met}
frames read   {delivered}
owners        {tenures} tenures, {quorums} of them with a quorum, {elections} elections
slowest       one owner after {one_owner_after}, equal tables after {tables_equal_after}, \
              {tenures_waited} tenures waited, dead owner replaced after {replaced_after}
members       {silent} times silent, {forgotten} times forgotten
exempted      {exempted}
fingerprint   {fingerprint}
";
    write!(out, "{}", sum.fill(report))?;
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
