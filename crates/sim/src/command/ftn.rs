//! `ring-sim --system ftn`: simulations of the token service.

use super::Options;
use super::system::SystemCommand;
use crate::ftn::{Outcome, Schedule};
use crate::kernel::run;

pub(super) struct Ftn;

impl SystemCommand for Ftn {
    const COMMAND: &'static str = "ring-sim --system ftn";
    const REPORT: &'static str = "\
time          {time} in all
faults met    {met}
datagrams     {sent} sent, {injected} of strangers or replayed, {delivered} read, {overflowed} lost to full sockets
sessions      {sessions} live, {lost} lost
tokens        {grants} grants, {attacker_grants} to the attacker, {updates} updates, {surveys} surveys, \
              {conflicts} conflicts
leaders       {warm} warm takeovers, {cold} cold ones, {resets} resets
slowest       READY after {ready_after}, leader replaced after {replaced_after}, \
              its tokens granted after {served_after}
excused       {excused}
fingerprint   {fingerprint}
";

    type Schedule = Schedule;

    fn schedule(options: &Options, seed: u64) -> Schedule {
        Schedule::of(&options.ftn_settings(seed))
    }

    fn play(schedule: &Schedule, most: usize) -> (Outcome, Vec<String>) {
        run::play(schedule, most)
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
}
