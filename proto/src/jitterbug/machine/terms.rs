//! What a node says of its options, and what follows from those of others (`docs/jitterbug.md`, section 1).

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Terms;

use super::Jitterbug;
use crate::jitterbug::terms::{micros, millis, separates};
use crate::jitterbug::{Difference, Event, Options, State};

/// A node that has had no token yet knows no lease of its ring: its restore lasts longer than the lease of a leader that
/// knows no other node.
const FIRST_RESTORE: Duration = Duration::from_millis(600);

/// The terms of a node count at least this long after it was heard.
const TERMS_COUNT: Duration = Duration::from_secs(20);
/// [`TERMS_COUNT`] in `renew_timeout`. The nodes of a ring with different options hear each other more than twice in
/// this time.
const TERMS_COUNT_RENEWS: u32 = 4;

impl Jitterbug {
    /// How long the terms of a node count after it was heard.
    pub(super) fn terms_count_for(&self) -> Duration {
        let renew_timeout = self.options.renew_timeout;
        TERMS_COUNT.max(renew_timeout.saturating_mul(TERMS_COUNT_RENEWS))
    }

    /// How long the loop may stand still before the node no longer leads: before the node of the ring with the shortest
    /// times can have asked in vain. A node of before the terms, and one that nothing is known of, counts as one with
    /// default times.
    pub fn lease(&self) -> Duration {
        let lease = self.told_lease();
        let given = self.company.lease(self.now, self.terms_count_for());
        lease.min(given.unwrap_or(lease))
    }

    /// The lease without what the giver of the token said, which would keep a short one alive for ever.
    fn told_lease(&self) -> Duration {
        let own = self.options.stall();
        let known = self.peers.leases();
        let lease = own.min(known.shortest.unwrap_or(own));
        if known.older > 0 || known.shortest.is_none() {
            lease.min(Options::default().stall())
        } else {
            lease
        }
    }

    /// How long a restore lasts at least. A node that has had a token is known to its ring, whose leases are short
    /// enough. A node that had none waits for the longest lease that it has heard of. So does a node that the ring may
    /// have forgotten.
    pub(super) fn least_restore(&self) -> Duration {
        let had_token = self.company.had_token();
        if had_token && !self.company.is_unheard() {
            return Duration::ZERO;
        }
        let told = self.peers.leases().told;
        let longest = told.map(|told| told + self.options.tr_interval);
        match longest {
            Some(longest) if had_token => longest,
            _ => FIRST_RESTORE.max(longest.unwrap_or_default()),
        }
    }

    /// What the node says of itself. `asks` for a TR1.
    pub(super) fn terms(&self, asks: bool) -> Terms {
        let own = self.options.stall();
        let is_leader = self.role.state() == State::Leader;
        let follows = self.company.follows().filter(|_| !is_leader);
        Terms {
            lease_us: micros(own),
            shortest_us: micros(self.told_lease()),
            longest_us: micros(own.max(self.peers.leases().longest.unwrap_or(own))),
            renew_ms: millis(self.options.renew_timeout),
            pass_ms: millis(self.options.token_pass_timeout),
            follows: follows.map_or(0, ring_codec::jitterbug::TokenId::random),
            policy: self.options.policy,
            is_followed: is_leader && self.rank().is_followed == Some(true),
            asks,
        }
    }

    /// A node of the own ring was heard.
    pub(super) fn hear_of(&mut self, from: IpAddr, terms: Option<Terms>) {
        let most = usize::try_from(self.options.max_nodes).unwrap_or(usize::MAX);
        let is_news = self.peers.heard(from, self.now, terms, most);
        if let Some(how) = terms
            .filter(|_| is_news)
            .and_then(|it| self.difference(&it))
        {
            self.out.event(Event::NodeDiffers { node: from, how });
        }
        let least = self.least_restore();
        if let Some(restore) = self.role.restore_mut() {
            restore.last_long(least);
        }
    }

    /// A node that only takes tokens is heard, and says nothing of its terms. Somebody else may have said them in its name.
    pub(super) fn ask_for_terms(&mut self, node: IpAddr) {
        let own = micros(self.options.stall());
        let old = self.peers.old_terms(node);
        if old.is_some_and(|terms| terms.lease_us != own) {
            self.ask(node);
        }
    }

    /// Whether the own lease is shorter than any that a node with these terms knows of.
    pub(super) fn is_shorter(&self, terms: &Terms) -> bool {
        micros(self.options.stall()) < terms.shortest_us
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

    /// The nodes whose options differ from the own ones, and how.
    pub fn differing(&self) -> impl Iterator<Item = (IpAddr, Difference)> {
        let times = self.peers.with_terms().filter_map(|(node, terms)| {
            // One that is gone has failed.
            let is_there = self.penalties.of(node).0 == 0;
            Some((node, self.difference(terms).filter(|_| is_there)?))
        });
        times.chain(self.foreign_nodes())
    }

    /// Whether a node with other options is about, so that all have to hear of each other's.
    pub(super) fn has_other_options(&self) -> bool {
        let own = self.options.stall();
        let known = self.peers.leases();
        [known.shortest, known.longest]
            .into_iter()
            .flatten()
            .any(|lease| micros(lease) != micros(own))
            || self.foreign_nodes().next().is_some()
    }

    /// Whether what a node sent belongs to another ring. The node is named then.
    pub(super) fn is_foreign(&mut self, from: IpAddr, terms: Option<&Terms>) -> bool {
        let Some(how) = terms.and_then(|terms| separates(terms, &self.options)) else {
            self.foreign.forget(from);
            return false;
        };
        if self.foreign.note(from, how, self.now) {
            self.out.event(Event::NodeDiffers { node: from, how });
        }
        true
    }

    /// Nodes of other rings that were heard within 4 × `renew_timeout`, and what keeps each apart.
    fn foreign_nodes(&self) -> impl Iterator<Item = (IpAddr, Difference)> {
        let age = self.options.renew_timeout.saturating_mul(4);
        self.foreign.of_late(self.now, age)
    }
}
