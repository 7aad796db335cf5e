//! The terms of this node, and the effects of the terms of other nodes (`docs/jitterbug/protocol/terms.md`).

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Terms;

use super::Jitterbug;
use crate::jitterbug::terms::{micros, millis, separates};
use crate::jitterbug::{Difference, Event, Options, State};

/// The minimum duration of a restore by a node that never had a token. Such a node does not know the leases in its
/// ring. This duration is longer than the lease of a leader that knows no other node.
const FIRST_RESTORE_MIN: Duration = Duration::from_millis(600);

/// The minimum time for which a node's terms remain valid after the node was heard.
const TERMS_LIFETIME: Duration = Duration::from_secs(20);
/// The terms remain valid for this many times `renew_timeout`, if the result is longer than [`TERMS_LIFETIME`]. If
/// nodes of a ring have different options, they hear one another more than twice within this lifetime.
const TERMS_LIFETIME_RENEWS: u32 = 4;

impl Jitterbug {
    /// Returns the time for which a node's terms remain valid after the node was heard.
    pub(super) fn terms_lifetime(&self) -> Duration {
        let renew_timeout = self.options.renew_timeout;
        TERMS_LIFETIME.max(renew_timeout.saturating_mul(TERMS_LIFETIME_RENEWS))
    }

    /// Returns the lease. A node that was stalled for longer than its lease no longer leads. A shorter stall is too
    /// short for a whole restore, even for a restore of the node with the shortest times. For a node that is unknown or
    /// sends no terms, the default times count.
    pub fn lease(&self) -> Duration {
        let lease = self.announced_lease();
        let given = self.follow_state.lease(self.now, self.terms_lifetime());
        lease.min(given.unwrap_or(lease))
    }

    /// Returns the lease that this node announces, which does not depend on the giver of the token. If the giver's
    /// lease had an effect on this value, nodes would indefinitely repeat a short lease to one another.
    fn announced_lease(&self) -> Duration {
        let own = self.options.own_lease();
        let known = self.peers.leases();
        let lease = own.min(known.shortest.unwrap_or(own));
        // Nodes without terms rely on the default lease.
        if known.older > 0 || known.shortest.is_none() {
            lease.min(Options::default().own_lease())
        } else {
            lease
        }
    }

    /// Returns the minimum duration of a restore. If a node has ever had a token, its ring knows the node's lease, and
    /// no leader of the ring uses a longer lease. A node that never had a token waits for the longest lease of which it
    /// has heard. A node that the ring may have forgotten also waits for this longest lease.
    pub(super) fn least_restore(&self) -> Duration {
        let had_token = self.follow_state.had_token();
        if had_token && !self.follow_state.is_unheard() {
            return Duration::ZERO;
        }
        let reported = self.peers.leases().longest_reported;
        let longest = reported.map(|lease| lease + self.options.tr_interval);
        match longest {
            // A node that has had a token already knows the leases of its ring, so the default is no lower limit.
            Some(longest) if had_token => longest,
            _ => FIRST_RESTORE_MIN.max(longest.unwrap_or_default()),
        }
    }

    /// Returns the node's terms. `asks` tells whether the terms ask the receiver for a TR1.
    pub(super) fn terms(&self, asks: bool) -> Terms {
        let own = self.options.own_lease();
        let is_leader = self.role.state() == State::Leader;
        // A leader follows no other token, even if it followed another token as a waiter.
        let follows = self.follow_state.followed_token().filter(|_| !is_leader);
        Terms {
            lease_us: micros(own),
            shortest_us: micros(self.announced_lease()),
            // The value has only leases that this node has heard itself. A lease that nodes repeat to each other would
            // never run out.
            longest_us: micros(own.max(self.peers.leases().longest.unwrap_or(own))),
            renew_ms: millis(self.options.renew_timeout),
            pass_ms: millis(self.options.token_pass_timeout),
            follows: follows.map_or(0, ring_codec::jitterbug::TokenId::random),
            policy: self.options.policy,
            is_followed: is_leader && self.rank().is_followed == Some(true),
            asks,
        }
    }

