//! The nodes: how they are made, started, told of things, and ended.

use ring_proto::andrews::{Andrews, Listening, Options};

use super::circle::{Circle, Due, World};
use super::node::{Own, Process, Told};
use super::outcome::{Excuse, Outcome, Rule};
use super::plan::Schedule;
use crate::kernel::node::Node;
use crate::kernel::rng::{Rng, Stream};

/// The longest datagram that an interface carries: all are shorter.
const MTU: usize = 1_472;

impl World {
    /// The nodes of a schedule, none of them started.
    pub fn of(schedule: &Schedule) -> Self {
        let mut rng = Rng::new(schedule.seed, Stream::World);
        let ids = schedule.ids.iter().enumerate();
        let nodes =
            ids.map(|(at, &id)| Node::new(Own::new(at, id), MTU, 1 + rng.below(1_000_000_000_000)));
        let nodes = nodes.collect();
        let mut world = Self::of_schedule(nodes, schedule, rng, Circle::new(schedule));
        world.set_patience(schedule.options.liveness_us * 1_000);
        world
    }

    /// Starts a process that is dead.
    pub fn start(&mut self, at: usize, drop: bool) {
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
                self.launch(at, machine);
                self.tell(at, Told::Bound);
            }
            Err(error) => self.broken_at(at, Rule::Panic, error),
        }
    }

    /// Gives a node another list, which it reads at its start.
    pub fn set_list(&mut self, at: usize, lacks: Option<usize>) {
        if std::mem::replace(&mut self.nodes[at].own.lacks, lacks) == lacks {
            return;
        }
        if self.nodes[at].driver.is_some() {
            self.die(at);
            self.start(at, false);
        }
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
            node.own.process.troubled_at = Some(now);
            let due = node.busy_until;
            return self.later_in_life(at, due, Due::Told { node: at, what });
        }
        self.system
            .trace
            .note(now, || format!("n{at} is told {what:?}"));
        self.input(at, |driver, now, surroundings| match what {
            Told::Asked(command) => driver.command(now, command, surroundings),
            Told::Bound => driver.link_changed(now, Listening, surroundings),
        });
    }

    /// A process that stands still goes on: what it waited for may be late.
    pub fn go_on_again(&mut self, at: usize) {
        if self.nodes[at].paused.is_some() {
            self.nodes[at].own.process.troubled_at = Some(self.now);
        }
        self.resume(at);
    }

    /// A process dies; with its host, if that loses its power.
    pub fn die(&mut self, at: usize) {
        self.end(at);
        self.bury(at);
    }

    /// Nothing is left of a process that is dead.
    pub fn bury(&mut self, at: usize) {
        let now = self.now;
        if self.nodes[at].own.process.holds {
            self.system.found.excuse(Excuse::LostToken);
        }
        self.forsake_clients(at);
        let own = &mut self.nodes[at].own;
        self.system.holds(now, own, false);
        own.process = Process::default();
    }

    /// What the run has come to.
    pub fn finish(self) -> Outcome {
        let Circle {
            found,
            mut stats,
            tables,
            ..
        } = self.system;
        stats.counters.posts = tables.posts.len() as u64;
        found.outcome(stats, self.now)
    }
}
