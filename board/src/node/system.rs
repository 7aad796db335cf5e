//! A node as a system of the host.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use ring_config::Configured;
use ring_control::{Finding, NoRequest, NodeStatus, Reply, Request};
use ring_host::observe::LogOutput;
use ring_host::troubles::CLOCK_RATE;
use ring_host::trust::RefusedMessages;
use ring_host::{
    Answer, Error, LateLimits, NodeHealth, Onlookers, Reload, Server, ShutDown, System,
};
use ring_process::Client;
use ring_proto::andrews::{Andrews, Command, NodeList, SocketsBound};
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::{Environment, NoStore};
use ring_runtime::wait::{LINK, Reactor};
use tracing::info;

use super::condition::Condition;
use super::link::{Sockets, set_trust};
use super::observer::EventObserver;
use super::page::PageCalls;
use super::report;
use super::start::{PASSWORD_REFUSAL, PROGRAM};
use super::status::{Status, Surroundings};
use crate::database::{CurrentFault, Worker};
use crate::events;
use crate::options::Options;
use crate::troubles;

/// The options that change without a restart.
const ADJUSTABLE: [&str; 3] = ["accept-unsigned", "key-file", "verbose"];

/// All parts of a node except the state machine.
pub(super) struct Node {
    pub configured: Box<Configured<Options>>,
    pub sources: StatusSources,
    pub store: NoStore,
    pub observer: EventObserver,
    pub onlookers: Onlookers,
    /// The worker; `None` after the host has taken it.
    pub worker: Option<Worker>,
    pub page: PageCalls,
}

/// The parts of a node that the status describes in addition to the state machine.
pub(super) struct StatusSources {
    pub link: Sockets,
    pub nodes: NodeList,
    pub refused_messages: RefusedMessages<SocketAddr>,
    pub health: NodeHealth,
    pub late_wake_ups: u64,
    pub current_fault: Arc<CurrentFault>,
}

impl StatusSources {
    fn status(&mut self, machine: &Andrews) -> Status {
        let datagrams = self.link.datagrams.link_mut();
        let mut findings = Vec::new();
        if !datagrams.is_up() {
            let address = datagrams.address();
            findings.push(Finding::new(
                &troubles::LINK_FAILED,
                format!(
                    "cannot use {address}: this node sends and receives no datagrams; check that the machine has \
                      this address"
                ),
            ));
        }
        let clock = self.health.clock_problem();
        findings.extend(clock.map(|text| Finding::new(&CLOCK_RATE, text)));
        findings.extend(self.refused_messages.finding());
        let surroundings = Surroundings {
            drops: datagrams.drops(),
            late_wake_ups: self.late_wake_ups,
            signer: self.link.datagrams.signer(),
            streams: &self.link.streams,
            nodes: &self.nodes,
        };
        Status::of(machine, &surroundings, findings, self.current_fault.text())
    }
}

impl System for Node {
    type Machine = Andrews;
    type Link = Sockets;
    type Store = NoStore;
    type Observer = EventObserver;
    type Task = Worker;
    type Request = NoRequest;
    type Condition = Condition;

