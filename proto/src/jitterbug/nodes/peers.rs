//! The nodes that this node has heard itself, with their terms (`docs/jitterbug/protocol/terms.md` T4 to T10).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Terms;

use super::NodeList;
use crate::time::Instant;

/// The time between two searches for old terms. Each search visits all nodes.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
struct Peer {
    heard_at: Instant,
    /// Whether the node was heard after the last pass that could not reach it.
    is_reachable: bool,
    /// The time at which the node last asked which node leads.
    asked: Option<Instant>,
    /// The terms of the node; `None` if the node sends no terms.
    terms: Option<Terms>,
    /// Whether the node was heard recently enough for its terms to be valid.
    terms_count: bool,
    /// The time of arrival of the node's last terms.
    terms_at: Instant,
    /// Whether these terms arrived so recently that the leases of other nodes in the terms are valid.
    has_recent_terms: bool,
}

/// All nodes that were heard. The maximum number of these nodes equals the maximum number of nodes in a list.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    heard: BTreeMap<IpAddr, Peer>,
    known: Leases,
    /// The time of the next search for old terms.
    expire_at: Instant,
}

/// The leases of all nodes with valid terms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Leases {
    /// The shortest lease of a node with terms.
    pub(crate) shortest: Option<Duration>,
    /// The longest lease of a node with terms.
    pub(crate) longest: Option<Duration>,
    /// The longest lease that occurs in the terms of these nodes.
    pub(crate) longest_reported: Option<Duration>,
    /// The number of nodes without terms.
    pub(crate) older: usize,
}

impl Peers {
    /// Notes a message of a node. If `most` nodes are remembered, a node of `list` replaces a node that is not in the
    /// list. Returns whether the node sent new options.
    pub(crate) fn note_message(
        &mut self,
        from: IpAddr,
        now: Instant,
        terms: Option<Terms>,
        (list, most): (&NodeList, usize),
    ) -> bool {
        let is_new = !self.heard.contains_key(&from);
        // A stranger can invent addresses, so the number of remembered nodes is limited.
        if is_new && self.heard.len() >= most && !self.make_room(from, list) {
            return false;
        }
        let peer = self.heard.entry(from).or_insert(Peer {
            heard_at: now,
            is_reachable: true,
            asked: None,
            terms: None,
            terms_count: false,
            terms_at: now,
            has_recent_terms: false,
        });
        (peer.heard_at, peer.is_reachable) = (now, true);
        let before = peer.terms;
        // A message without terms does not revoke earlier terms.
        peer.terms = terms.or(before);
        let is_changed = terms.is_some() && before.map(leases) != terms.map(leases);
        let counted = std::mem::replace(&mut peer.terms_count, true);
        let had_recent_terms = peer.has_recent_terms;
        if terms.is_some() {
            (peer.terms_at, peer.has_recent_terms) = (now, true);
        }
        // One more node is cheap to add. Only changed terms need a new count of all nodes.
        if !counted {
            let peer = *peer;
            self.known.add(&peer);
        } else if is_changed || peer.has_recent_terms != had_recent_terms {
            self.recount();
        }
        terms.is_some() && before.map(times) != terms.map(times)
    }

    /// If a node is in the list, forgets a heard node that is not in the list. Returns whether it forgot one.
    fn make_room(&mut self, from: IpAddr, list: &NodeList) -> bool {
        let mut others = self.heard.keys().filter(|&&other| !list.contains(other));
        let unlisted = others.next().copied().filter(|_| list.contains(from));
        let removed = unlisted.and_then(|unlisted| self.heard.remove(&unlisted));
        if removed.is_some() {
            self.recount();
        }
        removed.is_some()
    }

    /// Marks the terms of nodes that were silent for `age` as invalid. In terms that arrived more than `age` ago, also
    /// marks the leases of other nodes as invalid. Silence and the age of the terms can differ: a node that only takes
    /// tokens is heard without its terms.
    pub(crate) fn expire(&mut self, now: Instant, age: Duration) {
        if now < self.expire_at {
            return;
        }
        self.expire_at = now + EXPIRY_INTERVAL;
        for peer in self.heard.values_mut() {
            peer.terms_count &= now.since(peer.heard_at) < age;
            peer.has_recent_terms &= now.since(peer.terms_at) < age;
        }
        self.recount();
    }

    fn recount(&mut self) {
        self.known = self.count_leases();
    }

    fn count_leases(&self) -> Leases {
        let mut known = Leases::default();
        for peer in self.heard.values().filter(|peer| peer.terms_count) {
            known.add(peer);
        }
        known
    }

    /// Whether the stored leases belong to exactly the nodes with valid terms.
    pub(crate) fn is_sound(&self) -> bool {
        self.known == self.count_leases()
    }

    /// Notes that a node asks which node leads.
    pub(crate) fn note_question(&mut self, from: IpAddr, now: Instant) {
        if let Some(peer) = self.heard.get_mut(&from) {
            peer.asked = Some(now);
        }
    }

    /// Returns the time at which a node last asked which node leads.
    pub(crate) fn last_asked(&self, from: IpAddr) -> Option<Instant> {
        self.heard.get(&from)?.asked
    }

    /// Notes that a pass could not reach a node. A further pass to that node must wait until the node answers a
    /// datagram.
    pub(crate) fn note_unreachable(&mut self, node: IpAddr) {
        if let Some(peer) = self.heard.get_mut(&node) {
            peer.is_reachable = false;
        }
    }

    pub(crate) fn has_heard(&self, node: IpAddr) -> bool {
        self.heard.contains_key(&node)
    }

    /// Whether this node has heard a node since the last failed pass to that node. If `since` is set, the node must
    /// also have been heard at `since` or later.
    pub(crate) fn has_answered_since(&self, node: IpAddr, since: Option<Instant>) -> bool {
        let peer = self.heard.get(&node);
        peer.is_some_and(|peer| {
            peer.is_reachable && since.is_none_or(|since| peer.heard_at >= since)
        })
    }

    pub(crate) fn terms(&self, node: IpAddr) -> Option<Terms> {
        self.heard.get(&node)?.terms
    }

    /// Returns the terms of a node if the terms are old but still valid.
    pub(crate) fn old_terms(&self, node: IpAddr) -> Option<Terms> {
        let peer = self.heard.get(&node)?;
        peer.terms
            .filter(|_| peer.terms_count && !peer.has_recent_terms)
    }

    pub(crate) const fn leases(&self) -> Leases {
        self.known
    }

    /// Returns the nodes with valid terms.
    pub(crate) fn nodes_with_terms(&self) -> impl Iterator<Item = (IpAddr, &Terms)> {
        let peers = self.heard.iter().filter(|(_, peer)| peer.terms_count);
        peers.filter_map(|(ip, peer)| Some((*ip, peer.terms.as_ref()?)))
    }
}

impl Leases {
    fn add(&mut self, peer: &Peer) {
        let Some(terms) = peer.terms else {
            self.older += 1;
            return;
        };
        let [lease, other_leases] = leases(terms).map(|us| Duration::from_micros(us.into()));
        // The nodes in an old statement may be gone, so only the node's own lease counts.
        let other_leases = if peer.has_recent_terms {
            other_leases
        } else {
            lease
        };
        self.shortest = Some(self.shortest.map_or(lease, |least| least.min(lease)));
        self.longest = self.longest.max(Some(lease));
        self.longest_reported = self.longest_reported.max(Some(other_leases.max(lease)));
    }
}

/// Returns those times in the terms that should be equal on all nodes.
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
