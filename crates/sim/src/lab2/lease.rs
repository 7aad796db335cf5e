//! Checks leases: as long as no frame is lost and no clock is wrong, at most one node's application relies on a
//! token.
//!
//! A node that holds a token gives its application a lease. The application may work until the lease ends, even if the
//! node loses the token, crashes or stalls. Only the end of the work or a handover by this node ends the lease earlier.

use super::Inspect;
use super::node::{AppClaim, NodeData};
use super::outcome::Rule;
use super::schedule::{Action, Fault, Schedule};
use super::system::World;

/// Whether every lease in this schedule stays valid. A lasting cut loses acknowledgements.
pub(super) fn is_orderly(schedule: &Schedule) -> bool {
    let is_harmless = |action: &Action| {
        matches!(
            action.fault,
            Fault::Constants { .. }
                | Fault::Want { .. }
                | Fault::Data { .. }
                | Fault::Lock { .. }
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
    };
    let loses_frames = matches!(schedule.lasting, Some(Fault::Cut { .. }));
    !loses_frames && schedule.actions.iter().all(is_harmless)
}

impl<M: Inspect> World<M> {
    /// Checks the lease that a node gives its application.
    pub(super) fn check_lease(&mut self, at: usize) {
        let now = self.now;
        let node = &mut self.nodes[at];
        let Some(driver) = node.driver.as_ref() else {
            return;
        };
        let machine = driver.machine();
        let held = machine.held_token();
        let lets_go = |claim: AppClaim| held == Some(claim.token) && !machine.may_use();
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
        // A later lease may end before an earlier lease. The application may still rely on the earlier lease.
        let until = before.map_or(until, |before| before.until.max(until));
        node.own.lease = Some(AppClaim { token, until });
        if let Some((other, claim)) = self.other_claim(at, |own| own.lease) {
            let (own, theirs) = (token, claim.token);
            let what = format!("with {own}, and n{other} with {theirs}");
            self.system.checks.report(now, Some(at), Rule::Lease, what);
        }
    }
    /// Returns a different node whose application may still rely on its claim. The clock of the returned node decides
    /// whether its claim has ended.
    pub(super) fn other_claim(
        &self,
        at: usize,
        told: impl Fn(&NodeData) -> Option<AppClaim>,
    ) -> Option<(usize, AppClaim)> {
        let others = self.nodes.iter().enumerate().filter(|&(of, _)| of != at);
        others.into_iter().find_map(|(of, node)| {
            let claim = told(&node.own)?;
            (claim.until > node.clock.monotonic(self.now)).then_some((of, claim))
        })
    }
}
