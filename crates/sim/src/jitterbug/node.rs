//! The part of each node's data that only Jitterbug has.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use ring_codec::jitterbug::Node;
use ring_proto::jitterbug::{Command, Job, NetworkState, State};
use ring_proto::time::Instant;

use super::notation::{FIRST_TCP_PORT, PORT, address};
use super::schedule::ProgramBehavior;

/// A node, alive or dead.
#[derive(Debug)]
pub(super) struct NodeData {
    /// The current address.
    pub(super) ip: IpAddr,
    /// The number of address changes.
    pub(super) changes: u8,
    /// The port at which the node's process listens.
    pub(super) tcp_port: u16,
    /// Whether the node's process has ended by itself.
    pub(super) left: bool,
    /// The last state that the node reported.
    pub(super) state: State,
    /// The absolute id of the node's token.
    pub(super) id: u32,
    /// Whether local work may use the token.
    pub(super) uses: bool,
    /// The end of the node's lease, by the node's clock.
    pub(super) lease_until: Instant,
    /// The simulated time at which the node last got a token from another node.
    pub(super) received: Option<u64>,
    /// The number of times that this process became leader.
    pub(super) led: u64,
    /// The number of stalls that the node noticed.
    pub(super) stalls: u64,
    /// The end of the last loop iteration, by the node's clock.
    pub(super) busy_until: Instant,
    pub(super) stall: Option<LeaderStall>,
    /// The node's list after the last input. The node still has to add the entries of `to_add` to the list.
    pub(super) list: Vec<Node>,
    pub(super) to_add: Vec<Node>,
    /// The node's data after the last input.
    pub(super) data: Vec<u8>,
    pub(super) input: InputEvents,
    pub(super) programs: Programs,
}

#[derive(Debug, Default)]
pub(super) struct InputEvents {
    /// Nodes for which a full list had no space.
    pub(super) refused: Vec<IpAddr>,
    /// Forgotten nodes that never answered.
    pub(super) forgotten: Vec<IpAddr>,
    pub(super) has_won: bool,
    /// Whether the node accepted a token whose list had a different order than the node's list.
    pub(super) has_taken: bool,
    /// Whether a decision failed or was not made.
    pub(super) is_undecided: bool,
    /// A token and a candidate's address. The candidate accepted the token, but the giver does not count the pass as
    /// done.
    pub(super) is_gone: Option<(u32, IpAddr)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LeaderStall {
    /// The start of the stall, by the node's clock.
    pub(super) since: Instant,
    /// The number of stalls that the node noticed before this stall.
    pub(super) stalls: u64,
}

#[derive(Debug, Default)]
pub(super) struct Programs {
    pub(super) behavior: ProgramBehavior,
    pub(super) waiting: VecDeque<(Job, bool)>,
    pub(super) running: Option<Job>,
    /// The number of the next outcome of a program. Outcomes with earlier numbers do not count.
    pub(super) serial: u64,
}

impl Programs {
    /// Returns the programs of a process in which no program runs.
    pub(super) fn of(behavior: ProgramBehavior) -> Self {
        Self {
            behavior,
            ..Self::default()
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum HostInput {
    Command(Command),
    Network(NetworkState),
}

impl NodeData {
    /// Returns a node that has never run.
    pub(super) fn new(node: usize) -> Self {
        Self {
            ip: address(node, 0),
            changes: 0,
            tcp_port: FIRST_TCP_PORT,
            left: false,
            state: State::Orphan,
            id: 0,
            uses: false,
            lease_until: Instant::default(),
            received: None,
            led: 0,
            stalls: 0,
            busy_until: Instant::default(),
            stall: None,
            list: Vec::new(),
            to_add: Vec::new(),
            data: Vec::new(),
            input: InputEvents::default(),
            programs: Programs::default(),
        }
    }

    /// Returns the source address of the node's datagrams.
    pub(super) const fn address(&self) -> SocketAddr {
        SocketAddr::new(self.ip, PORT)
    }

    /// Returns the address at which the node accepts connections.
    pub(super) const fn listener(&self) -> SocketAddr {
        SocketAddr::new(self.ip, self.tcp_port)
    }

    /// Forgets the data of a dead process.
    pub(super) fn forget(&mut self) {
        self.state = State::Orphan;
        self.uses = false;
        self.received = None;
        self.led = 0;
        self.stall = None;
        self.left = false;
        self.list.clear();
        self.to_add.clear();
        self.data.clear();
        self.input = InputEvents::default();
        self.programs = Programs::of(self.programs.behavior);
    }
}
