//! What is explored: which ring, which faults how often, and how far.

use std::fmt;
use std::time::Duration;

use ring_codec::lab2::ETHERTYPE;
use ring_proto::lab2::Constants;

use crate::counts::counts;
use crate::node::Trouble;
use crate::sides;

/// One exploration.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// What it is for.
    pub name: &'static str,
    /// How many nodes there are.
    pub nodes: usize,
    /// The ring's constants.
    pub constants: Constants,
    /// The last node's heartbeat is so many times as long as the others', and with it all that follows from it.
    pub slower: u32,
    /// Where it begins.
    pub start: Start,
    /// Which orders of events are possible.
    pub timing: Timing,
    /// How often what may go wrong.
    pub faults: Faults,
    /// How far it goes.
    pub bounds: Bounds,
    /// What every node's wall clock shows for ever, in nanoseconds.
    pub wall: u64,
    /// Whether each node has an ip of its own; otherwise none has one.
    pub ips: bool,
    /// How many bytes of data the token of a ring that has formed carries.
    pub data: usize,
    /// Nothing goes wrong here: two nodes may never both use a token.
    pub calm: bool,
    /// From one in so many states, chosen by the state alone, the faults end and the ring must
    /// recover; 0: from none.
    pub recover_one_in: u64,
}

/// The state in which an exploration begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// No node runs; each may be started at any time.
    Cold,
    /// The ring has formed and nothing is under way.
    Formed,
    /// The same on each side of a segment that has fallen apart: the side of each node.
    Parted(&'static [u8]),
}

/// Which orders of events are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Any: every node's clock goes as fast as it likes, and a frame takes as long as it likes.
    Free,
    /// All clocks go at the same speed, at most `skew` apart, and a frame takes at most `delay`.
    Bounded {
        /// How far a node may be behind, in its clock or with its time-outs.
        skew: Duration,
        /// How long a frame may be under way.
        delay: Duration,
    },
}

counts! {
    /// How often each thing may happen in one run.
    Faults {
        /// A frame is lost.
        lost "lost",
        /// A frame is doubled.
        doubled "doubled",
        /// A node crashes; it may start again, with what it had stored.
        crashes "crashes",
        /// The link refuses all that a node wants to send in one turn.
        refused "refused",
        /// A node is stopped for longer than WAITER_TIMEOUT and then reads a frame before anything
        /// else: one that has waited for all that time, or one that came just now.
        stalls "stalls",
        /// A segment hands an offer to everybody, under the broadcast address.
        misled "misled",
        /// A node's link goes down; it may come up again.
        cuts "cuts",
        /// The segment falls apart in any other way, or becomes one. What is under way arrives.
        regroups "regroups",
        /// An application wants the token; it is done whenever it likes once it has it.
        wants "wants",
        /// A node hears nothing; it may hear again.
        deaf "deaf",
        /// Frames to a node alone, and from it to one alone, are lost; they may arrive again.
        alone "alone",
        /// What goes to all does not reach a node; it may again.
        broadcasts "without broadcasts",
        /// A node can store nothing; it may be able to again.
        full "full",
        /// A node's link no longer carries long frames; the node may be told.
        narrow "narrow",
    }
}

impl Faults {
    /// How often this may go wrong.
    pub const fn troubles(&mut self, trouble: Trouble) -> &mut u8 {
        match trouble {
            Trouble::Deaf => &mut self.deaf,
            Trouble::Alone => &mut self.alone,
            Trouble::Broadcasts => &mut self.broadcasts,
            Trouble::Full => &mut self.full,
            Trouble::Narrow => &mut self.narrow,
        }
    }
}

/// Where an exploration ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How much the progress may grow; a leap over a rival counts as one.
    pub progress: u64,
    /// The most frames under way at once.
    pub frames: usize,
    /// The most events in a run.
    pub depth: usize,
}

