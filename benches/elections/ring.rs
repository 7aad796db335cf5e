//! Rings of the board. The kernel of the simulator runs their state machines. The network loses no messages, and all
//! hops take the same time. The benchmark simulates the database. The rows of the database decide which node starts an
//! election.

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_codec::andrews::{Kind, Method};
use ring_proto::JobRequest;
use ring_proto::andrews::{
    Andrews, Command, CoordinatorRow, Event, NodeList, Options, Outcome, Rows, SocketsBound, Work,
    Write,
};
use ring_runtime::driver::{Connections, DatagramAddressing, Driver};
use ring_sim::kernel::checked_streams::{CheckedNetwork, NodeStreams};
use ring_sim::kernel::conditions::Network;
use ring_sim::kernel::node::Node;
use ring_sim::kernel::queue;
use ring_sim::kernel::rng::{Rng, Stream};
use ring_sim::kernel::simulation::Simulation;
use ring_sim::kernel::streams::{ConnectionTable, Tcp};
use ring_sim::kernel::system::{Message, Moment, Route, System};

use super::quiet::{ip_of, no_faults, node_of};

/// Time of one hop, for a datagram and for a message on a connection.
pub(crate) const HOP_TIME: Duration = Duration::from_millis(1);
/// Time of a transaction, in nanoseconds. The time is so short that simultaneous elections begin less than a hop apart.
const TRANSACTION_NANOS: u64 = 100_000;
const PORT: u16 = 7_400;
const SLOTS: u16 = 32;
const MESSAGE_BYTES_MAX: usize = 64;
const ELECTION_LIMIT: Duration = Duration::from_secs(10);
/// Time of rest after an election: more than three times T1, so that the election ends and nodes forget it.
const REST_TIME: Duration = Duration::from_secs(4);
/// Timeout for missing tokens. It is so long that it never expires. These rings have no token.
const UNREACHED_TIMEOUT: Duration = Duration::from_secs(1 << 20);

type BenchSimulation = Simulation<Segment>;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// Number of messages of all kinds until no node sends another message.
    pub messages: u64,
    /// Time from the first start until the last node knows the result.
    pub time: Duration,
}

/// A ring of nodes at rest.
pub(crate) struct Ring(BenchSimulation);

impl Ring {
    /// Makes a ring of nodes with these ids. Each node is the predecessor of the next node in the list.
    pub(crate) fn new(method: Method, ids: &[u32]) -> Result<Self> {
        let places = || ids.iter().enumerate();
        let node = |(at, _)| Node::new(address(at), MESSAGE_BYTES_MAX, 1_000_000_000);
        let nodes = places().map(node).collect();
        let list = NodeList::new(places().map(|(at, &id)| (id, address(at))))?;
        let hop = u64::try_from(HOP_TIME.as_nanos())?;
        let chance = Rng::new(1, Stream::World);
        let mut simulation =
            BenchSimulation::assemble(nodes, Network::new((hop, 0)), chance, Segment::new(ids));
        for (at, &id) in places() {
            let options = Options {
                election: method,
                token_timeout: UNREACHED_TIMEOUT,
                database_timeout: UNREACHED_TIMEOUT,
                ..Options::new(id)
            };
            let machine = Andrews::new(options, list.clone(), 1 + u64::from(id))?;
            simulation.start_process(at, machine);
        }
        for at in 0..ids.len() {
            simulation.input(at, |driver, now, surroundings| {
                driver.link_changed(now, SocketsBound, surroundings);
            });
        }
        let mut ring = Self(simulation);
        // The largest node finds its old row, which names it as the coordinator. So it claims the role and starts an
        // election.
        ring.0.run(ELECTION_LIMIT);
        ring.check_coordinator()?;
        Ok(ring)
    }

