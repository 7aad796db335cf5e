//! Who relies on a quorum: two nodes never do at the same time.
//!
//! A node that has a quorum tells its application how long it may rely on that. The application
//! goes on for so long even if the node loses its token, crashes or stands still: only the
//! node's own hand-over ends it earlier.

use ring_codec::lab2::Token;
use ring_runtime::driver::Driver;

use super::Subject;
use super::node::{Claim, Quorum};
use super::outcome::Rule;
use super::ring::World;

impl<M: Subject> World<M> {
    /// Looks at what a node tells its application now.
    pub(super) fn look_at_quorum(&mut self, at: usize) {
        let now = self.now;
        let node = &mut self.nodes[at];
        let Some(driver) = node.driver.as_ref() else {
            return;
        };
        let machine = driver.machine();
        let held = machine.held();
        let lets_go = |claim: Claim| machine.has_held(claim.token) && !machine.may_use();
        if node.own.claim.is_some_and(lets_go) {
            node.own.claim = None;
        }
        let local = node.clock.monotonic(now);
        let until = machine.quorum_until().filter(|&until| until > local);
        // A node that took its token too late confirms it before any application relies on it.
        let is_relied_on = node.own.quorum.is_some() || machine.lease_until(local).is_some();
        let told = until.filter(|_| machine.may_use() && is_relied_on);
        node.own.quorum = told.map(|until| Quorum {
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
        let until = before.map_or(until, |before| before.until.max(until));
        node.own.claim = Some(Claim { token, until });
        self.compare_quorums(at, token);
    }

    /// A node with a quorum has met another's token that counts more than its own, or has one in its place. Its tenure
    /// goes on with its quorum, unless more members make one now: the other may be new. Who has let go of its token
    /// meanwhile, or cannot store what it minted, is not looked at.
    pub(super) fn look_at_loss(&mut self, at: usize, outdone: Token) {
        let now = self.now;
        let node = &self.nodes[at];
        // A machine finds out at the end of a slow turn what has run out.
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
        if checks.exempt.loss(now, &held, &outdone) {
            checks.exempted += 1;
            return;
        }
        let what = format!("{held}, for {outdone}");
        checks.broken(now, Some(at), Rule::Kept, what);
    }

    fn compare_quorums(&mut self, at: usize, token: Token) {
        let now = self.now;
        let Some((other, claim)) = self.rival(at, |own| own.claim) else {
            return;
        };
        let twins = !self.system.twins.is_empty();
        if twins || self.system.checks.exempt.quorum(now, &token, &claim.token) {
            self.system.checks.exempted += 1;
            return;
        }
        let what = format!("for {token}, and n{other} for {}", claim.token);
        self.system.checks.broken(now, Some(at), Rule::Quorum, what);
    }
}
