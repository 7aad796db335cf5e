//! The run after the faults: the split of the segment has ended, every frame arrives at once, and all clocks run at the
//! same speed. Crashed nodes stay dead, and links stay down or narrow. From every state, the ring must reach one owner
//! in time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ring_proto::lab2::{Command, State};
use ring_proto::time::Instant;

use crate::breach::Breach;
use crate::machine::AnyMachine;
use crate::named_locks::LockHolder;
use crate::node::{Input, Trouble};
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use crate::state::{FlyingFrame, Ring};

/// The maximum number of events at one time. Rings of this size need fewer events.
const EVENTS_AT_ONCE_MAX: usize = 1_000;

/// A run without faults that begins in a given state.
pub struct Fair<'a> {
    scenario: &'a Scenario,
    ring: Ring,
    queue: VecDeque<FlyingFrame>,
    /// Each node's clock at the beginning. The clocks may differ.
    began: Vec<Instant>,
    elapsed: Duration,
    /// The last time at which the number of owners was not one.
    unsettled: Duration,
    /// The last time at which a node could use a token.
    usable: Duration,
    at_once: usize,
    /// Whether each program releases its named lock at once.
    ends_programs: bool,
}

impl<'a> Fair<'a> {
    /// Returns the run that begins in a state of the ring. Frames may be under way in this state.
    pub fn from(scenario: &'a Scenario, ring: &Ring) -> Self {
        let mut ring = ring.clone();
        let queue = std::mem::take(&mut ring.frames).into();
        let began = ring.nodes.iter().map(|node| node.clock).collect();
        Self {
            scenario,
            ring,
            queue,
            began,
            elapsed: Duration::ZERO,
            unsettled: Duration::ZERO,
            usable: Duration::ZERO,
            at_once: 0,
            ends_programs: false,
        }
    }

    /// Starts every node and runs until the ring has formed, separately on each side of the segment.
    ///
    /// # Errors
    /// Returns the first broken rule.
    pub fn form(mut self) -> Result<Ring, Breach> {
        for at in 0..self.ring.nodes.len() {
            self.give_input(at, &Input::Link(true))?;
        }
        self.run(2 * self.scenario.recovery_limit())?;
        let mut nodes = self.ring.nodes.iter();
        let owner = nodes.position(|node| node.machine.may_use());
        if let Some(owner) = owner.filter(|_| self.scenario.data > 0) {
            let data = Command::SetData(vec![1; self.scenario.data]);
            self.give_input(owner, &Input::Command(data))?;
            self.settle_instant()?;
        }
        self.take_first_locks()?;
        Ok(self.ring)
    }

    /// Runs until the time limit of the recovery has passed. Returns the time after which there was always one owner.
    ///
    /// # Errors
    /// Returns the first broken rule.
    pub fn recover(mut self) -> Result<Duration, Breach> {
        for at in 0..self.ring.nodes.len() {
            let node = &self.ring.nodes[at];
            let has_news = node.trouble == Some(Trouble::Narrow) && node.connected;
            if node.trouble.is_some() {
                self.ring.nodes[at] = Arc::new(node.without_trouble());
            }
            if has_news {
                self.give_input(at, &Input::Link(true))?;
            }
        }
        if !self.ring.nodes.iter().any(|node| node.can_receive()) {
            return Ok(Duration::ZERO);
        }
        self.ring.sides.fill(0);
        self.ends_programs = true;
        let limit = self.scenario.recovery_limit();
        self.run(limit + 4 * self.scenario.waiter_timeout())?;
        if self.unsettled > limit {
            let after = self.unsettled;
            return Err(Breach::NotRecovered { after });
        }
        self.check_token_used()?;
        self.check_all_served()?;
        self.check_tables_equal()?;
        self.check_locks()?;
        Ok(self.unsettled)
    }

    fn run(&mut self, time: Duration) -> Result<(), Breach> {
        loop {
            self.settle_instant()?;
            if !self.is_settled() {
                self.unsettled = self.elapsed;
            }
            if self.ring.nodes.iter().any(|node| node.machine.may_use()) {
                self.usable = self.elapsed;
            }
            let Some((due, at)) = self.next_due().filter(|&(due, _)| due <= time) else {
                return Ok(());
            };
            if due > self.elapsed {
                self.elapsed = due;
                self.at_once = 0;
            }
            self.give_input(at, &Input::TimeOut)?;
        }
    }

    fn run_for(&mut self, time: Duration) -> Result<(), Breach> {
        let end = self.elapsed + time;
        self.run(end)?;
        self.elapsed = end;
        Ok(())
    }

    /// Handles all events of the current time.
    fn settle_instant(&mut self) -> Result<(), Breach> {
        loop {
            while let Some(FlyingFrame { to, bytes, .. }) = self.queue.pop_front() {
                if self.ring.nodes[to].can_receive() {
                    self.give_input(to, &Input::Frame(bytes, Duration::ZERO))?;
                }
            }
            let Some((at, command)) = self.next_command() else {
                return Ok(());
            };
            self.give_input(at, &Input::Command(command))?;
        }
    }

