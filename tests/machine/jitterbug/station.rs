//! The node under test with its clock, its link, its connections and its jobs.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ring_codec::jitterbug::{Message, TokenId};
use ring_proto::jitterbug::{
    Command, Compute, Decide, Jitterbug, Job, Net, Network, Options, Outcome, Work,
};
use ring_proto::time::{Instant, Now};
use ring_proto::{JobOp, Machine, Sent, StreamEvent, StreamId, StreamOp};

use super::connections::{Connections, Fate};
use super::oracle::{Oracle, acknowledged};
use super::steps::{self, Change, Nature, Order, Step};
use super::tally::Done;
use super::wire;
use crate::script::Clock;

/// More outputs than any input has.
const MANY: usize = 2_000;
/// The most milliseconds that pass in one step: more than any timeout of a node without programs.
const MOST: u16 = 5_000;
/// What a jammed connection takes.
const JAMMED: usize = 12;

#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that know nothing of each other"
)]
pub(super) struct Station {
    pub node: Jitterbug,
    pub is_ipv6: bool,
    pub clock: Clock,
    pub network: Network,
    pub connections: Connections,
    room: usize,
    refuses: bool,
    is_jammed: bool,
    is_full: bool,
    jobs: Vec<Job>,
    oracle: Oracle,
}

impl Station {
    pub(super) fn new(nature: &Nature) -> Self {
        let options = Options {
            tr_count: 1 + u32::from(nature.tries % 3),
            hold: Duration::from_millis(if nature.holds { 100 } else { 0 }),
            max_nodes: [1, 5, 65_536][usize::from(nature.nodes) % 3],
            max_data: nature.data.into(),
            compute: if nature.computes {
                Compute::Program
            } else {
                Compute::Counter
            },
            decide: [Decide::Greater, Decide::Longer, Decide::Program]
                [usize::from(nature.decides) % 3],
            ..Options::default()
        };
        let network = Network {
            address: wire::host(nature.is_ipv6, 1),
            prefix: 24,
            scope: 3,
            tcp_port: 7001,
        };
        let mut this = Self {
            node: Jitterbug::new(options, 7).expect("they can work"),
            is_ipv6: nature.is_ipv6,
            clock: Clock::new(),
            network,
            connections: Connections::default(),
            room: usize::from(nature.room) + 1,
            refuses: false,
            is_jammed: false,
            is_full: false,
            jobs: Vec::new(),
            oracle: Oracle::default(),
        };
        this.net(Net::Up(network));
        this
    }

    pub(super) fn step(&mut self, step: Step) {
        let connects = matches!(step, Step::Accept(_) | Step::Crowd(_) | Step::Give { .. });
        if self.node.is_finished() && connects {
            // Its process ends with it, and takes no connections.
            return;
        }
        match step {
            Step::TimeOut(late) => {
                if let Some(due) = self.node.poll_timeout() {
                    self.clock.advance_to(due + ms(late));
                    self.wake();
                }
            }
            Step::Pass(time) => self.pass(ms(time % MOST)),
            Step::StandStill(time) => {
                self.clock.advance_to(self.clock.0.monotonic + ms(time));
            }
            Step::ClockBack(time) => {
                let now = &mut self.clock.0;
                now.monotonic = now.monotonic.before(ms(time));
            }
            Step::Job(ago, outcome) => self.job(ago, &outcome),
            Step::Order(order) => self.command(match order {
                Order::Work(has_work) => Command::Work(has_work),
                Order::Yield => Command::Yield,
                Order::ShutDown => Command::ShutDown,
            }),
            Step::Net(change) => self.change(&change),
            Step::Refuse(refuses) => self.refuses = refuses,
            Step::Full(is_full) => self.is_full = is_full,
            Step::Jam(is_jammed) => {
                self.is_jammed = is_jammed;
                let waiting = self
                    .connections
                    .open()
                    .filter(|(_, it)| it.wants_to_write)
                    .map(|(id, _)| id)
                    .collect::<Vec<_>>();
                for id in waiting {
                    self.input(|this, _| this.write(id));
                }
            }
            Step::Hear(..)
            | Step::Garbage(..)
            | Step::Accept(_)
            | Step::Bring { .. }
            | Step::Crowd(_)
            | Step::Give { .. }
            | Step::Gone(..)
            | Step::Candidate(_) => self.network_step(step),
        }
    }

    /// Lets time pass, with every time-out at its time.
    fn pass(&mut self, time: Duration) {
        let end = self.clock.0.monotonic + time;
        for calls in 0.. {
            let Some(due) = self.node.poll_timeout().filter(|due| *due <= end) else {
                break;
            };
            assert!(calls < 100_000, "it wants to be called without end");
            self.clock.advance_to(due);
            self.wake();
        }
        self.clock.advance_to(end);
    }

    fn wake(&mut self) {
        self.input(|this, now| this.node.handle_timeout(now));
        self.oracle.woken(&self.node, &self.connections);
    }

    fn command(&mut self, command: Command) {
        self.input(|this, now| this.node.handle_command(now, command));
    }

    fn net(&mut self, net: Net) {
        self.input(|this, now| this.node.handle_link(now, net));
    }

    fn change(&mut self, change: &Change) {
        match *change {
            Change::Down => return self.net(Net::Down),
            Change::Up => {}
            Change::Address(number) => {
                self.network.address = wire::host(self.is_ipv6, 1 + number % 4);
            }
            Change::Prefix(bits) => self.network.prefix = bits % 33,
            Change::Port(port) => self.network.tcp_port = 7000 + u16::from(port),
        }
        self.net(Net::Up(self.network));
    }

