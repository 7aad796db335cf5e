//! Jitterbug as a system of the simulator: its addresses, its datagrams, and its events.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ring_codec::jitterbug::Message;
use ring_proto::jitterbug::{Event, Jitterbug, Options};
use ring_runtime::driver::{Connections, DatagramAddressing};

use super::checks::Checks;
use super::node::{HostInput, NodeData};
use super::notation::{broadcast, host_of, line, node_of};
use super::outcome::{Rule, Stats};
use super::schedule::{DataPlan, Fault};
use super::settings::FaultKind;
use crate::kernel::checked_streams::{CheckedNetwork, NodeStreams};
use crate::kernel::datagram_log::datagram_log;
use crate::kernel::kinds::Kind as _;
use crate::kernel::simulation;
use crate::kernel::stats::Count;
use crate::kernel::streams::{ConnectionTable, Side, Tcp};
use crate::kernel::system::{Listens, Moment, Route, System};
use crate::kernel::trace::Trace;

/// The maximum number of connections of a node: 16 incoming connections, one outgoing connection, and some connections
/// that the node refuses.
const CONNECTIONS_MAX: u16 = 24;
/// A length that is larger than the length of every datagram.
const DATAGRAM_LEN_MAX: usize = 64;

pub(super) type World = simulation::Simulation<JitterbugSystem>;

/// An event of Jitterbug for a node's process.
#[derive(Debug)]
pub(super) enum JitterbugEvent {
    /// The program with this number ended.
    Job {
        node: usize,
        serial: u64,
        succeeds: bool,
    },
    /// An input that waited while the process was busy.
    Input { node: usize, what: HostInput },
    /// A process has ended by itself.
    End { node: usize },
}

/// The state of the whole segment, its checks and counters.
#[derive(Debug)]
pub(super) struct JitterbugSystem {
    pub(super) checks: Checks,
    pub(super) stats: Stats,
    /// The options of all processes except the deviant process.
    pub(super) options: Options,
    /// The options of each process.
    each: Vec<Options>,
    /// compute_timeout, in nanoseconds.
    pub(super) compute_timeout: u64,
    /// The maximum number of entries of a list.
    pub(super) max_nodes: usize,
    pub(super) data: DataPlan,
    /// The number of datagrams that the node had read when its answers were last checked.
    pub(super) checked_datagrams: u64,
    /// The number of datagrams that the node has sent to one node during this input.
    pub(super) answers: u64,
    pub(super) trace: Trace,
    /// Whether the faults are over. After the faults, a process that ends starts again.
    pub(super) faults_have_ended: bool,
}

impl JitterbugSystem {
    pub(super) fn new(options: Options, each: Vec<Options>, data: DataPlan) -> Self {
        Self {
            checks: Checks::default(),
            stats: Stats::default(),
            compute_timeout: ring_proto::time::nanos(options.compute_timeout),
            max_nodes: usize::try_from(options.max_nodes).unwrap_or(usize::MAX),
            options,
            each,
            data,
            checked_datagrams: 0,
            answers: 0,
            trace: Trace::default(),
            faults_have_ended: false,
        }
    }

    pub(super) fn options_of(&self, node: usize) -> Options {
        self.each.get(node).copied().unwrap_or(self.options)
    }

    pub(super) fn count_fault(&mut self, kind: FaultKind) {
        self.stats.count_fault(kind);
        self.checks.exemptions.is_disturbed |= disturbs(kind);
    }
}

/// Whether a kind of fault makes the fourth promise void. The fourth promise holds only on segments without loss,
/// splits and stalls.
pub(super) const fn disturbs(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Drop
            | FaultKind::Reorder
            | FaultKind::Delay
            | FaultKind::Corrupt
            | FaultKind::Oneway
            | FaultKind::Partition
            | FaultKind::Deaf
            | FaultKind::Broadcast
            | FaultKind::Refuse
            | FaultKind::Stall
            | FaultKind::Slow
    )
}

impl System for JitterbugSystem {
    type Machine = Jitterbug;
    type Streams = NodeStreams;
    type Address = SocketAddr;
    type Label = Option<&'static str>;
    type Node = NodeData;
    type Addressing = DatagramAddressing;
    type Missed = Vec<HostInput>;
    type Event = JitterbugEvent;
    type Fault = Fault;

    const HEADER_LEN: usize = 0;
    const MESSAGE_LEN_MAX: usize = DATAGRAM_LEN_MAX;
    const FLOODS_DUPLICATES: bool = false;
    /// UDP's checksum always detects a datagram in which only a few bits have flipped.
    const CHECKSUM_FINDS_PER_1000: u16 = 1_000;