impl Scenario {
    /// A ring of `nodes` from its very beginning, with no faults and any order of events.
    pub fn cold(name: &'static str, nodes: usize) -> Self {
        Self {
            name,
            nodes,
            constants: Constants {
                expect: Some(nodes),
                ..small_constants()
            },
            slower: 1,
            start: Start::Cold,
            timing: Timing::Free,
            faults: Faults::default(),
            bounds: Bounds {
                progress: 4,
                frames: 6,
                depth: 12,
            },
            wall: 0,
            ips: false,
            data: 0,
            calm: false,
            recover_one_in: 0,
        }
    }

    /// The same, from a ring that has formed.
    pub fn formed(name: &'static str, nodes: usize) -> Self {
        Self {
            start: Start::Formed,
            ..Self::cold(name, nodes)
        }
    }

    /// The same, from a ring on each side of a segment that has fallen apart.
    pub fn parted(name: &'static str, sides: &'static [u8]) -> Self {
        Self {
            start: Start::Parted(sides),
            ..Self::cold(name, sides.len())
        }
    }

    /// With these faults.
    pub fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// Within these bounds.
    pub fn bounds(self, progress: u64, frames: usize, depth: usize) -> Self {
        let bounds = Bounds {
            progress,
            frames,
            depth,
        };
        Self { bounds, ..self }
    }

    /// With a recovery from one in so many states.
    pub fn recovers(self, recover_one_in: u64) -> Self {
        Self {
            recover_one_in,
            ..self
        }
    }

    /// How long a node is away that is stopped.
    pub fn stall(&self) -> Duration {
        self.constants.waiter_timeout() + self.constants.take_timeout
    }

    /// Those of a node.
    pub fn constants_of(&self, at: usize) -> Constants {
        let last = at + 1 == self.nodes;
        let slower = if last { self.slower } else { 1 };
        Constants {
            heartbeat: self.constants.heartbeat * slower,
            take_timeout: self.constants.take_timeout * slower,
            ..self.constants.clone()
        }
    }

    /// The slowest node's WAITER_TIMEOUT.
    pub fn patience(&self) -> Duration {
        self.constants_of(self.nodes - 1).waiter_timeout()
    }

    /// How soon one owner must be left once the faults have ended: invariant 2 of
    /// `docs/protocol.md`, section 5, with a hand-over in flight to each of the others.
    pub fn recovery_limit(&self) -> Duration {
        // Those of the slowest.
        let constants = self.constants_of(self.nodes - 1);
        let others = u32::try_from(self.nodes).unwrap_or(u32::MAX) - 1;
        constants.waiter_timeout()
            + 2 * constants.looser_timeout()
            + 2 * constants.looser_answer_timeout()
            + others * constants.hand_over_timeout()
    }
}

/// Constants in small proportions: few distances between time-outs, so few states.
pub fn small_constants() -> Constants {
    Constants {
        heartbeat: Duration::from_millis(20),
        waiter_intervals: 2,
        answer_intervals: 1,
        take_timeout: Duration::from_millis(5),
        take_attempts: 1,
        idle_hold: Duration::from_millis(10),
        ethertype: ETHERTYPE,
        max_members: 8,
        expect: None,
        forget: None,
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = match self.start {
            Start::Cold => "from the start".into(),
            Start::Formed => "formed".into(),
            Start::Parted(sides) => format!("parted as {}", sides::show(sides)),
        };
        write!(f, "{}: {} nodes, {start}", self.name, self.nodes)?;
        match self.timing {
            Timing::Free => write!(f, ", any order")?,
            Timing::Bounded { skew, delay } => {
                write!(f, ", skew <= {skew:?}, delay <= {delay:?}")?;
            }
        }
        write!(f, "{}", self.faults)?;
        if self.slower > 1 {
            write!(f, ", the last {} times as slow", self.slower)?;
        }
        if self.data > 0 {
            write!(f, ", {} bytes of data", self.data)?;
        }
        let Bounds {
            progress,
            frames,
            depth,
        } = self.bounds;
        write!(
            f,
            "; progress + {progress}, {frames} frames, {depth} events"
        )?;
        match self.recover_one_in {
            0 => Ok(()),
            one_in => write!(f, "; recovery from one state in {one_in}"),
        }
    }
}