    /// Notes that a node of this node's ring was heard.
    pub(super) fn note_heard(&mut self, from: IpAddr, terms: Option<Terms>) {
        let most = usize::try_from(self.options.max_nodes).unwrap_or(usize::MAX);
        let is_news = (self.peers).note_message(from, self.now, terms, (&self.list, most));
        if let Some(how) = terms
            .filter(|_| is_news)
            .and_then(|it| self.difference(&it))
        {
            self.out.push_event(Event::NodeDiffers { node: from, how });
        }
        // A longer lease that is heard during a restore must still extend the restore.
        let least = self.least_restore();
        if let Some(restore) = self.role.restore_mut() {
            restore.extend_to(least);
        }
    }

    /// If the terms of a node are old, asks it for a TR1. A node that only takes tokens is heard, but does not send its
    /// terms. The known terms of such a node may be forged.
    pub(super) fn ask_for_terms(&mut self, node: IpAddr) {
        let own = micros(self.options.own_lease());
        let old = self.peers.old_terms(node);
        // Equal leases change no time, so a ring with equal options sends no such questions.
        if old.is_some_and(|terms| terms.lease_us != own) {
            self.ask_for_tr1(node);
        }
    }

    /// Whether this node's lease is shorter than the shortest lease in the other node's terms.
    pub(super) fn is_shorter(&self, terms: &Terms) -> bool {
        micros(self.options.own_lease()) < terms.shortest_us
    }

    fn difference(&self, terms: &Terms) -> Option<Difference> {
        let own = self.terms(false);
        let is_equal = (own.lease_us, own.renew_ms, own.pass_ms)
            == (terms.lease_us, terms.renew_ms, terms.pass_ms);
        (!is_equal).then(|| Difference::Times {
            lease: Duration::from_micros(terms.lease_us.into()),
            renew_timeout: Duration::from_millis(terms.renew_ms.into()),
            token_pass_timeout: Duration::from_millis(terms.pass_ms.into()),
        })
    }

    /// Returns the nodes whose options differ from this node's options, and the differences.
    pub fn differing_nodes(&self) -> impl Iterator<Item = (IpAddr, Difference)> {
        let times = self.peers.nodes_with_terms().filter_map(|(node, terms)| {
            // A node with failed passes is probably gone.
            let is_there = self.penalties.get(node).0 == 0;
            Some((node, self.difference(terms).filter(|_| is_there)?))
        });
        times.chain(self.foreign_nodes())
    }

    /// Whether a node with other options exists. If such a node exists, all nodes must learn the options of all other
    /// nodes.
    pub(super) fn has_other_options(&self) -> bool {
        let own = self.options.own_lease();
        // Terms have whole microseconds, so this node's lease is compared in the same unit.
        let known = self.peers.leases();
        [known.shortest, known.longest]
            .into_iter()
            .flatten()
            .any(|lease| micros(lease) != micros(own))
            || self.foreign_nodes().next().is_some()
    }

    /// If the sender of a message belongs to another ring, notes and reports the sender. Returns whether it does.
    pub(super) fn note_if_foreign(&mut self, from: IpAddr, terms: Option<&Terms>) -> bool {
        let Some(how) = terms.and_then(|terms| separates(terms, &self.options)) else {
            // The node may have been restarted with the options of this ring.
            self.foreign_nodes.forget(from);
            return false;
        };
        if self.foreign_nodes.note(from, how, self.now) {
            self.out.push_event(Event::NodeDiffers { node: from, how });
        }
        true
    }

    /// Returns the nodes of other rings that were heard within 4 × `renew_timeout`, with the difference.
    fn foreign_nodes(&self) -> impl Iterator<Item = (IpAddr, Difference)> {
        let age = self.options.renew_timeout.saturating_mul(4);
        self.foreign_nodes.heard_within(self.now, age)
    }
}
