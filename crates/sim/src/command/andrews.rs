//! `ring-sim --system andrews`: simulations of the coordinated ring.

use super::Options;
use super::system::SystemCommand;
use crate::andrews::{Outcome, Schedule};
use crate::kernel::run;

pub(super) struct Andrews;

impl SystemCommand for Andrews {
    const COMMAND: &'static str = "ring-sim --system andrews";
    const REPORT: &'static str = "\
time          {time} in all
faults met    {met}
datagrams     {sent JOIN} JOIN, {sent SUCCESSOR} SUCCESSOR, {sent SUCCESSOR_REQUEST} SUCCESSOR_REQUEST, \
              {sent COORDINATOR_ELECTION} BULLY, {injected} of strangers or replayed, {delivered} read, \
              {overflowed} lost to full sockets, {dropped} frames dropped
tokens        {tokens_held} held, {tokens_returned} returned, {tokens_made} made, {tokens_lost} lost
ring          {claims} claims, {removals} removed, {joined} put in, {elections_started} elections started, \
              {elections_won} won
database      {jobs_done} done, {jobs_refused} refused, {jobs_failed} failed; {posts} posts
requests      {answers_done} done, {answers_token} token, {answers_database} database, {answers_unknown} unknown, \
              {answers_crowded} crowded
slowest       one ring after {ring_after}, led after {led_after}, one token after {token_after}, \
              token went on after {went_on_after}
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
}
