//! A scenario: the ring, its faults, and the bounds of the exploration.

use std::fmt;
use std::time::Duration;

use ring_codec::lab2::ETHERTYPE;
use ring_proto::lab2::Constants;

use crate::counts::counts;
use crate::named_locks::LockPlan;
use crate::node::Trouble;
use crate::sides;

/// One exploration.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The name.
    pub name: &'static str,
    /// The number of nodes.
    pub nodes: usize,
    /// The ring's constants.
    pub constants: Constants,
    /// The factor by which the last node is slower: its heartbeat and its other times are multiplied by this factor.
    pub slower: u32,
    /// The state at the beginning.
    pub start: Start,
    /// The possible orders of events.
    pub timing: Timing,
    /// Whether frames arrive in the order in which they were sent. If frames arrive in order, a timeout fires only
    /// while no frame is under way, and dead processes stay dead.
    pub in_order: bool,
    /// The maximum number of faults of each kind.
    pub faults: Faults,
    /// The programs that take named locks.
    pub locks: LockPlan,
    /// The bounds of the exploration.
    pub bounds: Bounds,
    /// The time of every wall clock, in nanoseconds. No wall clock advances.
    pub wall: u64,
    /// Whether the nodes have IPs.
    pub ips: bool,
    /// The length of the data that the token of a formed ring carries.
    pub data: usize,
    /// Whether the scenario has no faults. Without faults, two nodes must never use a token at the same time.
    pub calm: bool,
    /// The number N: the checker tries a recovery without faults from one state in N states. Hashes select the states.
    /// 0 selects no state.
    pub recover_one_in: u64,
}

/// The state in which an exploration begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// No node runs. Each node may start at any time.
    Cold,
    /// The ring has formed, and no frame is under way.
    Formed,
    /// A ring formed on each side of a split segment. The list contains the side of each node.
    Parted(&'static [u8]),
}

/// The possible orders of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Any order: each clock runs at any speed, and a frame may take any time.
    Free,
    /// All clocks run at the same speed. The clocks differ by at most `skew`, and a frame takes at most `delay`.
    Bounded {
        /// The maximum delay of a node's clock and timeouts.
        skew: Duration,
        /// The maximum travel time of a frame.
        delay: Duration,
    },
}

counts! {
    /// The maximum number of each fault in one run.
    Faults {
        /// A frame is lost.
        lost "lost",
        /// A frame is duplicated.
        doubled "doubled",
        /// A node crashes, and may start again with its stored state.
        crashes "crashes",
        /// A node crashes, and starts again at once with its stored state.
        restarts "restarts",
        /// In a scenario in which frames arrive in order, all frames under way overtake a frame.
        late "late",
        /// The link of a node refuses all frames that the node sends in response to one input.
        refused "refused",
        /// A node is stalled for longer than WAITER_TIMEOUT. After the stall, the node first reads one frame. This
        /// frame waited during the whole stall, or has just arrived.
        stalls "stalls",
        /// The segment delivers an offer to all nodes, with the broadcast address as its destination.
        misled "misled",
        /// A node's link goes down, and may come up again.
        cuts "cuts",
        /// The split of the segment changes, or the segment heals. Frames that are already under way still arrive.
        regroups "regroups",
        /// An application wants the token. After an application gets the token, its work may end at any time.
        wants "wants",
        /// A program releases its named lock.
        unlocks "unlocks",
        /// A node receives nothing. This fault may end.
        deaf "deaf",
        /// Unicasts to and from a node are lost. This fault may end.
        alone "alone",
        /// Broadcasts to a node are lost. This fault may end.
        broadcasts "without broadcasts",
        /// A node cannot store anything. This fault may end.
        full "full",
        /// A node's link no longer carries long frames. The node may learn the new MTU of its link.
        narrow "narrow",
    }
}

impl Faults {
    /// Returns a reference to the maximum number of disturbances of this kind.
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

/// The bounds of an exploration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The maximum growth of the progress, in steps. If a token grows because it outbids a rival, this growth counts as
    /// one step.
    pub progress: u64,
    /// The maximum number of frames under way.
    pub frames: usize,
    /// The maximum number of events in a run.
    pub depth: usize,
}

