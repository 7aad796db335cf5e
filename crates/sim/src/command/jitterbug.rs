//! `ring-sim --system jitterbug`: simulations of Jitterbug.

use super::Options;
use super::system::SystemCommand;
use crate::jitterbug::{Outcome, Schedule};
use crate::kernel::run;

pub(super) struct Jitterbug;

impl SystemCommand for Jitterbug {
    const COMMAND: &'static str = "ring-sim --system jitterbug";
    const REPORT: &'static str = "\
time          {time} in all
faults met    {met}
datagrams     {sent TR1} TR1, {sent TR2} TR2, {injected} of strangers or replayed, {delivered} read, \
              {overflowed} lost to full sockets
passes        {passes_done} done, {passes_failed} failed, {passes_unknown} unknown, {passes_aborted} aborted
tokens        {tokens_taken} taken, {tokens_merged} merged, {tokens_absorbed} absorbed, {restores} restored, \
              {stalls} stalls
programs      {programs_done} done, {programs_failed} failed; {dropped} datagrams and exchanges dropped
slowest       one token after {settled_after}, leader replaced after {replaced_after}, \
              one token after a split after {merged_after}, lists equal after {equal_after}, \
              all have led after {led_after}
excused       {excused}
fingerprint   {fingerprint}
";

    type Schedule = Schedule;

    fn schedule(options: &Options, seed: u64) -> Schedule {
        Schedule::of(&options.settings_of(seed))
    }

    fn play(schedule: &Schedule, most: usize) -> (Outcome, Vec<String>) {
        run::play(schedule, most)
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
}
