//! Machines on a segment of the tests' own: time stands still until a test moves it.

use std::collections::VecDeque;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, MAX_FRAME_LEN, NO_IP};

use crate::proto::lab2::{Command, Constants, Durable, Event, Lab2, State};
use crate::proto::time::{Instant, Now};
use crate::proto::{LinkState, Machine, Sent, Transmit};

/// The address of node `n`.
pub fn mac(n: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, n])
}

/// One machine with what came out of it.
pub struct Node {
    pub machine: Lab2,
    pub sent: VecDeque<Vec<u8>>,
    pub events: Vec<Event>,
    pub stored: Vec<Durable>,
    /// The link refuses every frame.
    pub refuse: bool,
}

impl Node {
    pub fn new(constants: Constants, durable: Durable) -> Self {
        Self {
            machine: Lab2::new(constants, durable),
            sent: VecDeque::new(),
            events: Vec::new(),
            stored: Vec::new(),
            refuse: false,
        }
    }

    /// Gives the machine an input and drains it as the contract says.
    pub fn input(&mut self, now: Now, input: impl FnOnce(&mut Lab2)) {
        input(&mut self.machine);
        loop {
            self.stored.extend(self.machine.poll_durable());
            let mut buf = [0xaa; MAX_FRAME_LEN];
            let Some(Transmit { len, ticket }) = self.machine.poll_transmit(&mut buf) else {
                break;
            };
            let outcome = if self.refuse {
                Sent::Failed
            } else {
                Sent::Accepted
            };
            if !self.refuse {
                self.sent.push_back(buf[..len].to_vec());
            }
            self.machine.handle_sent(now, ticket, outcome);
        }
        while let Some(event) = self.machine.poll_event() {
            self.events.push(event);
        }
    }
}

/// A broadcast segment without loss or delay.
pub struct World {
    pub now: Now,
    pub nodes: Vec<Node>,
}

impl World {
    /// Nodes 1 to `n`, all links up at once.
    pub fn new(n: u8, constants: &Constants) -> Self {
        let now = Now {
            monotonic: Instant::from_nanos(1_000_000_000),
            wall: 0,
        };
        let none = Durable {
            my_token_number: 0,
            known: None,
        };
        let nodes = (0..n).map(|_| Node::new(constants.clone(), none)).collect();
        let mut world = Self { now, nodes };
        for at in 0..world.nodes.len() {
            world.link_up(at);
        }
        world.deliver();
        world
    }

    pub fn link_up(&mut self, at: usize) {
        let number = u8::try_from(at + 1).expect("few nodes");
        let up = LinkState::Up {
            mac: mac(number),
            ip: NO_IP,
            mtu: 1500,
        };
        let now = self.now;
        self.nodes[at].input(now, |machine| machine.handle_link(now, up));
    }

    pub fn command(&mut self, at: usize, command: Command) {
        let now = self.now;
        self.nodes[at].input(now, |machine| machine.handle_command(now, command));
        self.deliver();
    }

    /// Delivers every frame to everybody until nobody has more to say.
    pub fn deliver(&mut self) {
        let now = self.now;
        while let Some((from, frame)) = self.take_frame() {
            for (at, node) in self.nodes.iter_mut().enumerate() {
                if at != from {
                    node.input(now, |machine| {
                        machine.handle_frame(now, &frame, Duration::ZERO)
                    });
                }
            }
        }
    }

    fn take_frame(&mut self) -> Option<(usize, Vec<u8>)> {
        let mut nodes = self.nodes.iter_mut().enumerate();
        nodes.find_map(|(at, node)| node.sent.pop_front().map(|frame| (at, frame)))
    }

    /// Lets time pass, from one deadline to the next.
    pub fn run(&mut self, time: Duration) {
        let end = self.now.monotonic + time;
        loop {
            let deadlines = self
                .nodes
                .iter()
                .filter_map(|node| node.machine.poll_timeout());
            let Some(next) = deadlines.min().filter(|&next| next <= end) else {
                break;
            };
            self.now.monotonic = self.now.monotonic.max(next);
            let now = self.now;
            for node in &mut self.nodes {
                if node
                    .machine
                    .poll_timeout()
                    .is_some_and(|due| due <= now.monotonic)
                {
                    node.input(now, |machine| machine.handle_timeout(now));
                }
            }
            self.deliver();
        }
        self.now.monotonic = end;
    }

    pub fn states(&self) -> Vec<State> {
        self.nodes.iter().map(|node| node.machine.state()).collect()
    }

    pub fn owners(&self) -> usize {
        self.states()
            .iter()
            .filter(|&&state| state == State::Owner)
            .count()
    }
}

/// A frame's content, for asserting on.
pub fn decode(frame: &[u8]) -> Frame<'_> {
    Frame::decode(frame).expect("machines send valid frames")
}