    fn job(&mut self, ago: u8, outcome: &steps::Outcome) {
        let Some(at) = self.jobs.len().checked_sub(1 + usize::from(ago)) else {
            return;
        };
        let job = &self.jobs[at];
        let outcome = match (outcome, &job.work) {
            (steps::Outcome::Longer(more), Work::Compute(before)) => {
                let more = vec![b'1'; usize::from(*more)];
                Outcome::Computed([before, &more[..]].concat().into())
            }
            (steps::Outcome::Longer(more), _) => Outcome::Computed([*more].into()),
            (steps::Outcome::Received(received), _) => Outcome::Decided {
                received: *received,
            },
            (steps::Outcome::Failed, _) => Outcome::Failed,
        };
        let job = job.id;
        self.command(Command::Done { job, outcome });
    }

    /// Puts an input in, drains what comes of it, and checks that.
    pub(super) fn input(&mut self, input: impl FnOnce(&mut Self, Now)) -> Done {
        let mut done = Done::default();
        input(self, self.clock.0);
        self.drain(&mut done);
        self.oracle
            .look(&self.node, self.clock.0, &self.connections, &done);
        self.connections.clear();
        done
    }

    /// As the driver does it.
    fn drain(&mut self, done: &mut Done) {
        let mut again = Vec::new();
        for _ in 0..MANY {
            let mut buf = [0xaa; 64];
            if let Some(transmit) = self.node.poll_transmit(&mut buf) {
                done.sent.push(transmit.to.ip());
                self.oracle
                    .sent(&self.node, transmit.to.ip(), &buf[..transmit.len]);
                let sent = if self.refuses {
                    Sent::Failed
                } else {
                    Sent::Accepted
                };
                self.node.handle_sent(self.clock.0, transmit.ticket, sent);
                continue;
            }
            let vacant = self.connections.vacant();
            if let Some(operation) = self.node.poll_stream((!self.is_full).then_some(vacant)) {
                if let StreamOp::Read(id) = operation {
                    again.push(id);
                } else {
                    self.operate(operation, done);
                }
                continue;
            }
            while let Some(event) = self.node.poll_event() {
                self.oracle.note(&event);
                done.events.push(event);
            }
            while let Some(operation) = self.node.poll_job() {
                if let JobOp::Start(job) = operation {
                    self.jobs.push(job);
                }
            }
            let Some(id) = again.pop() else {
                return;
            };
            self.tell(id);
        }
        panic!("one input has no end of outputs");
    }

    fn operate(&mut self, operation: StreamOp<SocketAddr>, done: &mut Done) {
        let (id, fate) = match operation {
            StreamOp::Open(to) => {
                assert!(self.node.address().is_some(), "it connects to {to}");
                self.connections.add(to, false, self.now());
                return;
            }
            StreamOp::Write(id) => return self.write(id),
            StreamOp::Read(_) => return,
            StreamOp::Finish(id) => (id, Fate::Finished),
            StreamOp::Close(id) => (id, Fate::Closed),
            StreamOp::Abort(id) => (id, Fate::Reset),
        };
        let Some(connection) = self.connections.get_mut(id).filter(|it| it.is_open()) else {
            return;
        };
        connection.fate = fate;
        if connection.is_inbound {
            done.reset += u64::from(fate == Fate::Reset);
            if fate == Fate::Closed {
                done.acknowledged.push(acknowledged(connection));
            }
        }
    }

    fn write(&mut self, id: StreamId) {
        let mut buf = vec![0xaa; self.room];
        loop {
            let Some(connection) = self.connections.get_mut(id).filter(|it| it.is_open()) else {
                return;
            };
            connection.wants_to_write = self.is_jammed;
            let room = if self.is_jammed {
                JAMMED.saturating_sub(connection.written.len())
            } else {
                self.room
            };
            let room = room.min(self.room);
            if room == 0 {
                return;
            }
            let count = self.node.poll_write(id, &mut buf[..room]);
            if count == 0 {
                return;
            }
            assert_eq!(connection.fate, Fate::Open, "it writes behind its end");
            connection.written.extend_from_slice(&buf[..count]);
        }
    }

    /// Tells of all that was brought and not used.
    pub(super) fn tell(&mut self, id: StreamId) {
        let Some(connection) = self.connections.get_mut(id).filter(|it| it.is_open()) else {
            return;
        };
        let bytes = &connection.brought[connection.used..];
        let end = connection.has_ended;
        if bytes.is_empty() && !end {
            return;
        }
        let event = StreamEvent::Received { bytes, end };
        let used = self.node.handle_stream(self.clock.0, id, event);
        assert!(used <= bytes.len(), "it uses more than there is");
        connection.used += used;
    }

    /// A datagram of this host was a whole one.
    pub(super) fn heard(&mut self, from: IpAddr) {
        self.oracle.heard(&self.node, from);
    }

    /// The node's time.
    pub(super) fn now(&self) -> Instant {
        self.oracle.now.max(self.clock.0.monotonic)
    }

    pub(super) fn own_id(&self) -> TokenId {
        TokenId::new(self.node.standing().token_id, true).expect("it is legal")
    }
}

pub(super) fn ms(ms: impl Into<u64>) -> Duration {
    Duration::from_millis(ms.into())
}

/// A datagram as it lies on the wire: whether it is TR1.
pub(super) fn is_tr1(bytes: &[u8]) -> bool {
    match Message::decode_datagram(bytes) {
        Ok(Message::Tr1 { .. }) => true,
        Ok(Message::Tr2 { .. }) => false,
        other => panic!("it sends {other:?}"),
    }
}
