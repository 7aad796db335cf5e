//! The terms of this node, and the consequences of those of others (`docs/jitterbug.md`, section 1).

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Terms;

use super::Jitterbug;
use crate::jitterbug::terms::{micros, millis, separates};
use crate::jitterbug::{Difference, Event, Options, State};

/// A node that has had no token knows no lease of its ring. Its restore lasts longer than the lease of a leader that
/// knows no other node.
const FIRST_RESTORE_MIN: Duration = Duration::from_millis(600);

/// The terms of a node count at least this long after it was heard.
const TERMS_LIFETIME: Duration = Duration::from_secs(20);
/// How many times `renew_timeout` the terms count, if that is longer than [`TERMS_LIFETIME`]. Nodes of a ring with
/// different options hear each other more than twice in this time.
const TERMS_LIFETIME_RENEWS: u32 = 4;

impl Jitterbug {
    /// Returns how long the terms of a node count after it was heard.
    pub(super) fn terms_lifetime(&self) -> Duration {
        let renew_timeout = self.options.renew_timeout;
        TERMS_LIFETIME.max(renew_timeout.saturating_mul(TERMS_LIFETIME_RENEWS))
    }

    /// Returns how long the loop may stall before the node no longer leads. Until then no node of the ring, even with
    /// the shortest times, can have asked without an answer. A node that sends no terms, or is unknown, counts with
    /// default times.
    pub fn lease(&self) -> Duration {
        let lease = self.announced_lease();
        let given = self.follow_state.lease(self.now, self.terms_lifetime());
        lease.min(given.unwrap_or(lease))
    }

    /// Returns the lease without the giver's. If the giver's counted here, nodes would keep a short lease alive
    /// indefinitely by telling it to each other.
    fn announced_lease(&self) -> Duration {
        let own = self.options.own_lease();
        let known = self.peers.leases();
        let lease = own.min(known.shortest.unwrap_or(own));
        if known.older > 0 || known.shortest.is_none() {
            lease.min(Options::default().own_lease())
        } else {
            lease
        }
    }

    /// Returns the minimum duration of a restore. The ring of a node that has had a token knows its lease, and keeps to
    /// it. A node that had none, or that the ring may have forgotten, waits for the longest lease that it has heard of.
    pub(super) fn least_restore(&self) -> Duration {
        let had_token = self.follow_state.had_token();
        if had_token && !self.follow_state.is_unheard() {
            return Duration::ZERO;
        }
        let reported = self.peers.leases().longest_reported;
        let longest = reported.map(|lease| lease + self.options.tr_interval);
        match longest {
            Some(longest) if had_token => longest,
            _ => FIRST_RESTORE_MIN.max(longest.unwrap_or_default()),
        }
    }

    /// Returns the node's terms. `asks` is whether they ask for a TR1.
    pub(super) fn terms(&self, asks: bool) -> Terms {
        let own = self.options.own_lease();
        let is_leader = self.role.state() == State::Leader;
        let follows = self.follow_state.followed_token().filter(|_| !is_leader);
        Terms {
            lease_us: micros(own),
            shortest_us: micros(self.announced_lease()),
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
        let is_news = self.peers.note_message(from, self.now, terms, most);
        if let Some(how) = terms
            .filter(|_| is_news)
            .and_then(|it| self.difference(&it))
        {
            self.out.push_event(Event::NodeDiffers { node: from, how });
        }
        let least = self.least_restore();
        if let Some(restore) = self.role.restore_mut() {
            restore.extend_to(least);
        }
    }

    /// Asks a node for a TR1 if its terms are old. A node that only takes tokens is heard but does not send its terms.
    /// Those that this node knows may be forged.
    pub(super) fn ask_for_terms(&mut self, node: IpAddr) {
        let own = micros(self.options.own_lease());
        let old = self.peers.old_terms(node);
        if old.is_some_and(|terms| terms.lease_us != own) {
            self.ask_for_tr1(node);
        }
    }

    /// Whether this node's lease is shorter than any that a node with these terms knows.
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

    /// Returns the nodes whose options differ from this node's, with the difference.
    pub fn differing_nodes(&self) -> impl Iterator<Item = (IpAddr, Difference)> {
        let times = self.peers.nodes_with_terms().filter_map(|(node, terms)| {
            // A node with failed passes is probably gone.
            let is_there = self.penalties.get(node).0 == 0;
            Some((node, self.difference(terms).filter(|_| is_there)?))
        });
        times.chain(self.foreign_nodes())
    }

    /// Whether a node with other options exists, so that all nodes must hear of each other's options.
    pub(super) fn has_other_options(&self) -> bool {
        let own = self.options.own_lease();
        let known = self.peers.leases();
        [known.shortest, known.longest]
            .into_iter()
            .flatten()
            .any(|lease| micros(lease) != micros(own))
            || self.foreign_nodes().next().is_some()
    }

    /// Decides whether a message belongs to another ring, and reports its sender if so.
    pub(super) fn is_foreign(&mut self, from: IpAddr, terms: Option<&Terms>) -> bool {
        let Some(how) = terms.and_then(|terms| separates(terms, &self.options)) else {
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
