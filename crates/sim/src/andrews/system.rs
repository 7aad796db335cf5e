//! The coordinated ring as a system of the simulator: its addresses, its datagrams, and its events.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ring_codec::andrews::{Election, Frame, Message};
use ring_proto::andrews::{Andrews, Event, Job, Outcome};
use ring_runtime::driver::{Connections, DatagramAddressing};

use super::clients::Clients;
use super::database::TransactionFate;
use super::node::{HostInput, NodeData};
use super::notation::{line, node_of};
use super::outcome::{Excuse, Rule, Stats};
use super::schedule::{Fault, Schedule};
use super::settings::FaultKind;
use super::tables::Tables;
use crate::kernel::checked_streams::{CheckedNetwork, NodeStreams};
use crate::kernel::checks::Findings;
use crate::kernel::datagram_log::datagram_log;
use crate::kernel::simulation;
use crate::kernel::stats::Count;
use crate::kernel::streams::{ConnectionTable, Side, Tcp};
use crate::kernel::system::{Moment, Route, System};
use crate::kernel::trace::Trace;

/// The maximum number of connections of a node, the same as in the program. Half of these connections may be
/// connections that the state machine has given up. The remaining half is enough: the state machine needs 22
/// connections, and one more to refuse other peers.
const CONNECTIONS_MAX: u16 = 64;
/// A length that is larger than the length of every datagram.
const DATAGRAM_LEN_MAX: usize = 64;

pub(super) type World = simulation::Simulation<AndrewsSystem>;

/// An event of the coordinated ring.
#[derive(Debug)]
pub(super) enum AndrewsEvent {
    /// A transaction of a node's process is carried out, or fails.
    Transaction {
        node: usize,
        life: u32,
        job: Job,
        fate: TransactionFate,
    },
    /// The answer to a transaction arrives.
    Answer {
        node: usize,
        life: u32,
        job: u64,
        outcome: Outcome,
        is_last: bool,
    },
    /// An input that waited while the process was busy.
    Input { node: usize, what: HostInput },
    /// A process has ended by itself.
    End { node: usize },
    /// A client repeats a request.
    AskAgain { node: usize, key: u64 },
}

/// The state of the whole ring, its checks and counters.
#[derive(Debug)]
pub(super) struct AndrewsSystem {
    pub(super) findings: Findings<Rule, Excuse>,
    pub(super) stats: Stats,
    /// The schedule of the run, with the nodes' options.
    pub(super) schedule: Schedule,
    /// database-timeout and request-timeout, in nanoseconds.
    pub(super) database_timeout: u64,
    pub(super) request_timeout: u64,
    pub(super) tables: Tables,
    pub(super) clients: Clients,
    /// The times of the latest changes of the coordinator's beat or of the coordinator's row.
    pub(super) beats: VecDeque<u64>,
    /// The number of nodes with a token. `idle_since` is the time since which no node has a token.
    pub(super) holders: usize,
    pub(super) idle_since: u64,
    pub(super) trace: Trace,
    /// Whether the faults are over. After the faults, a process that ends starts again.
    pub(super) faults_have_ended: bool,
}

impl AndrewsSystem {
    pub(super) fn new(schedule: &Schedule) -> Self {
        let given = &schedule.options;
        Self {
            findings: Findings::default(),
            stats: Stats::default(),
            database_timeout: given.database_us * 1_000,
            request_timeout: given.request_us * 1_000,
            schedule: schedule.clone(),
            tables: Tables::default(),
            clients: Clients::default(),
            beats: VecDeque::new(),
            holders: 0,
            idle_since: 0,
            trace: Trace::default(),
            faults_have_ended: false,
        }
    }

    pub(super) fn count_fault(&mut self, kind: FaultKind) {
        self.stats.count_fault(kind);
    }

    /// Records whether a node has the token.
    pub(super) fn set_holds(&mut self, at: u64, own: &mut NodeData, holds: bool) {
        if std::mem::replace(&mut own.process.holds, holds) == holds {
            return;
        }
        if holds {
            self.holders += 1;
            if self.holders == 2 {
                self.findings.excuse(Excuse::TwoTokens);
            }
        } else {
            self.holders -= 1;
            self.idle_since = at;
        }
    }
}

