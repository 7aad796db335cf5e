//! The run after the faults: all datagrams arrive at once, dead processes start again, and stalled processes continue.
//! From every state, each client must get the token in time.

use std::sync::Arc;
use std::time::Duration;

use ring_codec::ftn::ServerState;
use ring_proto::time::Instant;

use super::breach::Breach;
use super::group::Group;
use super::node::{Input, Node, ProgramAction};
use super::outcome::Outcome;
use super::setup::Setup;

/// The maximum number of events at one time. Groups of this size need fewer events.
const EVENTS_AT_ONCE_MAX: usize = 1_000;

/// A run without faults that begins in a given state.
pub(super) struct Fair<'a> {
    setup: &'a Setup,
    group: Group,
    began: Instant,
    at_once: usize,
    /// The number of nodes that run.
    present: usize,
}

impl<'a> Fair<'a> {
    fn from(setup: &'a Setup, group: &Group) -> Self {
        let mut group = group.clone();
        // Datagrams that wait in sockets and late datagrams arrive now.
        let mut late = std::mem::take(&mut group.late);
        group.frames.append(&mut late);
        let began = group.now;
        Self {
            setup,
            group,
            began,
            at_once: 0,
            present: setup.scenario.nodes(),
        }
    }

    /// Returns a formed group: all servers are READY, all clients are live, and no datagram is under way.
    ///
    /// # Panics
    /// Panics if the group does not form.
    pub(super) fn form(setup: &Setup) -> Group {
        let mut fair = Fair::from(setup, &Group::new(setup));
        fair.present -= setup.scenario.absent;
        let mut formed = fair.run(|setup, group| is_formed(setup, group, setup.scenario.absent));
        if let (Ok(()), true) = (&formed, setup.scenario.is_held) {
            let at = setup.scenario.servers;
            let access = setup.scenario.access(at);
            let request = fair.give_input(at, &Input::ProgramAction(ProgramAction::Ask(access)));
            formed = request.and_then(|()| fair.settle()).map_err(Some);
        }
        assert!(formed.is_ok(), "the group does not form: {:?}", fair.group);
        fair.group
    }

    /// Runs until each client has got the token. Returns the duration of this run.
    pub(super) fn recover(setup: &'a Setup, group: &Group) -> Result<Duration, Breach> {
        let mut fair = Self::from(setup, group);
        for node in &mut fair.group.nodes {
            if node.stopped.is_some() {
                *node = Arc::new(node.after_stall());
            }
        }
        let mut waiting: Vec<usize> = (setup.scenario.servers..setup.scenario.nodes()).collect();
        while let Some(&at) = waiting.first() {
            // The client's earlier request ends first.
            fair.run(|_, group| {
                let node = &group.nodes[at];
                node.is_live() && !node.program.is_busy
            })
            .map_err(|breach| breach.unwrap_or(fair.not_served_breach(at)))?;
            let access = setup.scenario.access(at);
            fair.give_input(at, &Input::ProgramAction(ProgramAction::Ask(access)))?;
            fair.run(|_, group| !group.nodes[at].program.is_busy)
                .map_err(|breach| breach.unwrap_or(fair.not_served_breach(at)))?;
            waiting.remove(0);
        }
        Ok(fair.elapsed())
    }

    fn elapsed(&self) -> Duration {
        self.group.now.since(self.began)
    }

    fn not_served_breach(&self, node: usize) -> Breach {
        let after = self.elapsed();
        Breach::NotServed { node, after }
    }

    /// Runs until the condition `so` is true. Returns `Err(None)` if the condition does not become true in time.
    fn run(&mut self, so: impl Fn(&Setup, &Group) -> bool) -> Result<(), Option<Breach>> {
        loop {
            self.settle_instant()?;
            if so(self.setup, &self.group) {
                return Ok(());
            }
            let nodes = self.group.nodes.iter().enumerate();
            let next = nodes.filter_map(|(at, node)| Some((node.deadline(self.setup, at)?, at)));
            let (due, at) = next.min().ok_or(None)?;
            if due > self.began + self.setup.scenario.recovery_limit() {
                return Err(None);
            }
            if due > self.group.now {
                self.group.now = due;
                self.at_once = 0;
            }
            self.give_input(at, &Input::TimeOut)?;
        }
    }

    /// Handles all events of the current time.
    fn settle_instant(&mut self) -> Result<(), Breach> {
        loop {
            self.settle()?;
            let Some(at) = self.holder() else {
                return Ok(());
            };
            self.give_input(at, &Input::ProgramAction(ProgramAction::Give(None)))?;
        }
    }

    /// Delivers all datagrams.
    fn settle(&mut self) -> Result<(), Breach> {
        loop {
            let mut present = self.group.nodes.iter().take(self.present);
            if let Some(at) = present.position(|it| it.station.is_none()) {
                self.give_input(at, &Input::Begin)?;
            } else if !self.group.frames.is_empty() {
                let flying = self.group.frames.remove(0);
                if let Some(at) = self.group.at(self.setup, flying.to) {
                    let age = self.group.now.since(flying.at);
                    let before = self.group.seen;
                    self.give_input(at, &Input::Datagram(flying.from, flying.bytes, age))?;
                    if flying.is_of_lost_memory {
                        self.group.revoke_certainty(self.setup, at, before);
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Returns a client that holds the token and has not begun to return it.
    fn holder(&self) -> Option<usize> {
        let gives = |(at, node): (usize, &Arc<Node>)| {
            let holds = node.holding(self.setup, at, self.group.now).is_some();
            (holds && !node.program.leaving).then_some(at)
        };
        self.group.nodes.iter().enumerate().find_map(gives)
    }

    fn give_input(&mut self, at: usize, input: &Input) -> Result<(), Breach> {
        self.at_once += 1;
        if self.at_once > EVENTS_AT_ONCE_MAX {
            return Err(Breach::Busy);
        }
        let node = Arc::clone(&self.group.nodes[at]);
        let outcome = Outcome::of(self.setup, at, &node, input, self.group.now);
        self.group.apply(self.setup, at, &outcome);
        self.group.breach.take().map_or(Ok(()), Err)
    }
}

/// Whether all servers are READY and agree, and all clients are live.
fn is_formed(setup: &Setup, group: &Group, absent: usize) -> bool {
    let present = group.nodes.iter().take(setup.scenario.nodes() - absent);
    present.enumerate().all(|(at, node)| {
        let Some(server) = node.server() else {
            return node.is_live();
        };
        let it = server.snapshot(setup.scenario.local(at, group.now));
        let all_ready = it.states.iter().all(|state| *state == ServerState::Ready);
        it.state == ServerState::Ready && it.survey.is_none() && all_ready && it.authority
    })
}
