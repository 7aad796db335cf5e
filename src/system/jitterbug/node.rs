//! A node, as the host sees it.

use std::io;
use std::os::fd::OwnedFd;

use ring_control::jitterbug::{JitterbugRequest, Status};
use ring_control::{NodeStatus, Request};
use ring_host::hooks::Hooks;
use ring_host::{Answer, Error, LateLimits, NETWORK, NodeHealth, Server, ShutDown, System};
use ring_process::Client;
use ring_proto::jitterbug::{Command, Jitterbug, Net};
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::{Environment, NoStore};
use ring_runtime::wait::{LINK, Waiting};
use tracing::info;

use super::audience::Audience;
use super::change::Change;
use super::condition::Condition;
use super::link::{SegmentLink, Sockets};
use super::programs::Programs;
use super::report;
use super::service::Service;
use super::status::status;

/// A node of a Jitterbug ring, but for its machine.
#[derive(Debug)]
pub(super) struct Node {
    pub interface: String,
    pub link: SegmentLink,
    pub store: NoStore,
    pub audience: Audience,
    pub health: NodeHealth,
    pub service: Service,
    pub hooks: Option<Hooks<Change>>,
    /// Until the worker has it.
    pub programs: Option<Programs>,
}

impl Node {
    fn status(&mut self, machine: &Jitterbug) -> Status {
        let (cut, port) = (self.link.drops().cut, self.link.tcp_port());
        status(
            &self.interface,
            machine,
            (cut, port),
            self.audience.starvation,
        )
    }
}

impl System for Node {
    type Machine = Jitterbug;
    type Link = Sockets;
    type Store = NoStore;
    type Observer = Audience;
    type Task = Programs;
    type Request = JitterbugRequest;
    type Condition = Condition;

    fn environment(&mut self) -> Environment<'_, Sockets, NoStore, Audience> {
        Environment {
            link: self.link.sockets(),
            store: &mut self.store,
            observer: &mut self.audience,
        }
    }

    fn task(&mut self) -> Option<Programs> {
        self.programs.take()
    }

    /// The sockets come with the first look at the network.
    fn register(&mut self, waiting: &Waiting) -> Result<(), Error> {
        Ok(waiting.add(self.link.watch(), NETWORK)?)
    }

    fn network_readable(&mut self) -> Result<(), Error> {
        let heard = self.link.heard();
        heard.map_err(Error::system("hear of changes to the interfaces"))
    }

    fn poll_network(&mut self, now: Instant, waiting: &Waiting) -> Result<Option<Net>, Error> {
        let Some(news) = self.link.look(now) else {
            return Ok(None);
        };
        if news.are_sockets_new
            && let Some(sockets) = self.link.sockets()
        {
            waiting.add(&sockets.datagrams, LINK)?;
            waiting.add(sockets.streams.network(), LINK)?;
        }
        Ok(Some(news.net))
    }

    fn link_failed(&mut self, now: Instant, error: &io::Error) -> Net {
        self.link.fail(now, error)
    }

    fn deadline(&self) -> Option<Instant> {
        let deadlines = [
            self.service.deadline(),
            self.hooks.as_ref().and_then(Hooks::deadline),
            self.link.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    fn answer(
        &mut self,
        now: Now,
        client: Client,
        request: Request<JitterbugRequest>,
        descriptors: &mut Vec<OwnedFd>,
        machine: &Jitterbug,
    ) -> Answer<Command> {
        let history = &self.audience.history;
        let reaction = self
            .service
            .answer(now, client, request, descriptors, machine, history);
        let latest = history.recent().latest();
        reaction.answer(latest, || NodeStatus::from(&self.status(machine)))
    }

    fn poll_clients(
        &mut self,
        now: Now,
        server: &mut Server,
        machine: &Jitterbug,
    ) -> Option<Command> {
        let ends = self.audience.ends_of_use;
        let history = &mut self.audience.history;
        self.service
            .serve_clients(now, server, (machine, ends), history)
    }

    fn after_turn(&mut self, now: Now, _: &Jitterbug) {
        if let Some(hooks) = &mut self.hooks {
            hooks.tell(now.monotonic, &self.audience.history);
        }
    }

    fn every_second(&mut self, now: Now) {
        self.health.look_at_drops(self.link.drops().kernel);
        let history = &mut self.audience.history;
        self.health
            .look_at_clock(|event, text| history.trouble(now, event, text));
    }

    /// The host has logged it, and what a late loop costs is counted as a stall.
    fn count_late_wake_up(&mut self) {}

    fn late_limits(machine: &Jitterbug) -> LateLimits {
        let lease = machine.lease();
        LateLimits {
            noticed: lease / 2,
            harmful: lease,
        }
    }

    fn condition(&self, machine: &Jitterbug) -> Condition {
        Condition::of(self.link.is_up(), machine.standing())
    }

    fn report(&mut self, _: Now, machine: &Jitterbug) {
        report::log(&self.status(machine));
    }

    fn leave(&mut self) -> &'static str {
        info!(
            event = "stopping",
            "shutting down: a leader hands the token on first"
        );
        self.service.leave();
        "handing the token on"
    }

    fn is_busy(&self) -> bool {
        self.service.is_held()
    }

    fn shut_down(machine: &Jitterbug) -> ShutDown<Command> {
        ShutDown {
            command: Command::ShutDown,
            // The machine itself gives up a pass sooner.
            patience: 3 * machine.options().token_pass_timeout,
            last_word: Command::ShutDown,
        }
    }

    fn is_finished(machine: &Jitterbug) -> bool {
        machine.is_finished()
    }

    fn finish(&mut self, now: Now, is_over: &mut dyn FnMut() -> bool) {
        if let Some(hooks) = &mut self.hooks {
            hooks.finish(now, &self.audience.history, is_over);
        }
    }
}
