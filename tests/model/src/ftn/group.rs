//! The whole group: its processes, the datagrams under way, and the earlier updates and grants.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use std::sync::Arc;

use ring_codec::ftn::Access;
use ring_proto::time::Instant;

use super::breach::Breach;
use super::judge::{self, Observations};
use super::node::{Node, SentDatagram};
use super::notation::{line, node_of};
use super::outcome::Outcome;
use super::scenario::{EPOCH, Faults, Wishes};
use super::setup::Setup;

/// A datagram under way, or in the socket of a stalled process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlyingDatagram {
    pub to: SocketAddr,
    pub from: SocketAddr,
    pub bytes: Arc<[u8]>,
    /// The time at which the datagram arrives.
    pub at: Instant,
    /// Whether the sender is a server that may have lost its knowledge of the token after it sent the datagram.
    pub is_of_lost_memory: bool,
}

/// A state of the group.
#[derive(Clone)]
pub struct Group {
    /// The time of the group.
    pub now: Instant,
    /// The processes, servers first.
    pub nodes: Vec<Arc<Node>>,
    /// The datagrams that arrive before time passes. The list is sorted.
    pub frames: Vec<FlyingDatagram>,
    /// The datagrams that may arrive at any time.
    pub late: Vec<FlyingDatagram>,
    /// The faults that may still happen.
    pub left: Faults,
    /// The actions that programs may still take.
    pub wishes: Wishes,
    /// The observations of the programs.
    pub seen: Observations,
    /// The promise that the last step broke; `None` if it broke no promise.
    pub breach: Option<Breach>,
}

impl Group {
    /// Returns a group without running processes.
    pub fn new(setup: &Setup) -> Self {
        let node = |_| Arc::new(Node::never_started());
        Self {
            now: EPOCH,
            nodes: (0..setup.scenario.nodes()).map(node).collect(),
            frames: Vec::new(),
            late: Vec::new(),
            left: setup.scenario.faults,
            wishes: setup.scenario.wishes,
            seen: Observations::default(),
            breach: None,
        }
    }

    /// Returns the process whose socket has an address.
    pub fn at(&self, setup: &Setup, address: SocketAddr) -> Option<usize> {
        let at = node_of(address)?;
        let node = self.nodes.get(at)?;
        let is_its = setup.address(at, node.life) == address;
        (node.station.is_some() && is_its).then_some(at)
    }

    /// Applies the outcome of a process's input, and compares the process with the other processes. The datagrams that
    /// the process has sent are then under way.
    pub fn apply(&mut self, setup: &Setup, at: usize, outcome: &Outcome) {
        self.nodes[at] = Arc::clone(&outcome.node);
        let mut breach = outcome.breach.clone();
        for reports in &outcome.reports {
            breach = breach.or(self.seen.on_report(at, reports));
        }
        self.breach = breach.or_else(|| judge::find_shared_exclusive(setup, self));
        for SentDatagram { from, to, bytes } in &outcome.sent {
            if self.at(setup, *to).is_some() {
                self.frames.push(FlyingDatagram {
                    to: *to,
                    from: *from,
                    bytes: Arc::clone(bytes),
                    at: self.now,
                    is_of_lost_memory: false,
                });
            }
        }
    }

    /// Kills a process. The datagrams in the socket of the process are lost.
    pub fn end(&mut self, setup: &Setup, at: usize) {
        self.lose_memory(setup, at);
        let address = setup.address(at, self.nodes[at].life);
        self.nodes[at] = Arc::new(self.nodes[at].after_death());
        self.frames.retain(|frame| frame.to != address);
    }

    /// Records that a server may have lost its knowledge of the token. After such a loss, an update is certain only if
    /// every holder has seen it.
    pub fn lose_memory(&mut self, setup: &Setup, at: usize) {
        let server = self.nodes[at].server();
        let knows = |server: &ring_proto::ftn::server::Server| {
            server.tokens().any(|token| token.name == &*setup.token)
        };
        if server.is_some_and(knows) {
            let holders = self.nodes.iter().enumerate();
            let holders = holders.filter(|(at, node)| node.holding(setup, *at, self.now).is_some());
            let data = holders.filter_map(|(_, node)| judge::shown_update(node.client()?, setup));
            self.seen.limit_certain(data.min().unwrap_or_default());
            let address = setup.address(at, self.nodes[at].life);
            let under_way = self.frames.iter_mut().chain(&mut self.late);
            for flying in under_way.filter(|flying| flying.from == address) {
                flying.is_of_lost_memory = true;
            }
        }
    }

    /// Handles a confirmation that a server sent before it lost its memory. The confirmed update is certain only if the
    /// client still holds the token.
    pub fn revoke_certainty(&mut self, setup: &Setup, at: usize, before: Observations) {
        let client = self.nodes[at].client();
        let known = client.and_then(|client| judge::shown_update(client, setup));
        self.seen
            .limit_certain(before.certain().max(known.unwrap_or_default()));
    }
}

impl Hash for Group {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for node in &self.nodes {
            node.digest().hash(state);
        }
        (self.now, &self.frames, &self.late).hash(state);
        (self.left, self.wishes, self.seen, &self.breach).hash(state);
    }
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        let digests =
            |group: &Self| -> Vec<u128> { group.nodes.iter().map(|node| node.digest()).collect() };
        digests(self) == digests(other)
            && (self.now, &self.frames, &self.late) == (other.now, &other.frames, &other.late)
            && (self.left, self.wishes, self.seen, &self.breach)
                == (other.left, other.wishes, other.seen, &other.breach)
    }
}

impl fmt::Debug for Group {
    /// Formats a group. Example: `1.25s: s0 leader Ready c 4, s1 dead, c2 holds Exclusive, c3 waits, 2 under way`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}:", self.now.since(EPOCH))?;
        for (at, node) in self.nodes.iter().enumerate() {
            let stands = if node.stopped.is_some() {
                " (stands still)"
            } else {
                ""
            };
            match &node.station {
                None => write!(f, " n{at} dead,")?,
                Some(_) => {
                    if let Some(server) = node.server() {
                        let it = server.summary();
                        let (role, state) = (it.role.name(), it.state);
                        let tokens: Vec<String> = server
                            .tokens()
                            .map(|token| format!("{:?}", token.holders().collect::<Vec<_>>()))
                            .collect();
                        write!(
                            f,
                            " s{at} {role} {state:?} held by {}{stands},",
                            tokens.join(" ")
                        )?;
                    } else if let Some(client) = node.client() {
                        let left = client.lease().map(|end| end.since(self.now));
                        write!(
                            f,
                            " c{at} {:?} lease {left:?} {:?}{stands},",
                            client.state(),
                            node.program
                        )?;
                    }
                }
            }
        }
        write!(
            f,
            " {} under way, {} late",
            self.frames.len(),
            self.late.len()
        )
    }
}

impl fmt::Display for FlyingDatagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (for {})", line(&self.bytes), self.to)
    }
}

pub(super) const fn other(access: Access) -> Access {
    match access {
        Access::Exclusive => Access::Shared,
        Access::Shared => Access::Exclusive,
    }
}
