//! The whole ring: its nodes, the frames under way, and the earlier tenures.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_proto::time::Instant;

use crate::breach::Breach;
use crate::judge;
use crate::machine::Start;
use crate::named_locks::LockHistory;
use crate::node::{EPOCH, Node, Trouble};
use crate::notation;
use crate::outcome::Outcome;
use crate::scenario::{Faults, Scenario, Timing};
use crate::sides::{self, Sides};

/// A frame under way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlyingFrame {
    /// The index of the node that receives the frame.
    pub to: usize,
    pub bytes: Arc<[u8]>,
    /// The time at which the frame was sent.
    pub sent: Instant,
}

/// A state of the ring.
#[derive(Clone)]
pub struct Ring {
    /// The nodes, by index.
    pub nodes: Vec<Arc<Node>>,
    /// The frames under way, sorted.
    pub frames: Vec<FlyingFrame>,
    /// The side of each node. Frames that are under way still arrive.
    pub sides: Sides,
    /// The faults that may still happen.
    pub left: Faults,
    /// The earlier tenures. If a tenure is weaker than the last tenure of every node, the list omits this tenure.
    pub tenures: Vec<Token>,
    /// The facts about earlier steps that the rules for named locks need.
    pub locks: LockHistory,
    /// The rule that the last step broke; `None` if the step broke no rule.
    pub breach: Option<Breach>,
    /// The possible orders of events.
    pub timing: Timing,
}

impl Ring {
    /// Returns a ring without running nodes.
    pub fn new(scenario: &Scenario, start: Start) -> Self {
        let node = |at| Arc::new(Node::new(scenario, at, start));
        Self {
            nodes: (0..scenario.nodes).map(node).collect(),
            frames: Vec::new(),
            sides: vec![0; scenario.nodes],
            left: scenario.faults,
            tenures: Vec::new(),
            locks: LockHistory::new(&scenario.locks),
            breach: None,
            timing: scenario.timing,
        }
    }

    /// Returns the latest clock of the running nodes.
    pub fn time(&self) -> Instant {
        let running = self.nodes.iter().filter(|node| node.running);
        running.map(|node| node.clock).max().unwrap_or(EPOCH)
    }

    /// Returns the time that a node's clock shows when an event from outside happens.
    pub fn present(&self, at: usize) -> Instant {
        let own = self.nodes[at].clock;
        match self.timing {
            Timing::Free => own,
            Timing::Bounded { skew, .. } => own.max(self.time().before(skew)),
        }
    }

    /// Applies the outcome of a node's input, and compares the node with the other nodes. Returns the sent frames.
    pub fn apply(&mut self, scenario: &Scenario, at: usize, outcome: &Outcome) -> Vec<FlyingFrame> {
        let Outcome {
            node,
            sent,
            begun,
            breach,
        } = outcome;
        let left = match self.timing {
            Timing::Free => EPOCH, // irrelevant, because a frame may take any time
            Timing::Bounded { .. } => node.clock,
        };
        let before = std::mem::replace(&mut self.nodes[at], Arc::clone(node));
        let repeated = begun.and_then(|token| self.note_tenure(at, token));
        let locks = self.judge_locks(scenario, at, &before);
        self.breach = breach
            .clone()
            .or_else(|| judge::compare_nodes(scenario, &self.nodes, at))
            .or_else(|| judge::find_two_quorums(self))
            .or(repeated)
            .or(locks);
        let mut flying = Vec::new();
        for (destination, bytes) in sent {
            self.send(at, (*destination, bytes), left, &mut flying);
        }
        flying
    }

