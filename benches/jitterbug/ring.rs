//! Rings of Jitterbug's state machine in the simulator's kernel, on a network that takes 20 to 100 µs and loses no
//! messages.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use ring_proto::jitterbug::{Event, Jitterbug, Network as Place, NetworkState, Options, State};
use ring_runtime::driver::{Connections, DatagramAddressing};
use ring_sim::kernel::checked_streams::{CheckedNetwork, NodeStreams};
use ring_sim::kernel::conditions::Network;
use ring_sim::kernel::node::Node;
use ring_sim::kernel::rng::{Rng, Stream};
use ring_sim::kernel::simulation::Simulation;
use ring_sim::kernel::streams::{ConnectionTable, Tcp};
use ring_sim::kernel::system::{Listens, Message, Moment, Route, System};

use super::quiet::{ip_of, no_faults, node_of};

const PREFIX: u8 = 16;
const ALL: Ipv4Addr = Ipv4Addr::new(10, 0, 255, 255);
const UDP_PORT: u16 = 57_700;
const TCP_PORT: u16 = 7_000;
/// Minimum latency and the maximum that is added to it, in nanoseconds.
const LATENCY: (u64, u64) = (20_000, 80_000);
/// Number of slots for connections: 16 incoming connections, one outgoing connection, and some refused connections.
const SLOTS: u16 = 24;
const MESSAGE_BYTES_MAX: usize = 64;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count {
    /// Number of datagrams to all nodes.
    pub broadcast: u64,
    pub unicast: u64,
    pub passes: u64,
    pub restores: u64,
}

/// Nodes that start at the same time.
pub(crate) struct Ring(Simulation<Segment>);

impl Ring {
    pub(crate) fn new(count: usize, options: Options) -> Self {
        let node = |at| Node::new(ip_of(at), MESSAGE_BYTES_MAX, 1_000_000_000);
        let nodes = (0..count).map(node).collect();
        let rng = Rng::new(1, Stream::World);
        let mut simulation =
            Simulation::assemble(nodes, Network::new(LATENCY), rng, Segment::default());
        for at in 0..count {
            let machine = Jitterbug::new(options, 1 + at as u64).expect("valid options");
            simulation.start_process(at, machine);
        }
        for at in 0..count {
            let net = NetworkState::Up(Place {
                address: ip_of(at),
                prefix: PREFIX,
                scope: 1,
                tcp_port: TCP_PORT,
            });
            simulation.input(at, |driver, now, surroundings| {
                driver.link_changed(now, net, surroundings);
            });
        }
        Self(simulation)
    }

    pub(crate) fn now(&self) -> Duration {
        self.0.now()
    }

    pub(crate) fn count(&self) -> Count {
        let [broadcast, unicast] = self.0.system.datagrams;
        let mut count = Count {
            broadcast,
            unicast,
            ..Count::default()
        };
        for machine in self.machines() {
            count.passes += machine.counters().passes_done;
            count.restores += machine.counters().restores;
        }
        count
    }

    fn machines(&self) -> impl Iterator<Item = &Jitterbug> {
        self.0.live().filter_map(|at| self.0.machine(at))
    }

    pub(crate) fn has_state(&self, state: State) -> usize {
        let all = self.machines();
        all.filter(|machine| machine.summary().state == state)
            .count()
    }

    pub(crate) fn run(&mut self, time: Duration) {
        self.0.run(time);
    }

    /// Waits for a leader that may use its token.
    pub(crate) fn leader(&mut self, limit: Duration) -> Option<usize> {
        self.0
            .run_until(limit, |simulation| !simulation.system.leaders.is_empty())?;
        self.0.system.leaders.first().copied()
    }

    /// Ends a process. The kernel resets the connections of the process.
    pub(crate) fn kill(&mut self, at: usize) {
        self.0.end_process(at);
        self.0.system.leaders.remove(&at);
    }
}

#[derive(Default)]
struct Segment {
    /// Numbers of datagrams to all nodes and to one node.
    datagrams: [u64; 2],
    /// Nodes that may use their tokens.
    leaders: BTreeSet<usize>,
}

impl System for Segment {
    type Machine = Jitterbug;
    type Streams = NodeStreams;
    type Address = SocketAddr;
    type Addressing = DatagramAddressing;
    type Label = ();
    type Node = IpAddr;
    type Missed = ();
    type Event = Infallible;
    type Fault = Infallible;

    const HEADER_LEN: usize = 0;
    const MESSAGE_LEN_MAX: usize = MESSAGE_BYTES_MAX;
    const FLOODS_DUPLICATES: bool = false;

    fn address(_: usize, own: &IpAddr) -> SocketAddr {
        SocketAddr::new(*own, UDP_PORT)
    }

    fn addressing(node: usize, own: &IpAddr) -> DatagramAddressing {
        DatagramAddressing::new(Self::address(node, own)).with_broadcast(ALL.into())
    }

    fn answer_to_connect(_: &IpAddr, to: SocketAddr) -> Listens {
        if to.port() == TCP_PORT {
            Listens::Yes
        } else {
            Listens::No
        }
    }

    fn listen(
        fabric: &Rc<RefCell<ConnectionTable<SocketAddr>>>,
        node: usize,
        own: &IpAddr,
    ) -> Self::Streams {
        let tcp = Tcp::of(fabric, node, Self::address(node, own), node_of);
        Connections::new(CheckedNetwork::new(tcp.resetting(), "jitterbug"), SLOTS)
    }

    fn is_broadcast(_: &[u8], to: SocketAddr) -> bool {
        to.ip() == ALL
    }

    fn route(simulation: &Simulation<Self>, to: SocketAddr) -> Route {
        if Self::is_broadcast(&[], to) {
            return Route::All;
        }
        Route::One(node_of(to).filter(|&node| node < simulation.len()))
    }

    fn on_sent(
        &mut self,
        _: Moment,
        _: &mut IpAddr,
        bytes: &[u8],
        to: SocketAddr,
    ) -> Option<(SocketAddr, ())> {
        self.datagrams[usize::from(!Self::is_broadcast(bytes, to))] += 1;
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

    fn readdress(_: &mut Simulation<Self>, _: &mut Message<Self>) {}

    fn forge(_: &mut Simulation<Self>, heard: &Message<Self>) -> Message<Self> {
        heard.clone()
    }

    fn check_node(simulation: &mut Simulation<Self>, at: usize) {
        if simulation.machine(at).is_some_and(Jitterbug::may_use_token) {
            simulation.system.leaders.insert(at);
        } else {
            simulation.system.leaders.remove(&at);
        }
    }

    fn on_system_event(_: &mut Simulation<Self>, event: Infallible) {
        match event {}
    }

    fn on_event(&mut self, _: Moment, _: &mut IpAddr, _: &Event) {}

    no_faults!();
}
