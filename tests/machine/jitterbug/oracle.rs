//! The oracle: the rules that one node keeps at every time (`docs/jitterbug/protocol/`: `passing.md`, `promises.md`),
//! through the public interface.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::{Node, node_list_hash};
use ring_proto::jitterbug::{
    Acceptance, Decide, Event, Jitterbug, LEASE_MIN, Snapshot, State, policy,
};
use ring_proto::time::{Instant, Now};
use ring_proto::{Machine, StreamId};

use super::connections::{Connection, ConnectionState, Connections};
use super::event_counts::{EventCounts, Outputs, received_datagrams};
use super::harness::is_tr1;
use super::wire;

/// The maximum number of inbound connections.
const INBOUND_MAX: usize = 16;
/// If a token's list lacks a node, the node stays in the receiver's list until it has left at least this many questions
/// unanswered.
const QUESTIONS_MIN: u32 = 3;
/// The time after which terms expire: 20 s, plus one second because the node checks its clock only at intervals.
const TERMS_EXPIRY: Duration = Duration::from_secs(21);
/// The length of TP1.
pub(super) const OFFER_LEN: usize = 9;

#[derive(Default)]
pub(super) struct Oracle {
    event_counts: EventCounts,
    /// The node's monotonic time.
    pub now: Instant,
    data: Vec<u8>,
    addresses: BTreeSet<IpAddr>,
    /// The last time at which this node heard another node. The terms of the other node expire 20 s after this time.
    heard_at: Option<Instant>,
    /// The number of counted datagrams.
    counted: u64,
    /// The heard nodes that are in the list, or that wait until they get an entry in the list.
    heard: BTreeSet<IpAddr>,
    /// The minimum number of times that this node has asked each other node for a sign of life.
    asked: BTreeMap<IpAddr, u32>,
    refused: u64,
    state: Option<State>,
    token_id: u32,
    /// The ids of tokens that the node passed, or may have passed, and that did not come back.
    lost: BTreeSet<u32>,
    /// The token of each current pass, and whether the node has sent all bytes of the pass.
    offered: BTreeMap<StreamId, (u32, bool)>,
    is_finished: bool,
}

impl Oracle {
    pub(super) fn on_sent(&mut self, node: &Jitterbug, to: IpAddr, bytes: &[u8]) {
        assert!(node.address().is_some(), "the node sends without a network");
        assert!(!node.is_finished(), "the node sends after its end");
        if !is_tr1(bytes) {
            return self.event_counts.count("tr2_sent");
        }
        self.event_counts.count("tr1_sent");
        *self.asked.entry(to).or_default() += 1;
    }

    pub(super) fn on_datagram(&mut self, node: &Jitterbug, from: IpAddr) {
        let snapshot = node.snapshot();
        let mut listed = snapshot.nodes.iter().map(|it| it.node.ip);
        let mut waiting = snapshot.to_add.iter().map(|it| it.ip);
        // The node does not remember a host that is in neither list.
        if listed.any(|it| it == from) || waiting.any(|it| it == from) {
            self.heard.insert(from);
        }
    }

    pub(super) fn on_event(&mut self, event: &Event) {
        self.event_counts.on_event(event);
        match event {
            Event::StateChanged { state, token_id } => {
                if (self.state, state) == (Some(State::Leader), &State::Leader) {
                    assert!(
                        *token_id >= self.token_id,
                        "the id of the held token decreases"
                    );
                }
                (self.state, self.token_id) = (Some(*state), *token_id);
            }
            Event::NodeForgotten { node } => {
                assert!(
                    !self.heard.contains(&node.ip),
                    "the node forgets a node that it has heard"
                );
                let asked = self.asked.remove(&node.ip).unwrap_or_default();
                assert!(
                    asked >= QUESTIONS_MIN,
                    "{node:?} left the list after only {asked} questions"
                );
            }
            Event::Accepted { how, token_id, .. } if *how != Acceptance::Absorbed => {
                self.lost.remove(token_id);
            }
            // A newly drawn id may be the id of an earlier token, with a probability of 1 in 2^16.
            Event::RestoreWon => self.lost.clear(),
            Event::Passed { .. } | Event::PassUnknown { .. } => {
                self.lost.extend(self.offered.values().map(|it| it.0));
            }
            // As soon as all bytes were sent, the candidate may have the token, even if the node reports a failed pass.
            Event::PassFailed { .. } | Event::PassAborted { .. } => {
                let given = self.offered.values().filter(|it| it.1);
                self.lost.extend(given.map(|it| it.0));
            }
            _ => {}
        }
    }

