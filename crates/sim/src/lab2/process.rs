//! The process of a node: it starts, requests the token, works and dies.

use ring_proto::LinkState;
use ring_proto::lab2::{Command, Constants};

use super::Inspect;
use super::node::{Job, NodeData};
use super::system::{Lab2Event, World};
use crate::kernel::queue::id;

impl<M: Inspect> World<M> {
    /// Makes the node request the token. `work` is the duration of the work in nanoseconds. With `quorum`, the work
    /// needs a quorum. Does nothing if the node already requests the token or does not run.
    pub(super) fn want_token(&mut self, at: usize, work: u64, quorum: bool) {
        let node = &self.nodes[at];
        if node.own.job.is_some() || node.own.job_run.is_some() || !node.is_running() {
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

    pub(super) fn start_work(&mut self, at: usize) {
        if self.ask_if_quorum_missing(at) {
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
        let (done, work) = (Lab2Event::Done(id(at), job.number), job.work);
        self.later(self.now + work, done);
        self.system.stats.counters.jobs += 1;
        if !self.system.checks.use_resource(self.now, at, &token) {
            self.system.stats.counters.fenced += 1;
        }
    }

    pub(super) fn finish_work(&mut self, at: usize, job: u32) {
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
            let only = self.system.repeating_member;
            if let Some(work) = self.system.repeated_work
                && only.is_none_or(|only| only == at)
            {
                self.want_token(at, work, done.quorum);
            }
        }
    }

    /// Gives a command to a state machine, if its process runs.
    pub fn command(&mut self, at: usize, command: Command) {
        if self.nodes[at].is_running() {
            self.input(at, |driver, now, environment| {
                driver.command(now, command, environment);
            });
        }
    }

    /// Starts a dead process with its state file, and brings its link up.
    pub fn start(&mut self, at: usize) {
        let node = &self.nodes[at];
        if node.driver.is_some() {
            return;
        }
        let machine = M::start(Constants::clone(&node.own.constants), node.own.durable);
        let machine = machine.with_preference(node.own.preference);
        let mut stamps = node.own.stamps.clone();
        // The state file orders the stamps by their places, not by the time of their writes.
        stamps.sort_unstable_by_key(|stored| stored.place);
        self.start_process(at, machine.with_stamps(stamps));
        self.report_link(at);
    }

    /// Starts all nodes at the same time.
    pub fn start_all(&mut self) {
        for at in 0..self.nodes.len() {
            self.start(at);
        }
    }

    /// Reports the state of the link, with the current addresses. A stalled process learns the state when it continues,
    /// and a dead process learns the state when it starts.
    pub(super) fn report_link(&mut self, at: usize) {
        let (mtu, unplugged) = (self.payload_max(at), self.nodes[at].unplugged);
        let NodeData { mac, ip, .. } = self.nodes[at].own;
        if let Some(missed) = &mut self.nodes[at].paused {
            missed.moved = true;
            return;
        }
        let state = if unplugged {
            LinkState::Down
        } else {
            LinkState::Up { mac, ip, mtu }
        };
        self.input(at, |driver, now, environment| {
            driver.link_changed(now, state, environment);
        });
    }

    /// Returns the longest payload that the node's state machine can send. A signature needs a part of the MTU.
    pub(super) fn payload_max(&self, at: usize) -> usize {
        let node = &self.nodes[at];
        node.mtu - node.signature_len()
    }

    /// Kills the process. The frames that the process has not read are lost. The state file is kept.
    pub fn kill(&mut self, at: usize) {
        self.end_process(at);
        self.end_waiting_locks(at);
        let node = &mut self.nodes[at];
        node.own.job = None;
        node.own.job_run = None;
        node.own.leaving = false;
        node.own.may_use = false;
        if node.own.held.take().is_some() {
            self.system.owners.retain(|&owner| owner != at);
        }
    }
}
