//! What must hold of one node whatever comes (`docs/jitterbug.md`, sections 6, 7 and 11), from its public face.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::{Node, node_list_hash};
use ring_proto::jitterbug::{
    Acceptance, Decide, Event, Jitterbug, LEAST_LEASE, Snapshot, State, policy,
};
use ring_proto::time::{Instant, Now};
use ring_proto::{Machine, StreamId};

use super::connections::{Connection, Connections, Fate};
use super::station::is_tr1;
use super::tally::{Done, Tally, heard};
use super::wire;

/// The most inbound connections.
const INBOUND: usize = 16;
/// The fewest questions after which a node leaves the list: if a token comes whose list lacks it.
const ASKED: u32 = 3;
/// Terms that came so long ago count no longer: 20 s, and a second for the looks at the clock.
const TERMS_COUNT: Duration = Duration::from_secs(21);
/// How long TP1 is.
pub(super) const OFFER: usize = 9;

#[derive(Default)]
pub(super) struct Oracle {
    tally: Tally,
    /// The node's time: it never goes back.
    pub now: Instant,
    data: Vec<u8>,
    addresses: BTreeSet<IpAddr>,
    /// When another node was heard last: its terms count from then on.
    heard_at: Option<Instant>,
    /// Datagrams that were heard.
    counted: u64,
    /// From whom something came.
    heard: BTreeSet<IpAddr>,
    /// All that were heard.
    senders: BTreeSet<IpAddr>,
    /// How often each was asked, at least, for a sign of life.
    asked: BTreeMap<IpAddr, u32>,
    refused: u64,
    state: Option<State>,
    token_id: u32,
    /// Ids of tokens that were given away, or may have been, and have not come back.
    lost: BTreeSet<u32>,
    /// That of the pass which goes on, and whether all of it was given.
    offered: BTreeMap<StreamId, (u32, bool)>,
    is_finished: bool,
}

impl Oracle {
    /// A datagram was given to the link.
    pub(super) fn sent(&mut self, node: &Jitterbug, to: IpAddr, bytes: &[u8]) {
        assert!(node.address().is_some(), "it speaks without a network");
        assert!(!node.is_finished(), "it speaks after its end");
        if !is_tr1(bytes) {
            return self.tally.count("tr2_sent");
        }
        self.tally.count("tr1_sent");
        *self.asked.entry(to).or_default() += 1;
    }

    /// A datagram came, and was a whole one.
    pub(super) fn heard(&mut self, node: &Jitterbug, from: IpAddr) {
        self.senders.insert(from);
        let snapshot = node.snapshot();
        let mut listed = snapshot.nodes.iter().map(|it| it.node.ip);
        let mut waiting = snapshot.to_add.iter().map(|it| it.ip);
        // Who is in neither is not remembered, nor who comes when as many have come as a list may have.
        let most = usize::try_from(node.options().max_nodes).unwrap_or(usize::MAX);
        if self.senders.len() > most {
            return;
        }
        if listed.any(|it| it == from) || waiting.any(|it| it == from) {
            self.heard.insert(from);
        }
    }

    pub(super) fn note(&mut self, event: &Event) {
        self.tally.note(event);
        match event {
            Event::StateChanged { state, token_id } => {
                if (self.state, state) == (Some(State::Leader), &State::Leader) {
                    assert!(
                        *token_id >= self.token_id,
                        "the token that it holds goes back"
                    );
                }
                (self.state, self.token_id) = (Some(*state), *token_id);
            }
            Event::NodeForgotten { node } => {
                assert!(!self.heard.contains(&node.ip), "a node that was heard");
                let asked = self.asked.remove(&node.ip).unwrap_or_default();
                assert!(asked >= ASKED, "{node:?} was asked {asked} times");
            }
            Event::Accepted { how, token_id, .. } if *how != Acceptance::Absorbed => {
                self.lost.remove(token_id);
            }
            // Ids that are drawn now may have been about before, once in 2^16 times.
            Event::RestoreWon => self.lost.clear(),
            Event::Passed { .. } | Event::PassUnknown { .. } => {
                self.lost.extend(self.offered.values().map(|it| it.0));
            }
            // Whatever the node calls it: once all was given the candidate may have it.
            Event::PassFailed { .. } | Event::PassAborted { .. } => {
                let given = self.offered.values().filter(|it| it.1);
                self.lost.extend(given.map(|it| it.0));
            }
            _ => {}
        }
    }

