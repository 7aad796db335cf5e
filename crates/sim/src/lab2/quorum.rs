//! Checks quorums: two nodes never rely on a quorum at the same time.
//!
//! A node with a quorum gives its application a time until which the application may rely on the quorum. The
//! application relies on the quorum until this time, even if the node loses its token, crashes or stalls. Only a
//! handover by this node ends this time earlier.

use ring_codec::lab2::Token;
use ring_runtime::driver::Driver;

use super::Inspect;
use super::node::{AppClaim, OwnerQuorum};
use super::outcome::Rule;
use super::system::World;

impl<M: Inspect> World<M> {
    pub(super) fn check_quorum(&mut self, at: usize) {
        let now = self.now;
        let node = &mut self.nodes[at];
        let Some(driver) = node.driver.as_ref() else {
            return;
        };
        let machine = driver.machine();
        let held = machine.held_token();
        let lets_go = |claim: AppClaim| machine.has_held(claim.token) && !machine.may_use();
        if node.own.claim.is_some_and(lets_go) {
            node.own.claim = None;
        }
        let local = node.clock.monotonic(now);
        let until = machine.quorum_until().filter(|&until| until > local);
        // If a node accepted its token too late, its application does not rely on the token until the node is sure of
        // it.
        let is_relied_on = node.own.quorum.is_some() || machine.lease_until(local).is_some();
        let told = until.filter(|_| machine.may_use() && is_relied_on);
        node.own.quorum = told.map(|until| OwnerQuorum {
            until,
            size: machine.quorum_size(),
        });
        let Some((token, until)) = held.zip(until) else {
            return;
        };
        let before = node.own.claim.filter(|claim| claim.until > local);
        if before.is_none_or(|before| before.token != token) {
            self.system.stats.counters.quorums += 1;
        }
        // A later promise may end before an earlier promise. The application may still rely on the earlier promise.
        let until = before.map_or(until, |before| before.until.max(until));
        node.own.claim = Some(AppClaim { token, until });
        self.compare_quorums(at, token);
    }

    /// Checks a node that has a quorum and receives a token that is stronger than its own token. The checked node's
    /// tenure and quorum must continue. The only exception: the other owner is new, and because of this new member a
    /// majority needs more members. A node is not checked if it gave up its token before the check, or if it could not
    /// store a re-created token.
    pub(super) fn check_loss(&mut self, at: usize, outdone: Token) {
        let now = self.now;
        let node = &self.nodes[at];
        // During a slow loop iteration, the state machine notices the end of a quorum only after the iteration.
        let late = node.clock.monotonic(now + node.slow);
        let before = node.own.quorum.filter(|before| before.until > late);
        let machine = node.driver.as_ref().map(Driver::machine);
        let Some(((held, machine), before)) = node.own.held.zip(machine).zip(before) else {
            return;
        };
        let has_quorum = machine.quorum_until().is_some_and(|until| until > late);
        if machine.carries(held) && (has_quorum || machine.quorum_size() > before.size) {
            return;
        }
        let checks = &mut self.system.checks;
        if checks.exemptions.may_lose_token(now, &held, &outdone) {
            checks.exempted += 1;
            return;
        }
        let what = format!("{held}, for {outdone}");
        checks.report(now, Some(at), Rule::Kept, what);
    }

    fn compare_quorums(&mut self, at: usize, token: Token) {
        let now = self.now;
        let Some((other, claim)) = self.other_claim(at, |own| own.claim) else {
            return;
        };
        let twins = !self.system.twins.is_empty();
        if twins
            || self
                .system
                .checks
                .exemptions
                .may_have_two_quorums(now, &token, &claim.token)
        {
            self.system.checks.exempted += 1;
            return;
        }
        let what = format!("for {token}, and n{other} for {}", claim.token);
        self.system.checks.report(now, Some(at), Rule::Quorum, what);
    }
}