    /// Starts one election at the node at `place`.
    pub(crate) fn start_at(&mut self, place: usize) -> Result<Cost> {
        let segment = &mut self.0.system;
        let id = segment.ids[place];
        segment.rows.seat = CoordinatorRow {
            id: Some(id),
            term: segment.rows.seat.term + 1,
        };
        segment.rows.acting = true;
        self.cost()
    }

    /// Starts an election at every node at the same time.
    pub(crate) fn start_at_all(&mut self) -> Result<Cost> {
        self.0.system.gathered = Some(Vec::new());
        self.cost()
    }

    fn cost(&mut self) -> Result<Cost> {
        let before = self.messages();
        self.0.system.started = None;
        let started = self
            .0
            .run_until(ELECTION_LIMIT, |it| it.system.started.is_some());
        started.context("no node starts an election")?;
        self.0.run(REST_TIME);
        self.check_coordinator()?;
        let segment = &self.0.system;
        let started = segment.started.unwrap_or_default();
        Ok(Cost {
            messages: self.messages() - before,
            time: segment.told.saturating_sub(started),
        })
    }

    fn check_coordinator(&self) -> Result<()> {
        let Segment { rows, largest, .. } = &self.0.system;
        let is_elected = rows.seat.id == Some(*largest) && !rows.acting;
        ensure!(is_elected, "node {largest} is not elected: {rows:?}");
        Ok(())
    }

    fn messages(&self) -> u64 {
        let machines = self.0.live().filter_map(|at| self.0.machine(at));
        machines
            .map(|machine| machine.counters().sent(Kind::CoordinatorElection))
            .sum()
    }
}

fn address(at: usize) -> SocketAddr {
    (ip_of(at), PORT).into()
}

/// Finished database job of a node.
struct Transaction {
    node: usize,
    id: u64,
    work: Work,
}

/// The database and the counters of all nodes.
struct Segment {
    ids: Vec<u32>,
    largest: u32,
    rows: Rows,
    /// Reads of the database. The answers to these reads wait until each node has sent a read. Then the answers make
    /// each node the acting coordinator.
    gathered: Option<Vec<(usize, u64)>>,
    /// Time at which the first node started an election, and time at which the last node learned the result.
    started: Option<Duration>,
    told: Duration,
}

impl Segment {
    fn new(ids: &[u32]) -> Self {
        let nexts = ids.iter().cycle().skip(1);
        let largest = ids.iter().copied().max().unwrap_or_default();
        let seat = CoordinatorRow {
            id: Some(largest),
            term: 1,
        };
        Self {
            ids: ids.to_vec(),
            largest,
            rows: Rows {
                members: ids.iter().copied().zip(nexts.copied()).collect(),
                seat,
                ..Rows::default()
            },
            gathered: None,
            started: None,
            told: Duration::ZERO,
        }
    }

    fn write(&mut self, own: u32, write: Write) -> Outcome {
        let (seen, acting) = match write {
            Write::Claim { seen, .. } => (seen, true),
            Write::Elected { seen } => (seen, false),
            _ => return Outcome::Done,
        };
        if seen != self.rows.seat {
            return Outcome::Refused;
        }
        let term = seen.term + 1;
        self.rows.seat = CoordinatorRow {
            id: Some(own),
            term,
        };
        self.rows.acting = acting;
        Outcome::Done
    }

    /// Returns rows that make this node the acting coordinator.
    fn rows_with_acting(&self, id: u32) -> Rows {
        let term = self.rows.seat.term;
        Rows {
            seat: CoordinatorRow { id: Some(id), term },
            acting: true,
            ..self.rows.clone()
        }
    }
}

fn answer(simulation: &mut BenchSimulation, node: usize, job: u64, outcome: Outcome) {
    simulation.input(node, |driver, now, surroundings| {
        driver.command(now, Command::Done { job, outcome }, surroundings);
    });
}

impl System for Segment {
    type Machine = Andrews;
    type Streams = NodeStreams;
    type Address = SocketAddr;
    type Addressing = DatagramAddressing;
    type Label = ();
    type Node = SocketAddr;
    type Missed = ();
    type Event = Transaction;
    type Fault = Infallible;

