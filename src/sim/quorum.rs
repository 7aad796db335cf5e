//! Who relies on a quorum: two nodes never do at the same time.
//!
//! A node that has a quorum tells its application how long it may rely on that. The application
//! goes on for so long even if the node loses its token, crashes or stands still: only the
//! node's own hand-over ends it earlier.

use ring_codec::lab2::Token;
use ring_proto::time::nanos;

use super::node::Claim;
use super::outcome::Rule;
use super::subject::Subject;
use super::words::show;
use super::world::World;

/// So many times the ring's HEART_BEAT_PERIOD a node's may be at the most.
const SLOWEST: u64 = 4;

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
        let lets_go = |claim: Claim| held == Some(claim.token) && !machine.may_use();
        if node.claim.is_some_and(lets_go) {
            node.claim = None;
        }
        let local = node.clock.monotonic(now);
        let until = machine.quorum_until().filter(|&until| until > local);
        let Some((token, until)) = held.zip(until) else {
            return;
        };
        let before = node.claim.filter(|claim| claim.until > local);
        if before.is_none_or(|before| before.token != token) {
            self.books.stats.quorums += 1;
        }
        let until = before.map_or(until, |before| before.until.max(until));
        node.claim = Some(Claim { token, until });
        self.compare_quorums(at, token);
    }

    /// What is promised from `at` on, or was not long before, counts for nothing: for as long as the
    /// slowest node's promises last.
    pub(super) fn void_promises_from(&mut self, at: u64) {
        let lasts = SLOWEST * nanos(self.constants.waiter_timeout());
        self.books
            .checks
            .exempt
            .void_promises(at.saturating_add(lasts));
    }

    fn compare_quorums(&mut self, at: usize, token: Token) {
        let now = self.now;
        let others = self.nodes.iter().enumerate().filter(|&(of, _)| of != at);
        let rival = others.into_iter().find_map(|(of, node)| {
            let claim = node.claim?;
            (claim.until > node.clock.monotonic(now)).then_some((of, claim))
        });
        let Some((other, claim)) = rival else {
            return;
        };
        let twins = !self.segment.twins.is_empty();
        if twins || self.books.checks.exempt.quorum(now, &token, &claim.token) {
            self.books.checks.exempted += 1;
            return;
        }
        let what = format!(
            "for {}, and n{other} for {}",
            show(&token),
            show(&claim.token)
        );
        self.books.checks.broken(now, Some(at), Rule::Quorum, what);
    }
}
