//! A world of Lab2: how it begins, and what is looked at after each input.

use std::rc::Rc;

use ring_codec::lab2::Token;
use ring_proto::lab2::Constants;

use super::Subject;
use super::node::{Own, Seen};
use super::notation::{ip, mac};
use super::plan::MTU;
use super::record::Record;
use super::ring::{Ring, World};
use crate::kernel::network::Network;
use crate::kernel::node::Node;
use crate::kernel::rng::{Rng, Stream};

/// A table up to this size is looked at whenever it grows, a larger one when it doubles.
const SMALL_TABLE: usize = 64;
const SECOND: u64 = 1_000_000_000;

impl<M: Subject> World<M> {
    /// So many nodes on a clear segment, none of them started.
    ///
    /// # Panics
    /// If there are more than 65,536, or the constants cannot work.
    pub fn new(nodes: usize, constants: Constants, seed: u64) -> Self {
        assert!(nodes <= 1 << 16, "the world has room for 65,536 nodes");
        if let Err(error) = constants.check() {
            panic!("{error}");
        }
        let mut rng = Rng::new(seed, Stream::World);
        let constants = Rc::new(constants);
        let nodes = (0..nodes)
            .map(|at| {
                let epoch = SECOND + rng.below(1_000 * SECOND);
                let own = Own::new(mac(at), ip(at, 0), Rc::clone(&constants));
                Node::new(own, MTU.into(), epoch)
            })
            .collect();
        let network = Network::new((20_000, 80_000));
        Self::assemble(nodes, network, rng, Ring::new(constants))
    }

    /// Shows every detail of what happens from now on to somebody.
    pub fn record(&mut self, record: Box<dyn Record>) {
        self.system.record = Some(record);
    }

    /// What a node believes now, and whether it may.
    pub(super) fn look_at(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        let Seen { grown, outdone, .. } = std::mem::take(&mut node.own.seen);
        let Some(driver) = node.driver.as_ref() else {
            return;
        };
        let machine = driver.machine();
        let (held, may_use) = (machine.held(), machine.may_use());
        if grown > 0 && (grown <= SMALL_TABLE || grown.is_power_of_two()) {
            let members = machine.members_in_order();
            let max = self.system.constants.max_members;
            self.system.checks.table(self.now, at, members, max);
        }
        let finished = machine.is_finished();
        if let Some(outdone) = outdone {
            self.look_at_loss(at, outdone);
        }
        let node = &mut self.nodes[at];
        node.own.may_use = may_use;
        if held != node.own.held {
            self.hold(at, held);
        }
        if may_use {
            self.begin_work(at);
        }
        self.look_at_quorum(at);
        if self.system.orderly {
            self.look_at_lease(at);
        }
        self.look_at_errand(at);
        if finished {
            self.die(at);
        }
    }

    /// The token that a node holds has changed, or it no longer holds one.
    fn hold(&mut self, at: usize, held: Option<Token>) {
        let node = &mut self.nodes[at];
        node.own.held = held;
        let (mac, before) = (node.own.mac, node.own.last_held);
        let Some(token) = held else {
            self.system.owners.retain(|&owner| owner != at);
            return;
        };
        // What an owner mints after a failed hand-over and offers on at once nobody has for a moment.
        let is_tenure = if self.system.owners.contains(&at) {
            self.nodes[at].own.may_use
        } else {
            self.system.owners.push(at);
            true
        };
        self.nodes[at].own.last_held = held;
        self.system.stats.counters.tenures += u64::from(is_tenure);
        let Ring { checks, owners, .. } = &mut self.system;
        checks.exempt.hold(mac, &token);
        let nodes = &self.nodes;
        checks.tenure(self.now, at, &token, before.as_ref(), || {
            let mut others = owners.iter().copied().filter(|&other| other != at);
            others.find(|&other| nodes[other].own.held == held)
        });
    }
}