    /// After each input.
    pub(super) fn look(
        &mut self,
        node: &Jitterbug,
        now: Now,
        connections: &Connections,
        done: &Done,
    ) {
        self.now = self.now.max(now.monotonic);
        let counted = heard(node.counters());
        let is_sign =
            |event: &Event| matches!(event, Event::Accepted { .. } | Event::Passed { .. });
        if std::mem::replace(&mut self.counted, counted) != counted || done.has(is_sign) {
            self.heard_at = Some(self.now);
        }
        self.tally.check(node.counters());
        let snapshot = node.snapshot();
        self.check_token(node, connections);
        Self::check_connections(node, connections, done);
        self.check_list(node, &snapshot, done);
        self.check_data(node);
        Self::check_lease(node);
        let is_unknown = |event: &Event| matches!(event, Event::PassUnknown { .. });
        if done.has(is_unknown) && !node.is_finished() {
            let is_orphan = |event: &Event| {
                let state = State::Orphan;
                matches!(event, Event::StateChanged { state: it, .. } if *it == state)
            };
            assert!(done.has(is_orphan), "it goes on, and may have no token");
        }
        if let Some(state) = self.state {
            assert_eq!(
                (snapshot.state, snapshot.token_id),
                (state, self.said(node))
            );
        }
        if std::mem::replace(&mut self.is_finished, node.is_finished()) {
            let said = |event: &Event| !matches!(event, Event::UseChanged { may_use: false });
            assert!(!done.has(said), "{:?} after its end", done.events);
        }
        if node.is_finished() {
            assert_eq!(connections.open().count(), 0, "open after its end");
            assert_eq!(node.poll_timeout(), None);
        }
    }

    /// The second try of a restore has another id, of which nothing is said.
    fn said(&self, node: &Jitterbug) -> u32 {
        let id = node.standing().token_id;
        if self.state == Some(State::Orphan) {
            id
        } else {
            self.token_id
        }
    }

    /// Whatever others say of their leases, the node can live by its own.
    fn check_lease(node: &Jitterbug) {
        let (lease, own) = (node.lease(), node.options().stall());
        assert!((LEAST_LEASE..=own).contains(&lease), "a lease of {lease:?}");
    }

    /// After a time-out: a lease that is not the node's own is that of a node which was heard.
    fn check_terms(&self, node: &Jitterbug) {
        let (lease, own) = (node.lease(), node.options().stall());
        let heard_at = self.heard_at;
        let is_heard = heard_at.is_some_and(|at| self.now.since(at) < TERMS_COUNT);
        assert!(is_heard || lease == own, "a lease of {lease:?} for ever");
    }

    /// After a time-out: nothing lasts for longer than it may.
    pub(super) fn woken(&self, node: &Jitterbug, connections: &Connections) {
        self.check_terms(node);
        let timeout = node.options().token_pass_timeout;
        for (_, connection) in connections.open() {
            assert!(
                connection.since + timeout > self.now,
                "{connection:?} lasts"
            );
        }
    }