    /// Records a tenure. Removes a recorded tenure if every node has had a stronger tenure. A repetition of such a
    /// tenure would already break another rule.
    fn note_tenure(&mut self, node: usize, token: Token) -> Option<Breach> {
        if self.tenures.contains(&token) {
            return Some(Breach::SecondTenure { node, token });
        }
        self.tenures.push(token);
        let lasts = self.nodes.iter().map(|node| node.last_tenure);
        let weakest = lasts.min_by(|a, b| match (a, b) {
            (Some(a), Some(b)) => a.strength(b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        if let Some(Some(weakest)) = weakest {
            self.tenures
                .retain(|tenure| tenure.is_stronger_than(&weakest));
        }
        self.tenures.sort_unstable_by(Token::strength);
        None
    }

    /// Sends a frame to every node that can receive it at this time.
    fn send(
        &self,
        from: usize,
        (destination, bytes): (MacAddr, &Arc<[u8]>),
        sent: Instant,
        flying: &mut Vec<FlyingFrame>,
    ) {
        for (to, node) in self.nodes.iter().enumerate() {
            let meant = destination == MacAddr::BROADCAST || destination == notation::mac(to);
            let alone = |node: &Node| node.trouble == Some(Trouble::Alone);
            let lost =
                destination != MacAddr::BROADCAST && (alone(node) || alone(&self.nodes[from]));
            let lost = lost
                || destination == MacAddr::BROADCAST && node.trouble == Some(Trouble::Broadcasts);
            let reached = self.sides[to] == self.sides[from] && !lost;
            if to != from && meant && reached && node.can_receive() {
                let bytes = Arc::clone(bytes);
                flying.push(FlyingFrame { to, bytes, sent });
            }
        }
    }

    /// Returns the largest progress that a node has stored.
    pub fn progress(&self) -> u64 {
        let known = self.nodes.iter().filter_map(|node| node.durable.known);
        known.map(|token| token.progress).max().unwrap_or(0)
    }

    /// Returns the ages of nodes and frames. Two states whose ages differ are different states.
    fn ages(&self) -> Vec<Duration> {
        let Timing::Bounded { delay, .. } = self.timing else {
            return Vec::new();
        };
        let time = self.time();
        let beyond = delay + Duration::from_nanos(1);
        // A stopped node starts at the current time, so its old clock does not matter.
        let running = self.nodes.iter().filter(|node| node.running);
        let nodes = running.map(|node| time.since(node.clock));
        let frames = self.frames.iter();
        nodes
            .chain(frames.map(|frame| time.since(frame.sent).min(beyond)))
            .collect()
    }
}

impl Hash for Ring {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for node in &self.nodes {
            node.digest().hash(state);
        }
        for frame in &self.frames {
            (frame.to, &frame.bytes).hash(state);
        }
        (&self.sides, &self.left, &self.tenures).hash(state);
        (&self.breach, self.ages()).hash(state);
        (&self.locks, self.rests_of_leases()).hash(state);
    }
}

impl PartialEq for Ring {
    fn eq(&self, other: &Self) -> bool {
        let digests =
            |ring: &Self| -> Vec<u128> { ring.nodes.iter().map(|node| node.digest()).collect() };
        let frames = |ring: &Self| -> Vec<(usize, Arc<[u8]>)> {
            let frames = ring.frames.iter();
            frames
                .map(|frame| (frame.to, Arc::clone(&frame.bytes)))
                .collect()
        };
        digests(self) == digests(other)
            && frames(self) == frames(other)
            && (&self.sides, &self.left, &self.tenures)
                == (&other.sides, &other.left, &other.tenures)
            && self.breach == other.breach
            && self.ages() == other.ages()
            && self.locks == other.locks
            && self.rests_of_leases() == other.rests_of_leases()
    }
}

impl fmt::Debug for Ring {
    /// Formats a ring. Example: `n1 OWNER 3-n1-1, n2 WAITER, 2 frames under way`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, node) in self.nodes.iter().enumerate() {
            let name = notation::name(notation::mac(at));
            let known = notation::maybe(node.durable.known);
            match (node.running, node.machine.held()) {
                (false, _) => write!(f, "{name} down")?,
                (true, Some(token)) => {
                    let gives = if node.machine.may_use() {
                        ""
                    } else {
                        " (gives)"
                    };
                    write!(f, "{name} OWNER {}{gives}", notation::token(token))?;
                }
                (true, None) => write!(f, "{name} {} knows {known}", node.machine.state().name())?,
            }
            if let Some(trouble) = node.trouble {
                write!(f, " ({trouble:?})")?;
            }
            if let Some((token, until)) = node.quorum {
                let token = notation::token(token);
                write!(
                    f,
                    " (quorum for {token} for {:?})",
                    until.since(self.present(at))
                )?;
            }
            for program in &node.programs {
                let session = program.session;
                match program.claim {
                    None => write!(f, " (waits for lock {session})")?,
                    Some(claim) => {
                        let rest = claim.until.since(self.present(at));
                        write!(f, " (has lock {session} for {rest:?})")?;
                    }
                }
            }
            write!(f, ", ")?;
        }
        write!(f, "{} frames under way", self.frames.len())?;
        if self.sides.iter().any(|&side| side > 0) {
            write!(f, ", parted: {}", sides::show(&self.sides))?;
        }
        Ok(())
    }
}
