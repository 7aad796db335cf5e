//! The nodes: how they are made, started, told of things, and ended.

use ring_proto::jitterbug::{Jitterbug, Net, Network as Place};
use ring_proto::time::nanos;

use super::node::{Own, Told};
use super::notation::{FIRST_TCP_PORT, PREFIX, address};
use super::outcome::{Outcome, Rule};
use super::plan::Schedule;
use super::segment::{Due, Segment, World};
use super::settings::FaultKind;
use crate::kernel::node::Node;
use crate::kernel::rng::{Rng, Stream};

/// The longest datagram that an interface carries: all are shorter.
const MTU: usize = 1_472;
/// So many lives have a port of their own.
const LIVES: u32 = 40_000;

impl World {
    /// The nodes of a schedule, none of them started.
    pub fn of(schedule: &Schedule) -> Self {
        let mut rng = Rng::new(schedule.seed, Stream::World);
        let nodes = (0..schedule.nodes)
            .map(|at| Node::new(Own::new(at), MTU, 1 + rng.below(1_000_000_000_000)));
        let nodes = nodes.collect();
        let options = (0..schedule.nodes).map(|node| schedule.options_of(node));
        let mut system = Segment::new(schedule.options(), options.collect(), schedule.data.clone());
        if schedule.deviant.is_some() {
            system.met(FaultKind::Times);
        }
        Self::of_schedule(nodes, schedule, rng, system)
    }

    /// Starts a process that is dead, with another TCP port than its last one had.
    pub fn start(&mut self, at: usize) {
        if self.nodes[at].driver.is_some() {
            return;
        }
        let seed = self.rng.draw();
        let node = &mut self.nodes[at];
        node.unplugged = false;
        let number = u16::try_from((node.life + 1) % LIVES).unwrap_or_default();
        node.own.tcp_port = FIRST_TCP_PORT + number;
        let now = self.now;
        match Jitterbug::new(self.system.options_of(at), seed) {
            Ok(machine) => {
                self.launch(at, machine);
                self.tell_network(at);
            }
            Err(error) => {
                let checks = &mut self.system.checks;
                checks
                    .found
                    .broken(now, Some(at), Rule::Panic, error.to_string());
            }
        }
    }

    /// What a node's network is like now.
    pub fn net(&self, at: usize) -> Net {
        let node = &self.nodes[at];
        if node.unplugged {
            return Net::Down;
        }
        Net::Up(Place {
            address: node.own.ip,
            prefix: PREFIX,
            scope: 0,
            tcp_port: node.own.tcp_port,
        })
    }

    /// Tells a process what its network is like now.
    pub fn tell_network(&mut self, at: usize) {
        let net = self.net(at);
        self.tell(at, Told::Network(net));
    }

    /// Tells a process something of its own host, as soon as it can be told.
    pub fn tell(&mut self, at: usize, what: Told) {
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
            return self.later_in_life(at, due, Due::Told { node: at, what });
        }
        self.system
            .trace
            .note(now, || format!("n{at} is told {what:?}"));
        self.input(at, |driver, now, surroundings| match what {
            Told::Asked(command) => driver.command(now, command, surroundings),
            Told::Network(net) => driver.link_changed(now, net, surroundings),
        });
    }

    /// A process dies; with its host, if that loses its power.
    pub fn die(&mut self, at: usize) {
        self.end(at);
        self.bury(at);
    }

    /// Nothing is left of a process that is dead but its programs, as long as their lease lasts.
    pub fn bury(&mut self, at: usize) {
        let node = &self.nodes[at];
        if node.own.uses {
            let clock = node.clock.monotonic(self.now);
            let until = self.now + nanos(node.own.lease_until.since(clock));
            let id = node.own.id;
            self.system.checks.leave_behind(at, id, until);
        }
        self.nodes[at].own.forget();
        let checks = &mut self.system.checks;
        checks.no_clash(at);
        checks.chain.forget(at);
    }

    /// A node has another address from now on.
    pub fn move_to_another_address(&mut self, at: usize) {
        let own = &mut self.nodes[at].own;
        own.changes = own.changes.wrapping_add(1);
        own.ip = address(at, own.changes);
        if self.nodes[at].driver.is_some() {
            self.move_connections(at);
            self.tell_network(at);
        }
    }

    /// What the run has come to.
    pub fn finish(self) -> Outcome {
        let Segment { checks, stats, .. } = self.system;
        checks.found.outcome(stats, self.now)
    }
}
