//! A node, as the host sees it.

use std::io;
use std::os::fd::OwnedFd;

use ring_control::lab2::RingRequest;
use ring_control::{NodeStatus, Request};
use ring_host::hooks::Hooks;
use ring_host::{Answer, Error, LateLimits, NETWORK, NoTask, Server, ShutDown, System};
use ring_process::Client;
use ring_process::RingLock;
use ring_proto::LinkState;
use ring_proto::lab2::{Command, Lab2};
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::Environment;
use ring_runtime::net::PacketSocket;
use ring_runtime::wait::{LINK, Waiting};
use tracing::info;

use super::attachment::Step;
use super::change::Change;
use super::condition::Condition;
use super::report;
use super::service::Service;
use super::state_file::StateFile;
use super::surroundings::{Audience, Surroundings};
use crate::system::record_file::warn_unless_synced;

/// A node of a ring, but for its machine.
#[derive(Debug)]
pub(super) struct Node {
    around: Surroundings,
    service: Service,
    hooks: Hooks<Change>,
    _lock: RingLock,
}

impl Node {
    /// Makes the node that holds the ring's `lock`.
    pub(super) const fn new(
        around: Surroundings,
        service: Service,
        hooks: Hooks<Change>,
        lock: RingLock,
    ) -> Self {
        Self {
            around,
            service,
            hooks,
            _lock: lock,
        }
    }
}

impl System for Node {
    type Machine = Lab2;
    type Link = PacketSocket;
    type Store = StateFile;
    type Observer = Audience;
    type Task = NoTask<Command>;
    type Request = RingRequest;
    type Condition = Condition;

    fn environment(&mut self) -> Environment<'_, PacketSocket, StateFile, Audience> {
        self.around.environment()
    }

    fn task(&mut self) -> Option<NoTask<Command>> {
        None
    }

    /// The link comes with the first look at the network.
    fn register(&mut self, waiting: &Waiting) -> Result<(), Error> {
        Ok(waiting.add(self.around.attachment.watch(), NETWORK)?)
    }

    fn network_readable(&mut self) -> Result<(), Error> {
        let heard = self.around.attachment.heard();
        heard.map_err(Error::system("hear of changes to the interfaces"))
    }

    fn poll_network(
        &mut self,
        now: Instant,
        waiting: &Waiting,
    ) -> Result<Option<LinkState>, Error> {
        let Some(step) = self.around.attachment.look(now) else {
            return Ok(None);
        };
        if let (Step::Opened(_), Some(socket)) = (step, self.around.attachment.socket()) {
            waiting.add(&*socket, LINK)?;
        }
        Ok(Some(step.link()))
    }

    fn link_failed(&mut self, now: Instant, error: &io::Error) -> LinkState {
        self.around.attachment.fail(now, error).link()
    }

    fn deadline(&self) -> Option<Instant> {
        let deadlines = [
            self.service.deadline(),
            self.hooks.deadline(),
            self.around.attachment.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    fn answer(
        &mut self,
        now: Now,
        client: Client,
        request: Request<RingRequest>,
        descriptors: &mut Vec<OwnedFd>,
        machine: &Lab2,
    ) -> Answer<Command> {
        let Self {
            around, service, ..
        } = self;
        let history = &around.audience.history;
        let latest = history.recent().latest();
        let reaction = service.answer(now, client, request, descriptors, machine, history);
        reaction.answer(latest, || {
            NodeStatus::from(&around.status(now, machine, service))
        })
    }

    fn poll_clients(&mut self, now: Now, server: &mut Server, machine: &Lab2) -> Option<Command> {
        let history = &mut self.around.audience.history;
        self.service.serve_clients(now, server, machine, history)
    }

    fn after_turn(&mut self, now: Now, machine: &Lab2) {
        let addresses = &mut self.around.audience.member_addresses;
        addresses.tell(now.monotonic, machine);
        self.hooks
            .tell(now.monotonic, &self.around.audience.history);
    }

    fn every_second(&mut self, now: Now) {
        self.around.tidy(now);
    }

    fn count_late_wake_up(&mut self) {
        self.around.audience.observers.tally.late_wake_up();
    }

    fn late_limits(machine: &Lab2) -> LateLimits {
        let constants = machine.constants();
        LateLimits {
            noticed: constants.take_timeout,
            harmful: constants.waiter_timeout(),
        }
    }

    fn condition(&self, machine: &Lab2) -> Condition {
        Condition::of(machine, self.around.attachment.loss().is_none())
    }

    fn report(&mut self, now: Now, machine: &Lab2) {
        let status = self.around.status(now, machine, &self.service);
        report::log(&status, machine.token());
    }

    fn leave(&mut self) -> &'static str {
        info!(
            event = "stopping",
            "shutting down: the token goes to another member first"
        );
        self.service.leave();
        "handing the token over"
    }

    fn is_busy(&self) -> bool {
        self.service.is_held()
    }

    fn shut_down(machine: &Lab2) -> ShutDown<Command> {
        ShutDown {
            command: Command::ShutDown,
            patience: machine.constants().waiter_timeout(),
            last_word: Command::Leave,
        }
    }

    fn is_finished(machine: &Lab2) -> bool {
        machine.is_finished()
    }

    fn finish(&mut self, now: Now, is_over: &mut dyn FnMut() -> bool) {
        warn_unless_synced(self.around.store.sync());
        self.hooks
            .finish(now, &self.around.audience.history, is_over);
    }
}
