//! The start of a Lab2 simulation, and the checks after each input.

use std::rc::Rc;

use ring_codec::lab2::Token;
use ring_proto::lab2::Constants;

use super::Inspect;
use super::node::{InputEvents, NodeData};
use super::notation::{ip, mac};
use super::recorder::Recorder;
use super::schedule::MTU;
use super::system::{Lab2System, World};
use crate::kernel::conditions::Network;
use crate::kernel::node::Node;
use crate::kernel::rng::{Rng, Stream};

/// The largest size at which each growth of a table is checked. A larger table is checked only when its size has
/// doubled.
const SMALL_TABLE: usize = 64;
const SECOND: u64 = 1_000_000_000;

impl<M: Inspect> World<M> {
    /// Creates a simulation of nodes on a segment without faults; no node is started.
    ///
    /// # Panics
    /// Panics if there are more than 65,536 nodes, or if the constants are invalid.
    pub fn new(nodes: usize, constants: Constants, seed: u64) -> Self {
        assert!(nodes <= 1 << 16, "a simulation has at most 65,536 nodes");
        if let Err(error) = constants.check() {
            panic!("{error}");
        }
        let mut rng = Rng::new(seed, Stream::World);
        let constants = Rc::new(constants);
        let nodes = (0..nodes)
            .map(|at| {
                let epoch = SECOND + rng.below(1_000 * SECOND);
                let own = NodeData::new(mac(at), ip(at, 0), Rc::clone(&constants));
                Node::new(own, MTU.into(), epoch)
            })
            .collect();
        let network = Network::new((20_000, 80_000));
        Self::assemble(nodes, network, rng, Lab2System::new(constants))
    }

    /// Sets the recorder. From then on, the recorder gets every detail.
    pub fn set_recorder(&mut self, recorder: Box<dyn Recorder>) {
        self.system.recorder = Some(recorder);
    }

    /// Checks a node after an input.
    pub(super) fn look_at(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        let InputEvents { grown, outdone, .. } = std::mem::take(&mut node.own.seen);
        let Some(driver) = node.driver.as_ref() else {
            return;
        };
        let machine = driver.machine();
        let (held, may_use) = (machine.held_token(), machine.may_use());
        if grown > 0 && (grown <= SMALL_TABLE || grown.is_power_of_two()) {
            let members = machine.members_in_order();
            let max = self.system.constants.max_members;
            self.system.checks.check_table(self.now, at, members, max);
        }
        let finished = machine.is_finished();
        if let Some(outdone) = outdone {
            self.check_loss(at, outdone);
        }
        let node = &mut self.nodes[at];
        node.own.may_use = may_use;
        if held != node.own.held {
            self.hold(at, held);
        }
        if may_use {
            self.start_work(at);
        }
        self.check_quorum(at);
        if self.system.orderly {
            self.check_lease(at);
        }
        self.schedule_job_step(at);
        self.note_stored_locks(at);
        self.follow_locks(at);
        self.check_lock_changes(at);
        if finished {
            self.kill(at);
        }
        self.answer_survey(at);
    }

    /// Updates the token that a node holds.
    fn hold(&mut self, at: usize, held: Option<Token>) {
        let node = &mut self.nodes[at];
        node.own.held = held;
        let (mac, before) = (node.own.mac, node.own.last_held);
        let Some(token) = held else {
            self.system.owners.retain(|&owner| owner != at);
            return;
        };
        // A re-created token that its owner offers at once is no tenure, because no node owns the token.
        let is_tenure = if self.system.owners.contains(&at) {
            self.nodes[at].own.may_use
        } else {
            self.system.owners.push(at);
            true
        };
        self.nodes[at].own.last_held = held;
        self.system.stats.counters.tenures += u64::from(is_tenure);
        let Lab2System { checks, owners, .. } = &mut self.system;
        checks.exemptions.on_token_held(mac, &token);
        let nodes = &self.nodes;
        checks.check_tenure(self.now, at, &token, before.as_ref(), || {
            let mut others = owners.iter().copied().filter(|&other| other != at);
            others.find(|&other| nodes[other].own.held == held)
        });
    }
}
