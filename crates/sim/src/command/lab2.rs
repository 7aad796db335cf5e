//! `ring-sim` without `--system`: simulations of Lab2.

use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;

use ring_codec::lab2::Kind;

use super::files::Files;
use super::system::SystemCommand;
use super::{Error, Options};
use crate::kernel::stats::Tally as _;
use crate::lab2::{Inspect, Outcome, Recorder, Schedule, Stats, Trace, replay};

/// The simulations of one state machine.
pub(super) struct Lab2<M>(PhantomData<M>);

impl<M: Inspect> SystemCommand for Lab2<M> {
    const COMMAND: &'static str = "ring-sim";
    const REPORT: &'static str = "\
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

    type Schedule = Schedule;

    fn schedule(options: &Options, seed: u64) -> Schedule {
        Schedule::of(&options.settings(seed))
    }

    fn headline(schedule: &Schedule) -> String {
        let hold = Duration::from_micros(schedule.idle_hold_us);
        let take = Duration::from_micros(schedule.take_timeout_us);
        let (nodes, offers) = (schedule.nodes, schedule.take_attempts);
        format!("{nodes} nodes, idle hold {hold:?}, {offers} offers {take:?} apart")
    }

    fn play(schedule: &Schedule, most: usize) -> (Outcome, Vec<String>) {
        let trace = Trace::of(most);
        let recorder = (most > 0).then(|| Box::new(trace.clone()) as Box<dyn Recorder>);
        let outcome = replay::<M>(schedule, recorder);
        (outcome, trace.take())
    }

    fn report(schedule: &Schedule, stats: &Stats) -> String {
        let kinds = Kind::ALL.map(|kind| format!("{kind} {}", stats.sent(kind.name())));
        let calm = stats.counters.calm_at.unwrap_or_default();
        let (actions, kinds) = (schedule.actions.len(), kinds.join(", "));
        let rest = stats.fill(
            "\
faults met    {met}
frames sent   {kinds}
              CHALLENGE {sent CHALLENGE}, ANSWER {sent ANSWER}; strangers, replays and attacks {injected}
frames read   {delivered}, dropped {dropped}, lost to full queues {overflowed}
owners        {tenures} tenures, {quorums} of them with a quorum, {elections} elections, \
              {failed_hand_overs} failed hand-overs, {expired_leases} expired leases
work          {jobs} times with the token, {fenced} refused as outdated; {runs} jobs once in their period; \
              {locks} named locks
recovery      one owner after {one_owner_after}, equal tables after {tables_equal_after}, \
              {tenures_waited} tenures waited, dead owner replaced after {replaced_after}
members       {silent} times silent, {forgotten} times forgotten
exempted      {exempted}
fingerprint   {fingerprint}
",
        );
        format!(
            "time          {:?}, faults until {calm:?}\nactions       {actions}\n{}",
            stats.time,
            rest.replace("{kinds}", &kinds)
        )
    }

    fn runs(options: &Options, runs: u64) -> String {
        let (nodes, time) = (options.lab2_nodes(), options.time);
        let asked = options.settings(0).faults;
        format!("{runs} of {nodes} nodes, {time:?} of {asked} each")
    }

    fn text(schedule: &Schedule) -> serde_json::Result<String> {
        schedule.to_text()
    }

    fn record(schedule: &Schedule, directory: &Path) -> Result<(), Error> {
        let files = Files::create(directory, schedule)?;
        let _ = replay::<M>(schedule, Some(Box::new(files.clone())));
        files.finish()
    }
}
