//! The start and end of nodes, and their inputs.

use ring_proto::jitterbug::{Jitterbug, Network as Place, NetworkState};
use ring_proto::time::nanos;

use super::node::{HostInput, NodeData};
use super::notation::{FIRST_TCP_PORT, PREFIX, address};
use super::outcome::{Outcome, Rule};
use super::schedule::Schedule;
use super::settings::FaultKind;
use super::system::{JitterbugEvent, JitterbugSystem, World};
use crate::kernel::node::Node;
use crate::kernel::rng::{Rng, Stream};

/// The longest datagram of an interface. Every datagram of the system is shorter.
const MTU: usize = 1_472;
/// The maximum number of processes of one node. Each process has a different port.
const PROCESSES_MAX: u32 = 40_000;

impl World {
    /// Creates the simulation of a schedule; no process is started.
    pub(super) fn of(schedule: &Schedule) -> Self {
        let mut rng = Rng::new(schedule.seed, Stream::World);
        let nodes = (0..schedule.nodes)
            .map(|at| Node::new(NodeData::new(at), MTU, 1 + rng.below(1_000_000_000_000)));
        let nodes = nodes.collect();
        let options = (0..schedule.nodes).map(|node| schedule.options_of(node));
        let mut system =
            JitterbugSystem::new(schedule.options(), options.collect(), schedule.data.clone());
        if schedule.deviant.is_some() {
            system.count_fault(FaultKind::Times);
        }
        Self::of_schedule(nodes, schedule, rng, system)
    }

    /// Starts a dead process with a new TCP port.
    pub(super) fn start(&mut self, at: usize) {
        if self.nodes[at].driver.is_some() {
            return;
        }
        let seed = self.rng.draw();
        let node = &mut self.nodes[at];
        node.unplugged = false;
        let number = u16::try_from((node.life + 1) % PROCESSES_MAX).unwrap_or_default();
        node.own.tcp_port = FIRST_TCP_PORT + number;
        let now = self.now;
        match Jitterbug::new(self.system.options_of(at), seed) {
            Ok(machine) => {
                self.start_process(at, machine);
                self.report_network(at);
            }
            Err(error) => {
                let checks = &mut self.system.checks;
                checks
                    .findings
                    .report(now, Some(at), Rule::Panic, error.to_string());
            }
        }
    }

    /// Returns the state of a node's network.
    pub(super) fn net(&self, at: usize) -> NetworkState {
        let node = &self.nodes[at];
        if node.unplugged {
            return NetworkState::Down;
        }
        NetworkState::Up(Place {
            address: node.own.ip,
            prefix: PREFIX,
            scope: 0,
            tcp_port: node.own.tcp_port,
        })
    }

    pub(super) fn report_network(&mut self, at: usize) {
        let net = self.net(at);
        self.give_input(at, HostInput::Network(net));
    }

    /// Gives a process an input of its host as soon as the process can read the input.
    pub(super) fn give_input(&mut self, at: usize, what: HostInput) {
        let now = self.now;
        let node = &mut self.nodes[at];
        if node.driver.is_none() {
            return;
        }
        if let Some(missed) = &mut node.paused {
            return missed.push(what);
        }
        if node.busy_until > now {
            let due = node.busy_until;
            return self.later_in_life(at, due, JitterbugEvent::Input { node: at, what });
        }
        self.system
            .trace
            .note(now, || format!("n{at} gets {what:?}"));
        self.input(at, |driver, now, environment| match what {
            HostInput::Command(command) => driver.command(now, command, environment),
            HostInput::Network(net) => driver.link_changed(now, net, environment),
        });
    }

    pub(super) fn kill_process(&mut self, at: usize) {
        self.end_process(at);
        self.clean_up(at);
    }

    /// Cleans up after a dead process. The programs of the dead process continue until its lease ends.
    pub(super) fn clean_up(&mut self, at: usize) {
        let node = &self.nodes[at];
        if node.own.uses {
            let clock = node.clock.monotonic(self.now);
            let until = self.now + nanos(node.own.lease_until.since(clock));
            let id = node.own.id;
            self.system.checks.leave_behind(at, id, until);
        }
        self.nodes[at].own.forget();
        let checks = &mut self.system.checks;
        checks.clear_clashes(at);
        checks.tokens.on_node_dead(at);
    }

    /// Gives a node a new address.
    pub(super) fn change_address(&mut self, at: usize) {
        let own = &mut self.nodes[at].own;
        own.changes = own.changes.wrapping_add(1);
        own.ip = address(at, own.changes);
        if self.nodes[at].driver.is_some() {
            self.move_connections(at);
            self.report_network(at);
        }
    }

    pub(super) fn finish(self) -> Outcome {
        let JitterbugSystem { checks, stats, .. } = self.system;
        checks.findings.outcome(stats, self.now)
    }
}