    /// Checks the node after an input.
    pub(super) fn check(
        &mut self,
        node: &Jitterbug,
        now: Now,
        connections: &Connections,
        done: &Outputs,
    ) {
        self.now = self.now.max(now.monotonic);
        let counted = received_datagrams(node.counters());
        let is_sign =
            |event: &Event| matches!(event, Event::Accepted { .. } | Event::Passed { .. });
        if std::mem::replace(&mut self.counted, counted) != counted || done.has(is_sign) {
            self.heard_at = Some(self.now);
        }
        self.event_counts.check(node.counters());
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
            assert!(
                done.has(is_orphan),
                "the node continues, although it must hold no token"
            );
        }
        if let Some(state) = self.state {
            assert_eq!(
                (snapshot.state, snapshot.token_id),
                (state, self.reported_id(node))
            );
        }
        if std::mem::replace(&mut self.is_finished, node.is_finished()) {
            let said = |event: &Event| !matches!(event, Event::UseChanged { may_use: false });
            assert!(
                !done.has(said),
                "the node causes {:?} after its end",
                done.events
            );
        }
        if node.is_finished() {
            assert_eq!(
                connections.open().count(),
                0,
                "a connection is open after the end of the node"
            );
            assert_eq!(node.poll_timeout(), None);
        }
    }

    /// Returns the id that the node reports. If a restore needs a second attempt, this attempt has a new id, and the
    /// node does not report this id.
    fn reported_id(&self, node: &Jitterbug) -> u32 {
        let id = node.summary().token_id;
        if self.state == Some(State::Orphan) {
            id
        } else {
            self.token_id
        }
    }

    /// Checks that the lease is long enough for the node, even if other nodes announce shorter leases.
    fn check_lease(node: &Jitterbug) {
        let (lease, own) = (node.lease(), node.options().own_lease());
        assert!((LEASE_MIN..=own).contains(&lease), "a lease of {lease:?}");
    }

    /// Checks after a timeout that another node's lease is used only while that node is heard.
    fn check_terms(&self, node: &Jitterbug) {
        let (lease, own) = (node.lease(), node.options().own_lease());
        let heard_at = self.heard_at;
        let is_heard = heard_at.is_some_and(|at| self.now.since(at) < TERMS_EXPIRY);
        assert!(
            is_heard || lease == own,
            "the node still uses another node's lease of {lease:?}"
        );
    }

    /// Checks after a timeout that no connection lasts for too long.
    pub(super) fn check_after_timeout(&self, node: &Jitterbug, connections: &Connections) {
        self.check_terms(node);
        let timeout = node.options().token_pass_timeout;
        for (_, connection) in connections.open() {
            assert!(
                connection.since + timeout > self.now,
                "{connection:?} lasts for too long"
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
                assert!(
                    said.len() < OFFER_LEN,
                    "the node writes {said:?}, which is no offer"
                );
                continue;
            };
            assert!(
                !self.lost.contains(&token_id),
                "the node passes a token that another node may have"
            );
            let is_given = connection.state == ConnectionState::Finished;
            self.offered.insert(id, (token_id, is_given));
            if is_given {
                let answer = connection.brought.first().copied();
                let exchanged = wire::exchanged_id(written, answer.unwrap_or_default());
                assert_eq!(
                    exchanged,
                    Some(token_id),
                    "the node ends a pass before it has sent the whole token"
                );
            }
        }
        let standing = node.summary();
        assert!(
            !standing.may_use || !self.lost.contains(&standing.token_id),
            "the node uses a token that another node may have"
        );
        let passing = connections.open().any(|(_, it)| !it.is_inbound);
        assert!(
            !passing || !node.may_use_token(),
            "the node passes a token that it uses"
        );
        let takes = connections.inbound().any(|it| !it.written.is_empty());
        assert!(
            !passing || !takes,
            "the node passes one token and accepts another at the same time"
        );
    }

    fn check_connections(node: &Jitterbug, connections: &Connections, done: &Outputs) {
        let mut givers = BTreeSet::new();
        for connection in connections.inbound() {
            assert!(
                givers.insert(connection.peer.ip()),
                "two inbound connections come from one address"
            );
            let written = &connection.written[..];
            assert!(matches!(written, [] | [wire::TP2 | wire::TP3]));
        }
        assert!(givers.len() <= INBOUND_MAX, "{} givers", givers.len());
        assert!(
            connections.open().count() <= givers.len() + 1,
            "the node makes two passes at a time"
        );
        let timeout = node.options().token_pass_timeout;
        let ends = connections.open().map(|(_, it)| it.since + timeout).min();
        if let Some(end) = ends {
            let due = node.poll_timeout();
            assert!(
                due.is_some_and(|due| due <= end),
                "the deadline {due:?} is later than the end of a connection"
            );
        }
        let accepted: Vec<u32> = done
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Accepted { token_id, .. } => Some(*token_id),
                _ => None,
            })
            .collect();
        assert_eq!(
            accepted, done.acknowledged,
            "the node acknowledges other tokens than it accepts"
        );
    }

    fn check_list(&mut self, node: &Jitterbug, snapshot: &Snapshot, done: &Outputs) {
        let nodes: Vec<Node> = snapshot.nodes.iter().map(|it| it.node).collect();
        let addresses: BTreeSet<IpAddr> = nodes.iter().map(|it| it.ip).collect();
        assert_eq!(
            addresses.len(),
            nodes.len(),
            "the list has an address twice"
        );
        assert_eq!(snapshot.node_list_hash, node_list_hash(&nodes[..].into()));
        let refused = node.counters().nodes_refused;
        if refused == self.refused {
            let mut left = self.addresses.difference(&addresses);
            let is_told = |ip: &IpAddr| {
                done.has(|event| matches!(event, Event::NodeForgotten { node } if node.ip == *ip))
            };
            assert!(left.all(is_told), "a node left the list without an event");
        }
        self.refused = refused;
        let waiting: BTreeSet<IpAddr> = snapshot.to_add.iter().map(|it| it.ip).collect();
        assert_eq!(
            waiting.len(),
            snapshot.to_add.len(),
            "a node waits for its entry twice"
        );
        // The node may forget a node that has left both lists.
        let known: BTreeSet<IpAddr> = addresses.union(&waiting).copied().collect();
        self.heard.retain(|heard| known.contains(heard));
        let known = known.len();
        let most = usize::try_from(node.options().max_nodes).expect("the number is small");
        assert!(
            known <= most,
            "the node knows {known} nodes, too many for its list"
        );
        self.addresses = addresses;
    }

    fn check_data(&mut self, node: &Jitterbug) {
        let data = node.data();
        assert!(
            data.len() <= node.options().max_data,
            "the node has too much data"
        );
        let goes_on = match node.options().decide {
            Decide::Greater => policy::greater(data, &self.data),
            Decide::Longer => policy::longer(data, &self.data),
            Decide::Program => true,
        };
        assert!(goes_on, "the data change from {:?} to {data:?}", self.data);
        data.clone_into(&mut self.data);
    }
}

/// Returns the absolute id of the token that the node acknowledged on this connection. The token must be complete.
pub(super) fn acknowledged_id(connection: &Connection) -> u32 {
    let answer = connection.written.first().copied();
    let exchanged = wire::exchanged_id(&connection.brought, answer.unwrap_or_default());
    exchanged
        .filter(|_| connection.has_ended)
        .expect("the node acknowledges only a complete token")
}
