//! Work that needs a quorum. Like the daemon, the node asks the members for a while, and then lets other members have
//! the token.

use ring_proto::lab2::Command;
use ring_proto::time::nanos;

use super::Inspect;
use super::system::{Lab2Event, World};
use crate::kernel::queue::id;

/// The number of requests to the members in one tenure. TAKE_TIMEOUT lies between two requests.
const REQUESTS_PER_TENURE_MAX: u32 = 8;
/// The length of a PING with a promise, in bytes.
const PROMISE_LEN: usize = 71;
/// The size of the largest ring in which every member answers every heartbeat.
const ANSWERING_RING_MAX: usize = 64;

impl<M: Inspect> World<M> {
    /// Whether enough live members can confirm a tenure, so that each live member can get a quorum. A node without
    /// other members has no quorum, unless it expects a certain number of members.
    pub(super) fn may_have_quorum(&self) -> bool {
        let live = self.live().count();
        let enough = |at: usize| {
            let node = &self.nodes[at];
            let knows = live > 1 || node.own.constants.expect.is_some();
            let needed = self.machine(at).map(M::quorum_size);
            knows
                && needed.is_some_and(|needed| needed <= live)
                && self.payload_max(at) >= PROMISE_LEN
        };
        live <= ANSWERING_RING_MAX
            && !self.system.checks.exemptions.may_names_clash()
            && self.live().all(enough)
    }

    /// If the node's work needs a quorum and the node has none, asks the members to confirm its tenure. Returns whether
    /// it asks.
    pub(super) fn ask_if_quorum_missing(&mut self, at: usize) -> bool {
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
            let ask = Lab2Event::Confirm(id(at), job.number);
            self.later(now, ask);
        }
        true
    }

    /// Asks the members again. After the last request, the node lets other members have the token.
    pub(super) fn ask_members(&mut self, at: usize, number: u32) {
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
        if times < REQUESTS_PER_TENURE_MAX {
            job.asked = Some((token, times + 1));
            self.command(at, Command::Confirm);
            let again = self.now + nanos(self.system.constants.take_timeout);
            self.later(again, Lab2Event::Confirm(id(at), number));
        } else {
            job.asked = None;
            self.command(at, Command::WorkDone);
            self.command(at, Command::WantToken);
        }
    }
}