impl Scenario {
    /// Returns a ring of `nodes` at its start, without faults and with any order of events.
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
            in_order: false,
            faults: Faults::default(),
            locks: LockPlan::NONE,
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

    /// Returns the scenario of [`Scenario::cold`], but with a formed ring.
    pub fn with_formed_ring(name: &'static str, nodes: usize) -> Self {
        Self {
            start: Start::Formed,
            ..Self::cold(name, nodes)
        }
    }

    /// Returns the scenario of [`Scenario::cold`], but with a formed ring on each side of a split segment.
    pub fn with_split_ring(name: &'static str, sides: &'static [u8]) -> Self {
        Self {
            start: Start::Parted(sides),
            ..Self::cold(name, sides.len())
        }
    }

    /// Sets the faults.
    pub fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// Sets the programs that take named locks.
    pub fn locks(self, locks: LockPlan) -> Self {
        Self { locks, ..self }
    }

    /// Sets the bounds.
    pub fn bounds(self, progress: u64, frames: usize, depth: usize) -> Self {
        let bounds = Bounds {
            progress,
            frames,
            depth,
        };
        Self { bounds, ..self }
    }

    /// Makes the checker try a recovery from one in `recover_one_in` states.
    pub fn recovers(self, recover_one_in: u64) -> Self {
        Self {
            recover_one_in,
            ..self
        }
    }

    /// Returns the duration of a stall.
    pub fn stall(&self) -> Duration {
        self.constants.waiter_timeout() + self.constants.take_timeout
    }

    /// Returns the constants of a node.
    pub fn constants_of(&self, at: usize) -> Constants {
        let last = at + 1 == self.nodes;
        let slower = if last { self.slower } else { 1 };
        Constants {
            heartbeat: self.constants.heartbeat * slower,
            take_timeout: self.constants.take_timeout * slower,
            ..self.constants.clone()
        }
    }

    /// Returns the slowest node's WAITER_TIMEOUT.
    pub fn waiter_timeout(&self) -> Duration {
        self.constants_of(self.nodes - 1).waiter_timeout()
    }

    /// Returns the time after which a node behaves like a node that has run forever. Without named locks, the snapshot
    /// of the state machine contains all necessary times.
    pub(crate) fn warm_up(&self) -> Duration {
        // The lease and the length of a promise, `docs/reference/lab2/locks.md I26`.
        let timeouts = if self.locks.is_empty() { 0 } else { 4 + 1 };
        self.waiter_timeout() * timeouts
    }

    /// Returns the time within which all programs get their named locks, after the ring has reached the state with only
    /// one owner.
    pub(crate) fn lock_limit(&self) -> Duration {
        // The first two numbers are the lease, and the time until a silent member is flagged. The other two numbers are
        // the warm-up, and the time of an owner that waits for claims and repeated requests.
        let timeouts = 4 + 2 + 5 + 2;
        let takes = u32::try_from(self.locks.takes.len()).unwrap_or(u32::MAX);
        self.waiter_timeout() * (timeouts + takes)
    }

    /// Returns the time after the faults within which the ring must reach the state with only one owner. The time is
    /// the bound of `docs/reference/lab2/promises.md Q2` for a ring in which handovers to all other nodes are under
    /// way.
    pub fn recovery_limit(&self) -> Duration {
        // The constants of the slowest node limit the duration of the recovery.
        let constants = self.constants_of(self.nodes - 1);
        let others = u32::try_from(self.nodes).unwrap_or(u32::MAX) - 1;
        constants.waiter_timeout()
            + 2 * constants.looser_timeout()
            + 2 * constants.looser_answer_timeout()
            + others * constants.handover_timeout()
    }
}

/// Returns constants with small ratios. With small ratios, there are only few different times between timeouts, and so
/// only few states.
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
        if self.in_order {
            write!(f, ", frames in order")?;
        }
        write!(f, "{}{}", self.faults, self.locks)?;
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
