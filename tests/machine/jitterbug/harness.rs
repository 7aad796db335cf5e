//! The node under test with its clock, its link, its connections and its jobs.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ring_codec::jitterbug::{Message, TokenId};
use ring_proto::jitterbug::{
    Command, Compute, Decide, Jitterbug, Job, Network, NetworkState, Options, Outcome, Work,
};
use ring_proto::time::{Instant, Now};
use ring_proto::{JobRequest, Machine, SendOutcome, StreamEvent, StreamId, StreamOp};

use super::connections::{ConnectionState, Connections};
use super::event_counts::Outputs;
use super::oracle::{Oracle, acknowledged_id};
use super::steps::{self, NetworkChange, NodeOptions, ScriptedCommand, Step};
use super::wire;
use crate::script::Clock;

/// A number of outputs that one input never causes.
const OUTPUTS_MAX: usize = 2_000;
/// The maximum time of one step, in milliseconds: more than any timeout of a node without programs.
const STEP_MILLIS_MAX: u16 = 5_000;
/// The number of bytes that a jammed connection accepts.
const JAMMED_BYTES_MAX: usize = 12;

#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
pub(super) struct Harness {
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

impl Harness {
    pub(super) fn new(choices: &NodeOptions) -> Self {
        let options = Options {
            tr_count: 1 + u32::from(choices.tries % 3),
            hold: Duration::from_millis(if choices.holds { 100 } else { 0 }),
            max_nodes: [1, 5, 65_536][usize::from(choices.nodes) % 3],
            max_data: choices.data.into(),
            compute: if choices.computes {
                Compute::Program
            } else {
                Compute::Counter
            },
            decide: [Decide::Greater, Decide::Longer, Decide::Program]
                [usize::from(choices.decides) % 3],
            ..Options::default()
        };
        let network = Network {
            address: wire::host(choices.is_ipv6, 1),
            prefix: 24,
            scope: 3,
            tcp_port: 7001,
        };
        let mut this = Self {
            node: Jitterbug::new(options, 7).expect("valid options"),
            is_ipv6: choices.is_ipv6,
            clock: Clock::new(),
            network,
            connections: Connections::default(),
            room: usize::from(choices.room) + 1,
            refuses: false,
            is_jammed: false,
            is_full: false,
            jobs: Vec::new(),
            oracle: Oracle::default(),
        };
        this.set_network(NetworkState::Up(network));
        this
    }