impl System for AndrewsSystem {
    type Machine = Andrews;
    type Streams = NodeStreams;
    type Address = SocketAddr;
    type Label = Option<&'static str>;
    type Node = NodeData;
    type Addressing = DatagramAddressing;
    type Missed = Vec<HostInput>;
    type Event = AndrewsEvent;
    type Fault = Fault;

    const HEADER_LEN: usize = 0;
    const MESSAGE_LEN_MAX: usize = DATAGRAM_LEN_MAX;
    const FLOODS_DUPLICATES: bool = false;
    /// UDP's checksum always detects a datagram in which only a few bits have flipped.
    const CHECKSUM_FINDS_PER_1000: u16 = 1_000;

    fn address(_: usize, own: &NodeData) -> SocketAddr {
        own.address
    }

    fn addressing(_: usize, own: &NodeData) -> DatagramAddressing {
        DatagramAddressing::new(own.address)
    }

    fn listener(own: &NodeData) -> Option<SocketAddr> {
        Some(own.address)
    }

    fn forge_stream(sim: &mut World, ends: [usize; 2], side: Side) -> Vec<u8> {
        sim.forge_stream(ends, side)
    }

    fn listen(
        fabric: &Rc<RefCell<ConnectionTable<SocketAddr>>>,
        node: usize,
        own: &NodeData,
    ) -> Self::Streams {
        let tcp = Tcp::of(fabric, node, own.address, node_of);
        Connections::new(CheckedNetwork::new(tcp, "board"), CONNECTIONS_MAX)
    }

    fn is_broadcast(_: &[u8], _: SocketAddr) -> bool {
        false
    }

    fn route(sim: &World, to: SocketAddr) -> Route {
        Route::One(node_of(to).filter(|&node| node < sim.len()))
    }

    fn on_sent(
        &mut self,
        moment: Moment,
        own: &mut NodeData,
        bytes: &[u8],
        to: SocketAddr,
    ) -> Option<(SocketAddr, Option<&'static str>)> {
        let Moment { at, node } = moment;
        let message = Frame::decode_datagram(bytes).map(|frame| frame.message);
        match message {
            Ok(Message::Join | Message::SuccessorRequest) => {}
            Ok(Message::Successor { .. }) => own.process.datagrams.answers += 1,
            Ok(Message::CoordinatorElection { election }) => {
                own.process.datagrams.oks += u64::from(matches!(election, Election::BullyOk));
            }
            Ok(_) | Err(_) => {
                let findings = &mut self.findings;
                findings.report(at, Some(node), Rule::Valid, line(bytes));
                return None;
            }
        }
        self.trace
            .note(at, || format!("n{node} sends to {to}: {}", line(bytes)));
        Some((to, message.ok().map(|message| message.kind().name())))
    }

    datagram_log!(findings, line);

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
    }

    fn on_system_event(sim: &mut World, event: AndrewsEvent) {
        match event {
            AndrewsEvent::Transaction {
                node,
                life,
                job,
                fate,
            } => sim.run_transaction(node, life, &job, fate),
            AndrewsEvent::Answer {
                node,
                life,
                job,
                outcome,
                is_last,
            } if sim.nodes[node].life == life => sim.answer(node, job, outcome, is_last),
            AndrewsEvent::Answer { .. } => {}
            AndrewsEvent::Input { node, what } => sim.give_input(node, what),
            AndrewsEvent::End { node } => {
                sim.kill_process(node);
                if sim.system.faults_have_ended {
                    sim.start(node, false);
                }
            }
            AndrewsEvent::AskAgain { node, key } => sim.ask(node, true, Some(key)),
        }
    }

    fn apply_action(sim: &mut World, fault: &Fault) {
        sim.act(fault);
    }

    fn check_node(sim: &mut World, at: usize) {
        sim.check_node(at);
        if std::mem::take(&mut sim.nodes[at].own.process.left) {
            sim.later_in_life(at, sim.now, AndrewsEvent::End { node: at });
        }
    }

    fn on_resumed(sim: &mut World, at: usize, missed: Vec<HostInput>) {
        for what in missed {
            sim.give_input(at, what);
        }
        sim.begin_transaction(at);
    }
}
