//! The whole group: its processes, what is under way between them, and what has been.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use std::sync::Arc;

use ring_codec::ftn::Access;
use ring_proto::time::Instant;

use super::breach::Breach;
use super::judge::{self, Seen};
use super::node::{Node, Said};
use super::notation::{line, node_of};
use super::outcome::Outcome;
use super::scenario::{EPOCH, Faults, Wishes};
use super::setup::Setup;

/// A datagram under way, or in the socket of a process that stands still.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flying {
    /// Where it goes.
    pub to: SocketAddr,
    /// Where it comes from.
    pub from: SocketAddr,
    /// The datagram.
    pub bytes: Arc<[u8]>,
    /// When it has arrived.
    pub at: Instant,
    /// A server has said it that may know no more of the token since.
    pub is_in_vain: bool,
}

/// A state of the group.
#[derive(Clone)]
pub struct Group {
    /// What time it is, for all.
    pub now: Instant,
    /// The processes, servers first.
    pub nodes: Vec<Arc<Node>>,
    /// What arrives before time passes, in no order but that of sorting.
    pub frames: Vec<Flying>,
    /// What arrives whenever it likes.
    pub late: Vec<Flying>,
    /// What may still go wrong.
    pub left: Faults,
    /// What may still be wanted.
    pub wishes: Wishes,
    /// What programs have seen.
    pub seen: Seen,
    /// The promise that the last step has broken.
    pub breach: Option<Breach>,
}

impl Group {
    /// A group of which no process runs.
    pub fn new(setup: &Setup) -> Self {
        let node = |_| Arc::new(Node::never_started());
        Self {
            now: EPOCH,
            nodes: (0..setup.scenario.nodes()).map(node).collect(),
            frames: Vec::new(),
            late: Vec::new(),
            left: setup.scenario.faults,
            wishes: setup.scenario.wishes,
            seen: Seen::default(),
            breach: None,
        }
    }

    /// The process that has the socket of an address.
    pub fn at(&self, setup: &Setup, address: SocketAddr) -> Option<usize> {
        let at = node_of(address)?;
        let node = self.nodes.get(at)?;
        let is_its = setup.address(at, node.life) == address;
        (node.station.is_some() && is_its).then_some(at)
    }

    /// Lets a process have taken its turn and judges it among the others; what it has said is under way.
    pub fn take(&mut self, setup: &Setup, at: usize, outcome: &Outcome) {
        self.nodes[at] = Arc::clone(&outcome.node);
        let mut breach = outcome.breach.clone();
        for told in &outcome.told {
            breach = breach.or(self.seen.hear(at, told));
        }
        self.breach = breach.or_else(|| judge::exclusion(setup, self));
        for Said { from, to, bytes } in &outcome.said {
            if self.at(setup, *to).is_some() {
                self.frames.push(Flying {
                    to: *to,
                    from: *from,
                    bytes: Arc::clone(bytes),
                    at: self.now,
                    is_in_vain: false,
                });
            }
        }
    }

    /// A process dies. What was in its socket is lost.
    pub fn end(&mut self, setup: &Setup, at: usize) {
        self.lose_memory(setup, at);
        let address = setup.address(at, self.nodes[at].life);
        self.nodes[at] = Arc::new(self.nodes[at].dead());
        self.frames.retain(|frame| frame.to != address);
    }

    /// What a server knows of the token may be lost from now on, but for what those who hold it know.
    pub fn lose_memory(&mut self, setup: &Setup, at: usize) {
        let server = self.nodes[at].server();
        let knows = |server: &ring_proto::ftn::server::Server| {
            server.tokens().any(|token| token.name == &*setup.token)
        };
        if server.is_some_and(knows) {
            let holders = self.nodes.iter().enumerate();
            let holders = holders.filter(|(at, node)| node.holding(setup, *at, self.now).is_some());
            let data = holders.filter_map(|(_, node)| judge::shown(node.client()?, setup));
            self.seen.fall_back(data.min().unwrap_or_default());
            let address = setup.address(at, self.nodes[at].life);
            let under_way = self.frames.iter_mut().chain(&mut self.late);
            for flying in under_way.filter(|flying| flying.from == address) {
                flying.is_in_vain = true;
            }
        }
    }

    /// A client was told something in vain: an update is not certain by that, unless the client holds the token still.
    pub fn heard_in_vain(&mut self, setup: &Setup, at: usize, before: Seen) {
        let client = self.nodes[at].client();
        let known = client.and_then(|client| judge::shown(client, setup));
        self.seen
            .fall_back(before.certain().max(known.unwrap_or_default()));
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
    /// `1.25s: s0 leader Ready c 4, s1 dead, c2 holds Exclusive, c3 waits, 2 under way`.
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
                        let it = server.standing();
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
                            client.standing(),
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

impl fmt::Display for Flying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (for {})", line(&self.bytes), self.to)
    }
}

/// The other way of holding a token.
pub(super) const fn other(access: Access) -> Access {
    match access {
        Access::Exclusive => Access::Shared,
        Access::Shared => Access::Exclusive,
    }
}
