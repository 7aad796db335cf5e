//! Who relies on a token without asking how safe it is: as long as no frame is lost and no clock is
//! wrong, no two nodes do at the same time.
//!
//! A node that holds a token tells its application how long it may rely on that. The application
//! goes on for so long even if the node loses its token, crashes or stands still: only the end of
//! its work, or the node's own hand-over, ends it earlier.

use super::Subject;
use super::node::{Claim, Own};
use super::outcome::Rule;
use super::plan::{Action, Fault};
use super::ring::World;

/// Whether leases count in a run with these actions: none of them voids one.
pub(super) fn is_orderly(plan: &[Action]) -> bool {
    plan.iter().all(|action| {
        matches!(
            action.fault,
            Fault::Constants { .. }
                | Fault::Want { .. }
                | Fault::Data { .. }
                | Fault::Crash { .. }
                | Fault::Start { .. }
                | Fault::Pause { .. }
                | Fault::Resume { .. }
                | Fault::Leave { .. }
                | Fault::Yield { .. }
                | Fault::HoldOff { .. }
                | Fault::HoldAgain { .. }
                | Fault::Address { .. }
        )
    })
}

impl<M: Subject> World<M> {
    /// Looks at what a node tells its application now.
    pub(super) fn look_at_lease(&mut self, at: usize) {
        let now = self.now;
        let node = &mut self.nodes[at];
        let Some(driver) = node.driver.as_ref() else {
            return;
        };
        let machine = driver.machine();
        let held = machine.held();
        let lets_go = |claim: Claim| held == Some(claim.token) && !machine.may_use();
        if node.own.lease.is_some_and(lets_go) {
            node.own.lease = None;
        }
        let local = node.clock.monotonic(now);
        let works = node.own.job.is_some_and(|job| job.begun);
        let until = machine.lease_until(local).filter(|&until| until > local);
        let Some((token, until)) = held.zip(until).filter(|_| works) else {
            return;
        };
        let before = node.own.lease.filter(|before| before.token == token);
        let until = before.map_or(until, |before| before.until.max(until));
        node.own.lease = Some(Claim { token, until });
        if let Some((other, claim)) = self.rival(at, |own| own.lease) {
            let (own, theirs) = (token, claim.token);
            let what = format!("with {own}, and n{other} with {theirs}");
            self.system.checks.broken(now, Some(at), Rule::Lease, what);
        }
    }
    /// Returns another node whose application may still rely on what it was told, by that node's clock.
    pub(super) fn rival(
        &self,
        at: usize,
        told: impl Fn(&Own) -> Option<Claim>,
    ) -> Option<(usize, Claim)> {
        let others = self.nodes.iter().enumerate().filter(|&(of, _)| of != at);
        others.into_iter().find_map(|(of, node)| {
            let claim = told(&node.own)?;
            (claim.until > node.clock.monotonic(self.now)).then_some((of, claim))
        })
    }
}
