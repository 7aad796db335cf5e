//! What is kept of one node.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use ring_codec::jitterbug::Node;
use ring_proto::jitterbug::{Command, Job, Net, State};
use ring_proto::time::Instant;

use super::notation::{FIRST_TCP_PORT, PORT, address};
use super::plan::Mood;

/// A node, whether its process is alive or dead.
#[derive(Debug)]
pub struct Own {
    /// Its address of now.
    pub ip: IpAddr,
    /// How often that has changed.
    pub changes: u8,
    /// Where its process listens.
    pub tcp_port: u16,
    /// It has ended of its own.
    pub left: bool,
    /// What it has last said to be, with which token.
    pub state: State,
    /// The absolute id of that token.
    pub id: u32,
    /// Whether local work may use the token.
    pub uses: bool,
    /// Until when it may without a look at the clock, by its own clock.
    pub lease_until: Instant,
    /// When it took a token from another node last, by the world's time.
    pub received: Option<u64>,
    /// How often it has become leader in this life.
    pub led: u64,
    /// How often it has noticed that it stood still.
    pub stalls: u64,
    /// When its last turn ends, by its own clock: a process that is slow is still in it.
    pub busy_until: Instant,
    /// It stands still as leader: since when, and how often it had before.
    pub stands: Option<Stands>,
    /// Its list, and what waits to be in it, as they were after the last input.
    pub list: Vec<Node>,
    pub to_add: Vec<Node>,
    /// Its data then.
    pub data: Vec<u8>,
    /// What has happened in the present input.
    pub input: Input,
    /// Its programs.
    pub programs: Programs,
}

/// What has happened in one input.
#[derive(Debug, Default)]
pub struct Input {
    /// Nodes for which there was no room.
    pub refused: Vec<IpAddr>,
    /// Nodes that never answered.
    pub forgotten: Vec<IpAddr>,
    /// A restore was won.
    pub has_won: bool,
    /// A token was taken: its list has another order.
    pub has_taken: bool,
    /// A decision was not made, or not asked for.
    pub is_undecided: bool,
    /// A token that a candidate has taken, though the pass is not done.
    pub is_gone: Option<(u32, IpAddr)>,
}

/// A leader that stands still.
#[derive(Debug, Clone, Copy)]
pub struct Stands {
    /// Since when, by its own clock.
    pub since: Instant,
    /// How often it had noticed that before.
    pub stalls: u64,
}

/// A node's programs.
#[derive(Debug, Default)]
pub struct Programs {
    /// How they behave.
    pub mood: Mood,
    pub waiting: VecDeque<(Job, bool)>,
    pub running: Option<Job>,
    /// Which of all outcomes is the next: one of before is no more.
    pub serial: u64,
}

impl Programs {
    /// Those of a process that has none yet.
    pub fn of(mood: Mood) -> Self {
        Self {
            mood,
            ..Self::default()
        }
    }
}

/// What reaches a process from its own host.
#[derive(Debug, Clone)]
pub enum Told {
    /// It is asked for something.
    Asked(Command),
    /// Its network has changed.
    Network(Net),
}

impl Own {
    /// A node that never ran.
    pub fn new(node: usize) -> Self {
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
            stands: None,
            list: Vec::new(),
            to_add: Vec::new(),
            data: Vec::new(),
            input: Input::default(),
            programs: Programs::default(),
        }
    }

    /// Where its datagrams come from.
    pub const fn address(&self) -> SocketAddr {
        SocketAddr::new(self.ip, PORT)
    }

    /// Where it takes connections.
    pub const fn listener(&self) -> SocketAddr {
        SocketAddr::new(self.ip, self.tcp_port)
    }

    /// Its process is dead.
    pub fn forget(&mut self) {
        self.state = State::Orphan;
        self.uses = false;
        self.received = None;
        self.led = 0;
        self.stands = None;
        self.left = false;
        self.list.clear();
        self.to_add.clear();
        self.data.clear();
        self.input = Input::default();
        self.programs = Programs::of(self.programs.mood);
    }
}
