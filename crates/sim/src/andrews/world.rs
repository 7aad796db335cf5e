//! The start and end of nodes, and their inputs.

use ring_proto::andrews::{Andrews, Options, SocketsBound};

use super::node::{HostInput, NodeData, Process};
use super::outcome::{Excuse, Outcome, Rule};
use super::schedule::Schedule;
use super::system::{AndrewsEvent, AndrewsSystem, World};
use crate::kernel::node::Node;
use crate::kernel::rng::{Rng, Stream};

/// The maximum length of a datagram on an interface, in bytes. Every datagram of the system is shorter.
const MTU: usize = 1_472;

impl World {
    /// Creates the simulation of a schedule; no process is started.
    pub(super) fn of(schedule: &Schedule) -> Self {
        let mut rng = Rng::new(schedule.seed, Stream::World);
        let ids = schedule.ids.iter().enumerate();
        let nodes = ids.map(|(at, &id)| {
            Node::new(NodeData::new(at, id), MTU, 1 + rng.below(1_000_000_000_000))
        });
        let nodes = nodes.collect();
        let mut sim = Self::of_schedule(nodes, schedule, rng, AndrewsSystem::new(schedule));
        sim.set_ack_timeout(schedule.options.liveness_us * 1_000);
        sim
    }

    /// Starts a dead process.
    pub(super) fn start(&mut self, at: usize, drop: bool) {
        if self.nodes[at].driver.is_some() {
            return;
        }
        let seed = self.rng.draw();
        let node = &mut self.nodes[at];
        node.unplugged = false;
        let schedule = &self.system.schedule;
        let options = Options {
            drop,
            ..schedule.options(at)
        };
        let lacks = self.nodes[at].own.lacks;
        let list = schedule.list(lacks).ok_or_else(|| "no list".to_owned());
        let made = list
            .and_then(|list| Andrews::new(options, list, seed).map_err(|error| error.to_string()));
        match made {
            Ok(machine) => {
                self.start_process(at, machine);
                self.give_input(at, HostInput::Bound);
            }
            Err(error) => self.report_at(at, Rule::Panic, error),
        }
    }

    /// Gives a node a different list. The node reads this list after a restart.
    pub(super) fn set_list(&mut self, at: usize, lacks: Option<usize>) {
        if std::mem::replace(&mut self.nodes[at].own.lacks, lacks) == lacks {
            return;
        }
        if self.nodes[at].driver.is_some() {
            self.kill_process(at);
            self.start(at, false);
        }
    }

    /// Gives a process an input of its host as soon as the process can read this input.
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
            node.own.process.troubled_at = Some(now);
            let due = node.busy_until;
            return self.later_in_life(at, due, AndrewsEvent::Input { node: at, what });
        }
        self.system
            .trace
            .note(now, || format!("n{at} gets {what:?}"));
        self.input(at, |driver, now, environment| match what {
            HostInput::Command(command) => driver.command(now, command, environment),
            HostInput::Bound => driver.link_changed(now, SocketsBound, environment),
        });
    }

    /// Continues a stalled process. The process may handle the answers of the database late.
    pub(super) fn resume_late(&mut self, at: usize) {
        if self.nodes[at].paused.is_some() {
            self.nodes[at].own.process.troubled_at = Some(self.now);
        }
        self.resume(at);
    }

    pub(super) fn kill_process(&mut self, at: usize) {
        self.end_process(at);
        self.clean_up(at);
    }

    /// Cleans up after a dead process.
    pub(super) fn clean_up(&mut self, at: usize) {
        let now = self.now;
        if self.nodes[at].own.process.holds {
            self.system.findings.excuse(Excuse::LostToken);
        }
        self.excuse_open_requests(at);
        let own = &mut self.nodes[at].own;
        self.system.set_holds(now, own, false);
        own.process = Process::default();
    }

    pub(super) fn finish(self) -> Outcome {
        let AndrewsSystem {
            findings,
            mut stats,
            tables,
            ..
        } = self.system;
        stats.counters.posts = tables.posts.len() as u64;
        findings.outcome(stats, self.now)
    }
}