    fn check_token(&mut self, node: &Jitterbug, connections: &Connections) {
        self.offered.clear();
        let passes = connections.open().filter(|(_, it)| !it.is_inbound);
        for (id, connection) in passes {
            let written = &connection.written[..];
            let Some(token_id) = wire::offer(written) else {
                let said = wire::without_terms(written);
                assert!(said.len() < OFFER, "{said:?} is no offer");
                continue;
            };
            assert!(
                !self.lost.contains(&token_id),
                "a token that is not its own"
            );
            let is_given = connection.fate == Fate::Finished;
            self.offered.insert(id, (token_id, is_given));
            if is_given {
                let answer = connection.brought.first().copied();
                let whole = wire::whole(written, answer.unwrap_or_default());
                assert_eq!(whole, Some(token_id), "half a token");
            }
        }
        let standing = node.standing();
        assert!(
            !standing.may_use || !self.lost.contains(&standing.token_id),
            "it uses a token that another may have"
        );
        let passing = connections.open().any(|(_, it)| !it.is_inbound);
        assert!(!passing || !node.may_use_token(), "it gives what it uses");
        let takes = connections.inbound().any(|it| !it.written.is_empty());
        assert!(!passing || !takes, "it gives and takes");
    }

    fn check_connections(node: &Jitterbug, connections: &Connections, done: &Done) {
        let mut givers = BTreeSet::new();
        for connection in connections.inbound() {
            assert!(givers.insert(connection.peer.ip()), "two of one address");
            let written = &connection.written[..];
            assert!(matches!(written, [] | [wire::TP2 | wire::TP3]));
        }
        assert!(givers.len() <= INBOUND, "{} givers", givers.len());
        assert!(connections.open().count() <= givers.len() + 1, "two passes");
        let timeout = node.options().token_pass_timeout;
        let ends = connections.open().map(|(_, it)| it.since + timeout).min();
        if let Some(end) = ends {
            let due = node.poll_timeout();
            assert!(due.is_some_and(|due| due <= end), "it lasts: {due:?}");
        }
        let accepted: Vec<u32> = done
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Accepted { token_id, .. } => Some(*token_id),
                _ => None,
            })
            .collect();
        assert_eq!(accepted, done.acknowledged, "what is taken is acknowledged");
    }

    fn check_list(&mut self, node: &Jitterbug, snapshot: &Snapshot, done: &Done) {
        let nodes: Vec<Node> = snapshot.nodes.iter().map(|it| it.node).collect();
        let addresses: BTreeSet<IpAddr> = nodes.iter().map(|it| it.ip).collect();
        assert_eq!(addresses.len(), nodes.len(), "an address twice");
        assert_eq!(snapshot.node_list_hash, node_list_hash(&nodes[..].into()));
        let refused = node.counters().nodes_refused;
        if refused == self.refused {
            let mut left = self.addresses.difference(&addresses);
            let is_told = |ip: &IpAddr| {
                done.has(|event| matches!(event, Event::NodeForgotten { node } if node.ip == *ip))
            };
            assert!(left.all(is_told), "a node has left the list");
        }
        self.refused = refused;
        let waiting: BTreeSet<IpAddr> = snapshot.to_add.iter().map(|it| it.ip).collect();
        assert_eq!(waiting.len(), snapshot.to_add.len(), "one waits twice");
        let known = addresses.union(&waiting).count();
        let most = usize::try_from(node.options().max_nodes).expect("it is small");
        assert!(known <= most, "{known} nodes are known");
        self.addresses = addresses;
    }

    fn check_data(&mut self, node: &Jitterbug) {
        let data = node.data();
        assert!(data.len() <= node.options().max_data, "too much data");
        let goes_on = match node.options().decide {
            Decide::Greater => policy::greater(data, &self.data),
            Decide::Longer => policy::longer(data, &self.data),
            Decide::Program => true,
        };
        assert!(goes_on, "{data:?} after {:?}", self.data);
        data.clone_into(&mut self.data);
    }
}

/// The absolute id of a token that the node has acknowledged, which must have come whole.
pub(super) fn acknowledged(connection: &Connection) -> u32 {
    let answer = connection.written.first().copied();
    let whole = wire::whole(&connection.brought, answer.unwrap_or_default());
    whole
        .filter(|_| connection.has_ended)
        .expect("it acknowledges a token that did not come whole")
}
