//! The nodes that this one has heard itself, and their terms (`docs/jitterbug.md`, section 2).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Terms;

use crate::time::Instant;

/// How often the node looks for terms that are too old. It has to look at all nodes for that.
const LOOKS: Duration = Duration::from_secs(1);

/// A node that was heard.
#[derive(Debug, Clone, Copy)]
struct Peer {
    at: Instant,
    /// Whether it has been heard since a pass to it found no way.
    answers: bool,
    /// When it asked last who leads.
    asked: Option<Instant>,
    /// `None`: it is of before them.
    terms: Option<Terms>,
    /// Whether it was heard so late that its terms count.
    counts: bool,
    /// When its terms came last.
    said: Instant,
    /// Whether they came so late that its word on the leases of others counts.
    tells: bool,
}

/// All nodes that were heard, at most as many as a list has.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    heard: BTreeMap<IpAddr, Peer>,
    known: Leases,
    /// When to look for terms that are too old.
    look_at: Instant,
}

/// The leases of the nodes whose terms count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Leases {
    /// The shortest of a node with terms.
    pub(crate) shortest: Option<Duration>,
    /// The longest of a node with terms.
    pub(crate) longest: Option<Duration>,
    /// The longest that any of them has told of.
    pub(crate) told: Option<Duration>,
    /// Nodes without terms.
    pub(crate) older: usize,
}

impl Peers {
    /// Something came from a node. Returns whether its options are news.
    pub(crate) fn heard(
        &mut self,
        from: IpAddr,
        now: Instant,
        terms: Option<Terms>,
        most: usize,
    ) -> bool {
        let is_new = !self.heard.contains_key(&from);
        if is_new && self.heard.len() >= most {
            return false;
        }
        let peer = self.heard.entry(from).or_insert(Peer {
            at: now,
            answers: true,
            asked: None,
            terms: None,
            counts: false,
            said: now,
            tells: false,
        });
        (peer.at, peer.answers) = (now, true);
        let before = peer.terms;
        peer.terms = terms.or(before);
        let is_changed = terms.is_some() && before.map(leases) != terms.map(leases);
        let counted = std::mem::replace(&mut peer.counts, true);
        let told = peer.tells;
        if terms.is_some() {
            (peer.said, peer.tells) = (now, true);
        }
        if !counted {
            let peer = *peer;
            self.known.add(&peer);
        } else if is_changed || peer.tells != told {
            self.count();
        }
        terms.is_some() && before.map(times) != terms.map(times)
    }

    /// Counts the terms of no node that has been silent for `age`, and its word on others for no longer than that. A node
    /// that only takes tokens is heard, and says nothing new.
    pub(crate) fn expire(&mut self, now: Instant, age: Duration) {
        if now < self.look_at {
            return;
        }
        self.look_at = now + LOOKS;
        for peer in self.heard.values_mut() {
            peer.counts &= now.since(peer.at) < age;
            peer.tells &= now.since(peer.said) < age;
        }
        self.count();
    }

    fn count(&mut self) {
        self.known = self.counted();
    }

    fn counted(&self) -> Leases {
        let mut known = Leases::default();
        for peer in self.heard.values().filter(|peer| peer.counts) {
            known.add(peer);
        }
        known
    }

    /// Whether what is known of leases is what the nodes that count have said.
    #[cfg(debug_assertions)]
    pub(crate) fn is_sound(&self) -> bool {
        self.known == self.counted()
    }

    /// A node asks who leads.
    pub(crate) fn asked(&mut self, from: IpAddr, now: Instant) {
        if let Some(peer) = self.heard.get_mut(&from) {
            peer.asked = Some(now);
        }
    }

    /// When a node asked last who leads, as far as it was heard.
    pub(crate) fn last_asked(&self, from: IpAddr) -> Option<Instant> {
        self.heard.get(&from)?.asked
    }

    /// There was no way to a node: it has to answer a datagram before it is connected to again.
    pub(crate) fn unreachable(&mut self, node: IpAddr) {
        if let Some(peer) = self.heard.get_mut(&node) {
            peer.answers = false;
        }
    }

    /// Whether a node was ever heard.
    pub(crate) fn has_heard(&self, node: IpAddr) -> bool {
        self.heard.contains_key(&node)
    }

    /// Whether a node was heard since a pass to it found no way, and since then if `since` is given.
    pub(crate) fn answers(&self, node: IpAddr, since: Option<Instant>) -> bool {
        let peer = self.heard.get(&node);
        peer.is_some_and(|peer| peer.answers && since.is_none_or(|since| peer.at >= since))
    }

    pub(crate) fn terms(&self, node: IpAddr) -> Option<Terms> {
        self.heard.get(&node)?.terms
    }

    /// The terms of a node that count although it has not said them for long.
    pub(crate) fn old_terms(&self, node: IpAddr) -> Option<Terms> {
        let peer = self.heard.get(&node)?;
        peer.terms.filter(|_| peer.counts && !peer.tells)
    }

    pub(crate) const fn leases(&self) -> Leases {
        self.known
    }

    /// All that have terms which count.
    pub(crate) fn with_terms(&self) -> impl Iterator<Item = (IpAddr, &Terms)> {
        let peers = self.heard.iter().filter(|(_, peer)| peer.counts);
        peers.filter_map(|(ip, peer)| Some((*ip, peer.terms.as_ref()?)))
    }
}

impl Leases {
    fn add(&mut self, peer: &Peer) {
        let Some(terms) = peer.terms else {
            self.older += 1;
            return;
        };
        let [lease, told] = leases(terms).map(|us| Duration::from_micros(us.into()));
        let told = if peer.tells { told } else { lease };
        self.shortest = Some(self.shortest.map_or(lease, |least| least.min(lease)));
        self.longest = self.longest.max(Some(lease));
        self.told = self.told.max(Some(told.max(lease)));
    }
}

/// The times of a node, which have to be equal on all nodes.
const fn times(terms: Terms) -> [u32; 3] {
    [terms.lease_us, terms.renew_ms, terms.pass_ms]
}

const fn leases(terms: Terms) -> [u32; 2] {
    [terms.lease_us, terms.longest_us]
}

#[cfg(test)]
impl Peers {
    pub(crate) const fn spoil(&mut self) {
        self.known.older += 1;
    }
}