    pub(super) fn step(&mut self, step: Step) {
        let connects = matches!(step, Step::Accept(_) | Step::Crowd(_) | Step::Give { .. });
        if self.node.is_finished() && connects {
            // The node's process has ended, so it accepts no connections.
            return;
        }
        match step {
            Step::TimeOut(late) => {
                if let Some(due) = self.node.poll_timeout() {
                    self.clock.advance_to(due + ms(late));
                    self.wake();
                }
            }
            Step::Pass(time) => self.advance(ms(time % STEP_MILLIS_MAX)),
            Step::Stall(time) => {
                self.clock.advance_to(self.clock.0.monotonic + ms(time));
            }
            Step::ClockBack(time) => {
                let now = &mut self.clock.0;
                now.monotonic = now.monotonic.before(ms(time));
            }
            Step::Job(ago, outcome) => self.end_job(ago, &outcome),
            Step::Command(order) => self.command(match order {
                ScriptedCommand::Work(has_work) => Command::Work(has_work),
                ScriptedCommand::Yield => Command::Yield,
                ScriptedCommand::ShutDown => Command::ShutDown,
            }),
            Step::Net(change) => self.change_network(&change),
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

    /// Advances the clocks, and fires every timeout at its time.
    fn advance(&mut self, time: Duration) {
        let end = self.clock.0.monotonic + time;
        for calls in 0.. {
            let Some(due) = self.node.poll_timeout().filter(|due| *due <= end) else {
                break;
            };
            assert!(calls < 100_000, "the node sets timeouts endlessly");
            self.clock.advance_to(due);
            self.wake();
        }
        self.clock.advance_to(end);
    }

    fn wake(&mut self) {
        self.input(|this, now| this.node.handle_timeout(now));
        self.oracle
            .check_after_timeout(&self.node, &self.connections);
    }

    fn command(&mut self, command: Command) {
        self.input(|this, now| this.node.handle_command(now, command));
    }

    fn set_network(&mut self, net: NetworkState) {
        self.input(|this, now| this.node.handle_link(now, net));
    }

    fn change_network(&mut self, change: &NetworkChange) {
        match *change {
            NetworkChange::Down => return self.set_network(NetworkState::Down),
            NetworkChange::Up => {}
            NetworkChange::Address(number) => {
                self.network.address = wire::host(self.is_ipv6, 1 + number % 4);
            }
            NetworkChange::Prefix(bits) => self.network.prefix = bits % 33,
            NetworkChange::Port(port) => self.network.tcp_port = 7000 + u16::from(port),
        }
        self.set_network(NetworkState::Up(self.network));
    }

    fn end_job(&mut self, ago: u8, outcome: &steps::Outcome) {
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

    /// Gives the node an input, carries out its outputs, and checks it.
    pub(super) fn input(&mut self, input: impl FnOnce(&mut Self, Now)) -> Outputs {
        let mut done = Outputs::default();
        input(self, self.clock.0);
        self.drain(&mut done);
        self.oracle
            .check(&self.node, self.clock.0, &self.connections, &done);
        self.connections.clear();
        done
    }

    /// Carries out the outputs as the driver does.
    fn drain(&mut self, done: &mut Outputs) {
        let mut again = Vec::new();
        for _ in 0..OUTPUTS_MAX {
            let mut buf = [0xaa; 64];
            if let Some(transmit) = self.node.poll_transmit(&mut buf) {
                done.sent.push(transmit.to.ip());
                self.oracle
                    .on_sent(&self.node, transmit.to.ip(), &buf[..transmit.len]);
                let sent = if self.refuses {
                    SendOutcome::Failed
                } else {
                    SendOutcome::Accepted
                };
                self.node.handle_sent(self.clock.0, transmit.ticket, sent);
                continue;
            }
            let vacant = self.connections.next_id();
            if let Some(operation) = self.node.poll_stream((!self.is_full).then_some(vacant)) {
                if let StreamOp::Read(id) = operation {
                    again.push(id);
                } else {
                    self.apply_stream_op(operation, done);
                }
                continue;
            }
            while let Some(event) = self.node.poll_event() {
                self.oracle.on_event(&event);
                done.events.push(event);
            }
            while let Some(operation) = self.node.poll_job() {
                if let JobRequest::Start(job) = operation {
                    self.jobs.push(job);
                }
            }
            let Some(id) = again.pop() else {
                return;
            };
            self.report_bytes(id);
        }
        panic!("one input causes endless outputs");
    }

    fn apply_stream_op(&mut self, operation: StreamOp<SocketAddr>, done: &mut Outputs) {
        let (id, state) = match operation {
            StreamOp::Open(to) => {
                assert!(self.node.address().is_some(), "the node connects to {to}");
                self.connections.add(to, false, self.now());
                return;
            }
            StreamOp::Write(id) => return self.write(id),
            StreamOp::Read(_) => return,
            StreamOp::Finish(id) => (id, ConnectionState::Finished),
            StreamOp::Close(id) => (id, ConnectionState::Closed),
            StreamOp::Abort(id) => (id, ConnectionState::Reset),
        };
        let Some(connection) = self.connections.get_mut(id).filter(|it| it.is_open()) else {
            return;
        };
        connection.state = state;
        if connection.is_inbound {
            done.reset += u64::from(state == ConnectionState::Reset);
            if state == ConnectionState::Closed {
                done.acknowledged.push(acknowledged_id(connection));
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
                JAMMED_BYTES_MAX.saturating_sub(connection.written.len())
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
            assert_eq!(
                connection.state,
                ConnectionState::Open,
                "the node writes after it has closed its side"
            );
            connection.written.extend_from_slice(&buf[..count]);
        }
    }

    /// Reports to the node all received bytes that the node has not used.
    pub(super) fn report_bytes(&mut self, id: StreamId) {
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
        assert!(
            used <= bytes.len(),
            "the node uses more bytes than it received"
        );
        connection.used += used;
    }

    /// Records a valid datagram of a host.
    pub(super) fn on_datagram(&mut self, from: IpAddr) {
        self.oracle.on_datagram(&self.node, from);
    }

    /// Returns the node's time.
    pub(super) fn now(&self) -> Instant {
        self.oracle.now.max(self.clock.0.monotonic)
    }

    pub(super) fn own_id(&self) -> TokenId {
        TokenId::new(self.node.summary().token_id, true).expect("a valid message")
    }
}

pub(super) fn ms(ms: impl Into<u64>) -> Duration {
    Duration::from_millis(ms.into())
}

/// Whether a datagram on the wire is a TR1.
pub(super) fn is_tr1(bytes: &[u8]) -> bool {
    match Message::decode_datagram(bytes) {
        Ok(Message::Tr1 { .. }) => true,
        Ok(Message::Tr2 { .. }) => false,
        other => panic!("the node sends {other:?}"),
    }
}