    const HEADER_LEN: usize = 0;
    const MESSAGE_LEN_MAX: usize = MESSAGE_BYTES_MAX;
    const FLOODS_DUPLICATES: bool = false;

    fn address(_: usize, own: &SocketAddr) -> SocketAddr {
        *own
    }

    fn addressing(_: usize, own: &SocketAddr) -> DatagramAddressing {
        DatagramAddressing::new(*own)
    }

    fn listen(
        fabric: &Rc<RefCell<ConnectionTable<SocketAddr>>>,
        node: usize,
        own: &SocketAddr,
    ) -> Self::Streams {
        let tcp = Tcp::of(fabric, node, *own, node_of);
        Connections::new(CheckedNetwork::new(tcp, "board"), SLOTS)
    }

    fn is_broadcast(_: &[u8], _: SocketAddr) -> bool {
        false
    }

    fn route(simulation: &BenchSimulation, to: SocketAddr) -> Route {
        Route::One(node_of(to).filter(|&node| node < simulation.len()))
    }

    fn on_sent(
        &mut self,
        _: Moment,
        _: &mut SocketAddr,
        _: &[u8],
        to: SocketAddr,
    ) -> Option<(SocketAddr, ())> {
        Some((to, ()))
    }

    fn on_handshake(_: &[u8], to: SocketAddr, _: &'static str) -> (SocketAddr, ()) {
        (to, ())
    }

    // The nodes have no keys, and there is no attacker.
    fn on_forgery(&mut self, _: Moment, _: String) {}

    fn describe(_: &[u8]) -> String {
        String::new()
    }

    fn readdress(_: &mut BenchSimulation, _: &mut Message<Self>) {}

    fn forge(_: &mut BenchSimulation, heard: &Message<Self>) -> Message<Self> {
        heard.clone()
    }

    fn check_node(simulation: &mut BenchSimulation, node: usize) {
        while let Some(wanted) = simulation.nodes[node]
            .driver
            .as_mut()
            .and_then(Driver::next_job)
        {
            if let JobRequest::Start(job) = wanted {
                let (id, work) = (job.id, job.work);
                let due = Transaction { node, id, work };
                let at = u64::try_from(simulation.now().as_nanos()).unwrap_or(u64::MAX);
                simulation
                    .queue
                    .push(at + TRANSACTION_NANOS, queue::Event::System(due));
            }
        }
    }

    fn on_system_event(simulation: &mut BenchSimulation, event: Transaction) {
        let Transaction { node, id, work } = event;
        let segment = &mut simulation.system;
        let outcome = match (work, &mut segment.gathered) {
            (Work::ReadRing, Some(gathered)) => {
                gathered.push((node, id));
                if gathered.len() == segment.ids.len() {
                    for (node, id) in segment.gathered.take().unwrap_or_default() {
                        let rows = simulation
                            .system
                            .rows_with_acting(simulation.system.ids[node]);
                        answer(simulation, node, id, Outcome::Rows(rows));
                    }
                    // The winner overwrites its row, so this row ends the election.
                    let segment = &mut simulation.system;
                    segment.rows = segment.rows_with_acting(segment.largest);
                }
                return;
            }
            (Work::ReadRing, None) => Outcome::Rows(segment.rows.clone()),
            (Work::Write(write), _) => segment.write(segment.ids[node], write),
            (Work::Prepare { .. } | Work::Serve { .. }, _) => Outcome::Done,
        };
        answer(simulation, node, id, outcome);
    }

    fn on_event(&mut self, moment: Moment, _: &mut SocketAddr, event: &Event) {
        match event {
            Event::ElectionStarted { .. } => {
                self.started.get_or_insert(moment.time());
            }
            Event::ElectionWon { .. } | Event::ElectionResult { .. } => self.told = moment.time(),
            _ => {}
        }
    }

    no_faults!();
}