    /// Returns the command of a program whose work ends at the current time.
    fn next_command(&self) -> Option<(usize, Command)> {
        let mut nodes = self.ring.nodes.iter().enumerate();
        nodes.find_map(|(at, node)| {
            if node.wants && node.machine.may_use() {
                return Some((at, Command::WorkDone));
            }
            let holds = |it: &&LockHolder| it.claim.is_some() && !it.is_orphan;
            let holder = node.programs.iter().find(holds);
            let holder = holder.filter(|_| self.ends_programs)?;
            Some((at, Command::ReleaseLock(holder.session)))
        })
    }

    fn give_input(&mut self, at: usize, input: &Input) -> Result<(), Breach> {
        self.at_once += 1;
        if self.at_once > EVENTS_AT_ONCE_MAX {
            return Err(Breach::Busy);
        }
        let time = self.began[at] + self.elapsed;
        let node = &self.ring.nodes[at];
        let outcome = Outcome::of(self.scenario, at, node, input, (time, false));
        let sent = self.ring.apply(self.scenario, at, &outcome);
        self.queue.extend(sent);
        self.ring.breach.take().map_or(Ok(()), Err)
    }

    /// Returns the next timeout: its time since the beginning, and its node.
    fn next_due(&self) -> Option<(Duration, usize)> {
        let nodes = self.ring.nodes.iter().enumerate();
        nodes
            .filter(|(_, node)| node.running)
            .filter_map(|(at, node)| Some((node.deadline()?.since(self.began[at]), at)))
            .map(|(due, at)| (due.max(self.elapsed), at))
            .min()
    }

    /// Whether exactly one token exists, and all connected nodes know this token.
    fn is_settled(&self) -> bool {
        let mut tokens = self
            .ring
            .nodes
            .iter()
            .filter_map(|node| node.machine.held());
        let one = tokens
            .next()
            .is_some_and(|first| tokens.all(|token| token.same_chain(&first)));
        let mut hearing = self.ring.nodes.iter().filter(|node| node.can_receive());
        one && hearing.all(|node| matches!(node.machine.state(), State::Owner | State::Waiter))
    }

    /// Checks that handovers leave time in which a node can use the token.
    fn check_token_used(&self) -> Result<(), Breach> {
        let out_of_use = self.elapsed.saturating_sub(self.usable);
        let in_use = out_of_use <= self.scenario.waiter_timeout();
        in_use.then_some(()).ok_or(Breach::OutOfUse)
    }

    /// Waits until every member may agree to tables of named locks, and then takes the first locks of the scenario.
    fn take_first_locks(&mut self) -> Result<(), Breach> {
        let plan = self.scenario.locks;
        if plan.is_empty() {
            return Ok(());
        }
        self.run_for(self.scenario.warm_up())?;
        for take in 0..plan.held {
            if let Some((at, take)) = plan.command(take) {
                self.ring.locks.taken += 1;
                self.give_input(at, &Input::Command(take))?;
            }
        }
        self.run_for(self.scenario.waiter_timeout())
    }

    /// Checks that each waiting program gets its lock, if a majority of the ring lives. After the end of all programs,
    /// no table may have a record.
    fn check_locks(&mut self) -> Result<(), Breach> {
        let limit = self.elapsed + self.scenario.lock_limit();
        while !self.scenario.locks.is_empty() {
            let nodes = self.ring.nodes.iter().enumerate();
            let nodes: Vec<_> = nodes.filter(|(_, node)| node.can_receive()).collect();
            if 2 * nodes.len() <= self.ring.nodes.len() {
                return Ok(());
            }
            let waiting = nodes.iter().find(|(_, node)| !node.programs.is_empty());
            let waiting = waiting.map(|&(node, _)| Breach::LockNotServed { node });
            let mut with_record = nodes.iter();
            let with_record = with_record.find(|(_, node)| !node.machine.lock_views().is_empty());
            let remaining = with_record.map(|&(node, _)| Breach::LockRemains { node });
            match waiting.or(remaining) {
                None => return Ok(()),
                Some(breach) if self.elapsed >= limit => return Err(breach),
                Some(_) => self.run_for(self.scenario.waiter_timeout())?,
            }
        }
        Ok(())
    }

    fn check_all_served(&self) -> Result<(), Breach> {
        let starves = |node: &_| -> bool {
            let node: &crate::node::Node = node;
            node.can_receive() && node.wants
        };
        let node = self.ring.nodes.iter().position(|node| starves(node));
        node.map_or(Ok(()), |node| Err(Breach::NotServed { node }))
    }

    fn check_tables_equal(&self) -> Result<(), Breach> {
        let nodes = self.ring.nodes.iter().enumerate();
        let mut hearing = nodes.filter(|(_, node)| node.can_receive());
        let Some((first, reference)) = hearing.next() else {
            return Ok(());
        };
        let table =
            |machine: &dyn AnyMachine| (machine.digest(), machine.members_in_order().is_some());
        let other = hearing
            .find(|(_, node)| table(node.machine.as_ref()) != (reference.machine.digest(), true));
        other.map_or(Ok(()), |(other, _)| {
            let nodes = [first, other];
            Err(Breach::TablesDiffer { nodes })
        })
    }
}
