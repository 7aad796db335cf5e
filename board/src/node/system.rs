//! A node, as the host sees it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use ring_control::{NoRequest, NodeStatus, Reply, Request};
use ring_host::{Answer, Error, LateLimits, NodeHealth, Onlookers, Server, ShutDown, System};
use ring_process::Client;
use ring_proto::andrews::{Andrews, Command, Listening};
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::{Environment, NoStore};
use ring_runtime::wait::{LINK, Waiting};
use tracing::info;

use super::audience::Audience;
use super::condition::Condition;
use super::link::Sockets;
use super::report;
use super::status::Status;
use super::web::Web;
use crate::database::{Complaint, Worker};

/// A node of a coordinated ring, but for its machine.
pub(super) struct Node {
    pub around: Surroundings,
    pub store: NoStore,
    pub audience: Audience,
    pub onlookers: Onlookers,
    /// Until the host has it.
    pub worker: Option<Worker>,
    pub web: Web,
}

/// What a status tells of beside the machine.
pub(super) struct Surroundings {
    pub link: Sockets,
    pub health: NodeHealth,
    pub late_wake_ups: u64,
    pub complaint: Arc<Complaint>,
}

impl Surroundings {
    fn status(&mut self, machine: &Andrews) -> Status {
        let datagrams = &mut self.link.datagrams;
        let mut troubles = Vec::new();
        if !datagrams.is_up() {
            let address = datagrams.address();
            troubles.push(format!(
                "cannot use {address}: no datagrams are sent or received"
            ));
        }
        troubles.extend(self.health.clock_trouble());
        let (drops, late) = (datagrams.drops(), self.late_wake_ups);
        Status::of(machine, drops, late, troubles, self.complaint.text())
    }
}

impl System for Node {
    type Machine = Andrews;
    type Link = Sockets;
    type Store = NoStore;
    type Observer = Audience;
    type Task = Worker;
    type Request = NoRequest;
    type Condition = Condition;

    fn environment(&mut self) -> Environment<'_, Sockets, NoStore, Audience> {
        Environment {
            link: Some(&mut self.around.link),
            store: &mut self.store,
            observer: &mut self.audience,
        }
    }

    fn task(&mut self) -> Option<Worker> {
        self.worker.take()
    }

    /// The datagrams come with the first look at the network.
    fn register(&mut self, waiting: &Waiting) -> Result<(), Error> {
        waiting.add(self.around.link.streams.network(), LINK)?;
        self.web.start(waiting)
    }

    fn network_readable(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn own_readable(&mut self, _: Now) -> Result<(), Error> {
        self.web.heard();
        Ok(())
    }

    fn poll_network(
        &mut self,
        now: Instant,
        waiting: &Waiting,
    ) -> Result<Option<Listening>, Error> {
        let Some(datagrams) = self.around.link.datagrams.look(now) else {
            return Ok(None);
        };
        waiting.add(datagrams, LINK)?;
        Ok(Some(Listening))
    }

    fn link_failed(&mut self, now: Instant, error: &io::Error) -> Listening {
        self.around.link.datagrams.fail(now, error);
        Listening
    }

    fn deadline(&self) -> Option<Instant> {
        let deadlines = [self.around.link.datagrams.deadline(), self.web.deadline()];
        deadlines.into_iter().flatten().min()
    }

    fn answer(
        &mut self,
        _: Now,
        client: Client,
        request: Request<NoRequest>,
        _: &mut Vec<OwnedFd>,
        machine: &Andrews,
    ) -> Answer<Command> {
        let recent = self.audience.history.recent();
        let latest = recent.latest();
        let reaction = self.onlookers.answer(client.id, &request, recent);
        reaction.answer(latest, || NodeStatus::from(&self.around.status(machine)))
    }

    fn poll_clients(
        &mut self,
        now: Now,
        server: &mut Server,
        machine: &Andrews,
    ) -> Option<Command> {
        let recent = self.audience.history.recent();
        self.onlookers.serve(now, server, recent, |entry, number| {
            Reply::Event(entry.message(number))
        });
        let around = &mut self.around;
        self.web
            .next(&mut self.audience.replies, || around.status(machine).json())
    }

    fn after_turn(&mut self, _: Now, machine: &Andrews) {
        if std::mem::take(&mut self.audience.has_news) {
            self.web.tell(|| self.around.status(machine).json());
        }
    }

    fn every_second(&mut self, now: Now) {
        let Surroundings { link, health, .. } = &mut self.around;
        health.look_at_drops(link.datagrams.drops().kernel);
        let history = &mut self.audience.history;
        health.look_at_clock(|event, text| history.trouble(now, event, text));
    }

    fn count_late_wake_up(&mut self) {
        self.around.late_wake_ups += 1;
    }

    fn late_limits(machine: &Andrews) -> LateLimits {
        let ack_timeout = machine.options().ack_timeout;
        LateLimits {
            noticed: ack_timeout / 2,
            harmful: ack_timeout,
        }
    }

    fn condition(&self, machine: &Andrews) -> Condition {
        Condition::of(machine.standing(), self.around.link.datagrams.is_up())
    }

    fn report(&mut self, _: Now, machine: &Andrews) {
        report::log(&self.around.status(machine));
    }

    fn leave(&mut self) -> &'static str {
        info!(
            event = "stopping",
            "shutting down: a token that is here goes on first"
        );
        "passing the token on"
    }

    fn is_busy(&self) -> bool {
        false
    }

    fn shut_down(machine: &Andrews) -> ShutDown<Command> {
        let options = machine.options();
        ShutDown {
            command: Command::ShutDown,
            // The machine itself gives up sooner.
            patience: options.ack_timeout + options.database_timeout + Duration::from_secs(1),
            last_word: Command::ShutDown,
        }
    }

    fn is_finished(machine: &Andrews) -> bool {
        machine.is_finished()
    }

    fn finish(&mut self, _: Now, _: &mut dyn FnMut() -> bool) {}
}