    fn environment(&mut self) -> Environment<'_, Sockets, NoStore, EventObserver> {
        Environment {
            link: Some(&mut self.sources.link),
            store: &mut self.store,
            observer: &mut self.observer,
        }
    }

    fn task(&mut self) -> Option<Worker> {
        self.worker.take()
    }

    /// Registers the sockets for connections. The first check of the network registers the sockets for datagrams.
    fn register(&mut self, waiting: &Reactor) -> Result<(), Error> {
        waiting.add(self.sources.link.streams.network(), LINK)?;
        self.page.start(waiting)
    }

    fn on_network_readable(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn on_system_readable(&mut self, _: Now) -> Result<(), Error> {
        self.page.drain();
        Ok(())
    }

    fn poll_network(
        &mut self,
        now: Instant,
        waiting: &Reactor,
    ) -> Result<Option<SocketsBound>, Error> {
        let Some(datagrams) = self.sources.link.datagrams.link_mut().poll_socket(now) else {
            return Ok(None);
        };
        waiting.add(datagrams, LINK)?;
        Ok(Some(SocketsBound))
    }

    fn on_link_failed(&mut self, now: Instant, error: &io::Error) -> SocketsBound {
        self.sources.link.datagrams.link_mut().fail(now, error);
        SocketsBound
    }

    fn deadline(&self) -> Option<Instant> {
        let datagrams = self.sources.link.datagrams.link();
        let deadlines = [datagrams.deadline(), self.page.deadline()];
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
        let recent = self.observer.history.recent();
        let latest = recent.latest();
        let reaction = self.onlookers.answer(client.id, &request, recent);
        let configured = &self.configured;
        reaction.answer(latest, || {
            let status = self.sources.status(machine);
            NodeStatus::from(&status.with_config(configured.status()))
        })
    }

    fn poll_clients(
        &mut self,
        now: Now,
        server: &mut Server,
        machine: &Andrews,
    ) -> Option<Command> {
        let recent = self.observer.history.recent();
        self.onlookers.serve(now, server, recent, |entry, number| {
            Reply::Event(entry.message(number))
        });
        let sources = &mut self.sources;
        self.page.next_command(&mut self.observer.replies, || {
            sources.status(machine).json()
        })
    }

    fn reload(&mut self, log: &LogOutput) -> Reload<Command> {
        let sockets = &mut self.sources.link;
        let mut options = self.configured.options().clone();
        ring_host::reload(PROGRAM, &mut self.configured, &ADJUSTABLE, |new| {
            options.adjust(new);
            options.keys.check().map_err(|error| error.to_string())?;
            // The log would show the new value.
            if new.database.has_password() {
                return Err(PASSWORD_REFUSAL.to_owned());
            }
            let trust = options.keys.trust().map_err(|error| error.to_string())?;
            set_trust(sockets, &trust)?;
            Ok(options)
        });
        let verbose = self.configured.options().verbose;
        log.set_verbose(verbose);
        self.observer.log.set_verbose(verbose);
        Reload::Done(None)
    }

    fn on_iteration_end(&mut self, _: Now, machine: &Andrews) {
        if std::mem::take(&mut self.observer.has_status_changed) {
            self.page
                .publish_status(|| self.sources.status(machine).json());
        }
    }

    fn on_second(&mut self, now: Now) {
        let StatusSources {
            link,
            health,
            refused_messages,
            ..
        } = &mut self.sources;
        health.update_drops(link.datagrams.link_mut().drops().kernel);
        if let Some(signer) = link.datagrams.signer_mut() {
            signer.collect_refused(link.streams.network_mut());
        }
        refused_messages.update(now.monotonic, link.datagrams.signer());
        let history = &mut self.observer.history;
        health.check_clock(|event, text| history.add_problem(now, event, text));
    }

    fn count_late_wake_up(&mut self, _late: Duration) {
        self.sources.late_wake_ups += 1;
    }

    fn late_limits(machine: &Andrews) -> LateLimits {
        let ack_timeout = machine.options().ack_timeout;
        LateLimits {
            log_after: ack_timeout / 2,
            fail_after: ack_timeout,
        }
    }

    fn condition(&self, machine: &Andrews) -> Condition {
        Condition::of(
            machine.summary(),
            self.sources.link.datagrams.link().is_up(),
        )
    }

    fn report(&mut self, _: Now, machine: &Andrews) {
        report::log(&self.sources.status(machine));
    }

    fn begin_shutdown(&mut self) -> &'static str {
        info!(
            event = events::STOPPING,
            "shutting down: if this node holds the token, it passes the token on first"
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
            // The state machine gives up earlier, so this limit is only a safeguard.
            timeout: options.ack_timeout + options.database_timeout + Duration::from_secs(1),
            last_command: Command::ShutDown,
        }
    }

    fn is_finished(machine: &Andrews) -> bool {
        machine.is_finished()
    }

    fn finish(&mut self, _: Now, _: &mut dyn FnMut() -> bool) {}
}
