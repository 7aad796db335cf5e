//! The run after the faults: the segment is whole, every frame arrives at once, clocks go at one
//! speed, and whoever crashed, has no link or a narrow one stays so. From every state it must lead to one owner in time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ring_proto::lab2::{Command, State};
use ring_proto::time::Instant;

use crate::breach::Breach;
use crate::machine::AnyMachine;
use crate::node::{Input, Trouble};
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use crate::state::{Flying, Ring};

/// More events at one time than any ring of this size has use for.
const MAX_AT_ONCE: usize = 1_000;

/// A run in which nothing goes wrong from some point on.
pub struct Fair<'a> {
    scenario: &'a Scenario,
    ring: Ring,
    queue: VecDeque<Flying>,
    /// Every node's clock at the beginning: they need not agree.
    began: Vec<Instant>,
    elapsed: Duration,
    /// When the ring was last without a single owner.
    unsettled: Duration,
    /// When a node could last use a token.
    usable: Duration,
    at_once: usize,
}

impl<'a> Fair<'a> {
    /// From a state in which much may be under way.
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
        }
    }

    /// Starts every node and lets the ring form, on each side of the segment by itself.
    ///
    /// # Errors
    /// The first rule that was broken.
    pub fn form(mut self) -> Result<Ring, Breach> {
        for at in 0..self.ring.nodes.len() {
            self.give(at, &Input::Link(true))?;
        }
        self.run(2 * self.scenario.recovery_limit())?;
        let mut nodes = self.ring.nodes.iter();
        let owner = nodes.position(|node| node.machine.may_use());
        if let Some(owner) = owner.filter(|_| self.scenario.data > 0) {
            let data = Command::SetData(vec![1; self.scenario.data]);
            self.give(owner, &Input::Command(data))?;
            self.settle_instant()?;
        }
        Ok(self.ring)
    }

    /// Runs until all must be well, and some time on; how long it took until there was one owner.
    ///
    /// # Errors
    /// The first rule that was broken.
    pub fn recover(mut self) -> Result<Duration, Breach> {
        for at in 0..self.ring.nodes.len() {
            let node = &self.ring.nodes[at];
            let told = node.trouble == Some(Trouble::Narrow) && node.connected;
            if node.trouble.is_some() {
                self.ring.nodes[at] = Arc::new(node.mended());
            }
            if told {
                self.give(at, &Input::Link(true))?;
            }
        }
        if !self.ring.nodes.iter().any(|node| node.hears()) {
            return Ok(Duration::ZERO);
        }
        self.ring.sides.fill(0);
        let limit = self.scenario.recovery_limit();
        self.run(limit + 4 * self.scenario.patience())?;
        if self.unsettled > limit {
            let after = self.unsettled;
            return Err(Breach::NotRecovered { after });
        }
        self.token_usable()?;
        self.all_served()?;
        self.tables_equal()?;
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
            self.give(at, &Input::TimeOut)?;
        }
    }

    /// Everything that happens before time goes on.
    fn settle_instant(&mut self) -> Result<(), Breach> {
        loop {
            while let Some(Flying { to, bytes, .. }) = self.queue.pop_front() {
                if self.ring.nodes[to].hears() {
                    self.give(to, &Input::Frame(bytes, Duration::ZERO))?;
                }
            }
            let mut nodes = self.ring.nodes.iter();
            let Some(at) = nodes.position(|node| node.wants && node.machine.may_use()) else {
                return Ok(());
            };
            self.give(at, &Input::Command(Command::WorkDone))?;
        }
    }

    fn give(&mut self, at: usize, input: &Input) -> Result<(), Breach> {
        self.at_once += 1;
        if self.at_once > MAX_AT_ONCE {
            return Err(Breach::Busy);
        }
        let time = self.began[at] + self.elapsed;
        let node = &self.ring.nodes[at];
        let outcome = Outcome::of(self.scenario, at, node, input, (time, false));
        let said = self.ring.take(self.scenario, at, &outcome);
        self.queue.extend(said);
        self.ring.breach.take().map_or(Ok(()), Err)
    }

    /// How long after the beginning the next time-out is due, and whose it is.
    fn next_due(&self) -> Option<(Duration, usize)> {
        let nodes = self.ring.nodes.iter().enumerate();
        nodes
            .filter(|(_, node)| node.running)
            .filter_map(|(at, node)| Some((node.deadline()?.since(self.began[at]), at)))
            .map(|(due, at)| (due.max(self.elapsed), at))
            .min()
    }

    /// One token is about, and all who can hear of it know.
    fn is_settled(&self) -> bool {
        let mut tokens = self
            .ring
            .nodes
            .iter()
            .filter_map(|node| node.machine.held());
        let one = tokens
            .next()
            .is_some_and(|first| tokens.all(|token| token.same_chain(&first)));
        let mut hearing = self.ring.nodes.iter().filter(|node| node.hears());
        one && hearing.all(|node| matches!(node.machine.state(), State::Owner | State::Waiter))
    }

    /// A token that is passed for ever is of no use.
    fn token_usable(&self) -> Result<(), Breach> {
        let out_of_use = self.elapsed.saturating_sub(self.usable);
        let in_use = out_of_use <= self.scenario.patience();
        in_use.then_some(()).ok_or(Breach::OutOfUse)
    }

    fn all_served(&self) -> Result<(), Breach> {
        let starves = |node: &_| -> bool {
            let node: &crate::node::Node = node;
            node.hears() && node.wants
        };
        let node = self.ring.nodes.iter().position(|node| starves(node));
        node.map_or(Ok(()), |node| Err(Breach::NotServed { node }))
    }

    fn tables_equal(&self) -> Result<(), Breach> {
        let nodes = self.ring.nodes.iter().enumerate();
        let mut hearing = nodes.filter(|(_, node)| node.hears());
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
