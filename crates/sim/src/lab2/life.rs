//! The life of a node: its process starts, is asked for things, works with the token and dies.

use ring_proto::LinkState;
use ring_proto::lab2::{Command, Constants};

use super::Subject;
use super::node::{Job, Own};
use super::ring::{Due, Node, World};
use crate::kernel::queue::id;

impl<M: Subject> World<M> {
    /// The node wants the token for so much work, in nanoseconds, at any grade or with a quorum. Nothing if it wants it
    /// already, or its process does not run.
    pub(super) fn want_for(&mut self, at: usize, work: u64, quorum: bool) {
        let node = &self.nodes[at];
        if node.own.job.is_some() || node.own.errand.is_some() || !node.is_running() {
            return;
        }
        self.system.jobs += 1;
        self.nodes[at].own.job = Some(Job {
            number: self.system.jobs,
            work,
            begun: false,
            quorum,
            asked: None,
            tenures: self.system.stats.counters.tenures,
        });
        self.command(at, Command::WantToken);
    }

    pub(super) fn begin_work(&mut self, at: usize) {
        if self.waits_for_quorum(at) {
            return;
        }
        let node = &mut self.nodes[at];
        let (Some(job), Some(token)) = (
            node.own.job.as_mut().filter(|job| !job.begun),
            node.own.held,
        ) else {
            return;
        };
        job.begun = true;
        let (done, work) = (Due::Done(id(at), job.number), job.work);
        self.later(self.now + work, done);
        self.system.stats.counters.jobs += 1;
        if !self.system.checks.work(self.now, at, &token) {
            self.system.stats.counters.fenced += 1;
        }
    }

    pub(super) fn work_done(&mut self, at: usize, job: u32) {
        let node = &mut self.nodes[at];
        let Some(done) = node.own.job.filter(|wanted| wanted.number == job) else {
            return;
        };
        node.own.lease = None;
        if let Some(missed) = &mut node.paused {
            missed.done = true;
        } else {
            node.own.job = None;
            self.command(at, Command::WorkDone);
            let only = self.system.again_only;
            if let Some(work) = self.system.again
                && only.is_none_or(|only| only == at)
            {
                self.want_for(at, work, done.quorum);
            }
        }
    }

    /// Gives a machine a command, if its process runs.
    pub fn command(&mut self, at: usize, command: Command) {
        if self.nodes[at].is_running() {
            self.input(at, |driver, now, surroundings| {
                driver.command(now, command, surroundings);
            });
        }
    }

    /// Starts the process, with its state file, and its link comes up. Nothing if it is there.
    pub fn start(&mut self, at: usize) {
        let node = &self.nodes[at];
        if node.driver.is_some() {
            return;
        }
        let machine = M::start(Constants::clone(&node.own.constants), node.own.durable);
        let mut stamps = node.own.stamps.clone();
        stamps.sort_unstable_by_key(|stored| stored.place);
        self.launch(at, machine.recall(stamps));
        self.look_at_link(at);
    }

    /// Starts all nodes at once.
    pub fn start_all(&mut self) {
        for at in 0..self.nodes.len() {
            self.start(at);
        }
    }

    /// The node's link is up, with whatever addresses it has now, or down. A process that stands still
    /// sees that when it goes on, a dead one when it starts.
    pub(super) fn look_at_link(&mut self, at: usize) {
        let Node { mtu, unplugged, .. } = self.nodes[at];
        let Own { mac, ip, .. } = self.nodes[at].own;
        if let Some(missed) = &mut self.nodes[at].paused {
            missed.moved = true;
            return;
        }
        let state = if unplugged {
            LinkState::Down
        } else {
            LinkState::Up { mac, ip, mtu }
        };
        self.input(at, |driver, now, surroundings| {
            driver.link_changed(now, state, surroundings);
        });
    }

    /// The process dies at once. What has arrived for it is lost, its state file is not.
    pub fn kill(&mut self, at: usize) {
        self.die(at);
    }

    pub(super) fn die(&mut self, at: usize) {
        self.end(at);
        let node = &mut self.nodes[at];
        node.own.job = None;
        node.own.errand = None;
        node.own.leaving = false;
        node.own.may_use = false;
        if node.own.held.take().is_some() {
            self.system.owners.retain(|&owner| owner != at);
        }
    }
}