    fn address(_: usize, own: &NodeData) -> SocketAddr {
        own.address()
    }

    fn addressing(_: usize, own: &NodeData) -> DatagramAddressing {
        DatagramAddressing::new(own.address()).with_broadcast(broadcast().ip())
    }

    fn accepts(own: &NodeData, to: SocketAddr) -> bool {
        to == broadcast() || to == own.address()
    }

    fn answer_to_connect(own: &NodeData, to: SocketAddr) -> Listens {
        if to.ip() != own.ip {
            Listens::Nowhere
        } else if to.port() == own.tcp_port {
            Listens::Yes
        } else {
            Listens::No
        }
    }

    fn listener(own: &NodeData) -> Option<SocketAddr> {
        Some(own.listener())
    }

    fn forge_stream(sim: &mut World, ends: [usize; 2], side: Side) -> Vec<u8> {
        sim.forge_stream(ends, side)
    }

    fn listen(
        fabric: &Rc<RefCell<ConnectionTable<SocketAddr>>>,
        node: usize,
        own: &NodeData,
    ) -> Self::Streams {
        let tcp = Tcp::of(fabric, node, own.address(), host_of).resetting();
        Connections::new(CheckedNetwork::new(tcp, "jitterbug"), CONNECTIONS_MAX)
    }

    fn is_broadcast(_: &[u8], to: SocketAddr) -> bool {
        to == broadcast()
    }

    fn route(sim: &World, to: SocketAddr) -> Route {
        if to == broadcast() {
            return Route::All;
        }
        Route::One(node_of(to).filter(|&node| node < sim.len()))
    }

    fn on_sent(
        &mut self,
        moment: Moment,
        _: &mut NodeData,
        bytes: &[u8],
        to: SocketAddr,
    ) -> Option<(SocketAddr, Option<&'static str>)> {
        let Moment { at, node } = moment;
        let message = Message::decode_datagram(bytes);
        // In each loop iteration, a node may ask a few other nodes whether they are alive. These questions do not count
        // as answers.
        let asks = matches!(message, Ok(Message::Tr1 { terms: Some(terms), .. }) if terms.asks);
        if let Ok(Message::Tr1 {
            terms: Some(terms), ..
        }) = message
        {
            // If a node announces that it follows a token, this token has a follower.
            self.checks.tokens.on_held(terms.follows, node);
        }
        let Ok(message @ (Message::Tr1 { .. } | Message::Tr2 { .. })) = message else {
            let findings = &mut self.checks.findings;
            findings.report(at, Some(node), Rule::Valid, line(bytes));
            return None;
        };
        self.answers += u64::from(to != broadcast() && !asks);
        self.trace.note(at, || {
            format!("n{node} sends to {}: {}", to.ip(), line(bytes))
        });
        Some((to, Some(message.kind().name())))
    }

    datagram_log!(checks.findings, line);

    fn on_event(&mut self, moment: Moment, own: &mut NodeData, event: &Event) {
        let Moment { at, node } = moment;
        self.trace.note(at, || format!("n{node} reports {event:?}"));
        self.on_event(at, own, node, event);
    }

    fn store(_: &mut NodeData, durable: &std::convert::Infallible) {
        match *durable {}
    }

    fn count(&mut self, what: Count) {
        self.stats.count(what);
        self.checks.exemptions.is_disturbed |= match what {
            Count::Event => false,
            Count::Overflowed => true,
            Count::Effect(trouble) => FaultKind::of_effect(trouble).is_some_and(disturbs),
        };
    }

    fn on_system_event(sim: &mut World, event: JitterbugEvent) {
        match event {
            JitterbugEvent::Job {
                node,
                serial,
                succeeds,
            } => sim.finish_job(node, serial, succeeds),
            JitterbugEvent::Input { node, what } => sim.give_input(node, what),
            JitterbugEvent::End { node } => {
                sim.kill_process(node);
                if sim.system.faults_have_ended {
                    sim.start(node);
                }
            }
        }
    }

    fn apply_action(sim: &mut World, fault: &Fault) {
        sim.act(fault);
    }

    fn check_node(sim: &mut World, at: usize) {
        sim.check_node(at);
        if std::mem::take(&mut sim.nodes[at].own.left) {
            sim.later_in_life(at, sim.now, JitterbugEvent::End { node: at });
        }
    }

    fn on_resumed(sim: &mut World, at: usize, missed: Vec<HostInput>) {
        for what in missed {
            sim.give_input(at, what);
        }
        sim.check_use(at);
        sim.check_stall(at);
    }
}
