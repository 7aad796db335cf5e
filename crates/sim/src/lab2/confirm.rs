//! Work that needs a quorum: as the daemon does it, the members are asked for a while, and then others have their turn.

use ring_proto::lab2::Command;
use ring_proto::time::nanos;

use super::Subject;
use super::ring::{Due, World};
use crate::kernel::queue::id;

/// So many times, TAKE_TIMEOUT apart, the members are asked in one tenure.
const TIMES: u32 = 8;
/// A PING with a promise has so many bytes.
const PROMISE_LEN: usize = 71;
/// In a larger ring a member answers only some of the heartbeats.
const LISTENERS: usize = 64;

impl<M: Subject> World<M> {
    /// Whether all live members can have a quorum: enough of them are there to confirm it. Who is alone has none
    /// unless it was told how many members to expect.
    pub(super) fn may_have_quorum(&self) -> bool {
        let live = self.live().count();
        let enough = |at: usize| {
            let node = &self.nodes[at];
            let knows = live > 1 || node.own.constants.expect.is_some();
            let needed = self.machine(at).map(M::quorum_size);
            knows && needed.is_some_and(|needed| needed <= live) && node.mtu >= PROMISE_LEN
        };
        live <= LISTENERS && !self.system.checks.exempt.names_clash() && self.live().all(enough)
    }

    /// Whether the node's work needs a quorum that it does not have. If so the members are asked.
    pub(super) fn waits_for_quorum(&mut self, at: usize) -> bool {
        let now = self.now;
        let node = &mut self.nodes[at];
        let local = node.clock.monotonic(now);
        let (Some(job), Some(token), Some(driver)) = (
            node.own.job.as_mut().filter(|job| job.quorum && !job.begun),
            node.own.held,
            node.driver.as_ref(),
        ) else {
            return false;
        };
        if driver.machine().quorum_until() > Some(local) {
            return false;
        }
        if job.asked.is_none_or(|(of, _)| of != token) {
            job.asked = Some((token, 0));
            let ask = Due::Confirm(id(at), job.number);
            self.later(now, ask);
        }
        true
    }

    /// Asks the members once more. Has that been done often enough, others have their turn.
    pub(super) fn ask_for_quorum(&mut self, at: usize, number: u32) {
        let own = &mut self.nodes[at].own;
        let (held, may_use) = (own.held, own.may_use);
        let Some(job) = own.job.as_mut() else {
            return;
        };
        let Some((token, times)) = job.asked.filter(|_| job.number == number && !job.begun) else {
            return;
        };
        if held != Some(token) || !may_use {
            return;
        }
        if times < TIMES {
            job.asked = Some((token, times + 1));
            self.command(at, Command::Confirm);
            let again = self.now + nanos(self.system.constants.take_timeout);
            self.later(again, Due::Confirm(id(at), number));
        } else {
            job.asked = None;
            self.command(at, Command::WorkDone);
            self.command(at, Command::WantToken);
        }
    }
}
