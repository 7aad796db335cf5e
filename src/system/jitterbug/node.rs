//! The parts of a Jitterbug node that the host needs, except the state machine.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use ring_config::Configured;
use ring_control::jitterbug::{JitterbugRequest, Status};
use ring_control::{NodeStatus, Request};
use ring_host::hooks::Hooks;
use ring_host::observe::LogOutput;
use ring_host::trust::RefusedMessages;
use ring_host::{Answer, Error, LateLimits, NETWORK, NodeHealth, Reload, Server, ShutDown, System};
use ring_process::Client;
use ring_proto::jitterbug::{Command, Jitterbug, NetworkState};
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::{Environment, NoStore};
use ring_runtime::wait::{LINK, Reactor};
use tracing::info;

use super::Options;
use super::condition::Condition;
use super::health::findings;
use super::hook_change::Change;
use super::link::{SegmentLink, Sockets};
use super::observers::Observers;
use super::programs::Programs;
use super::report;
use super::service::Service;
use super::status::status;
use crate::system::PROGRAM;
use crate::system::jitterbug::events;

/// The options that change without a restart.
const ADJUSTABLE: [&str; 3] = ["accept-unsigned", "key-file", "verbose"];

#[derive(Debug)]
pub(super) struct Node {
    pub configured: Configured<Options>,
    pub refused_messages: RefusedMessages<SocketAddr>,
    pub interface: String,
    pub link: SegmentLink,
    pub store: NoStore,
    pub observers: Observers,
    pub health: NodeHealth,
    pub service: Service,
    pub hooks: Option<Hooks<Change>>,
    /// The commands of `--compute` and `--decide`; `None` after the worker takes them.
    pub programs: Option<Programs>,
}

impl Node {
    fn status(&mut self, machine: &Jitterbug) -> Status {
        let (cut, port) = (self.link.drops().cut, self.link.tcp_port());
        let mut findings = findings(
            &self.interface,
            &machine.snapshot(),
            self.observers.starvation,
        );
        findings.extend(self.refused_messages.finding());
        let mut status = status(
            &self.interface,
            machine,
            (cut, port),
            self.link.signer(),
            findings,
        );
        status.config = self.configured.status();
        status
    }
}

impl System for Node {
    type Machine = Jitterbug;
    type Link = Sockets;
    type Store = NoStore;
    type Observer = Observers;
    type Task = Programs;
    type Request = JitterbugRequest;
    type Condition = Condition;

    fn environment(&mut self) -> Environment<'_, Sockets, NoStore, Observers> {
        Environment {
            link: self.link.sockets(),
            store: &mut self.store,
            observer: &mut self.observers,
        }
    }

    fn task(&mut self) -> Option<Programs> {
        self.programs.take()
    }

    /// Registers the interface watch. `poll_network` registers the sockets.
    fn register(&mut self, waiting: &Reactor) -> Result<(), Error> {
        Ok(waiting.add(self.link.watch(), NETWORK)?)
    }

    fn on_network_readable(&mut self) -> Result<(), Error> {
        let drain_watch = self.link.drain_watch();
        drain_watch.map_err(Error::system("hear of changes to the interfaces"))
    }

    fn poll_network(
        &mut self,
        now: Instant,
        waiting: &Reactor,
    ) -> Result<Option<NetworkState>, Error> {
        let Some(news) = self.link.poll_change(now) else {
            return Ok(None);
        };
        if news.are_sockets_new
            && let Some(sockets) = self.link.sockets()
        {
            waiting.add(sockets.datagrams.link(), LINK)?;
            waiting.add(sockets.streams.network(), LINK)?;
        }
        Ok(Some(news.net))
    }

    fn on_link_failed(&mut self, now: Instant, error: &io::Error) -> NetworkState {
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
        let history = &self.observers.history;
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
        let ends = self.observers.use_losses;
        let history = &mut self.observers.history;
        self.service
            .serve_clients(now, server, (machine, ends), history)
    }

    fn reload(&mut self, log: &LogOutput) -> Reload<Command> {
        let mut options = self.configured.options().clone();
        ring_host::reload(PROGRAM, &mut self.configured, &ADJUSTABLE, |new| {
            options.adjust(new);
            options.check().map_err(|error| error.to_string())?;
            let trust = options.keys.trust().map_err(|error| error.to_string())?;
            self.link.set_trust(trust)?;
            Ok(options)
        });
        let verbose = self.configured.options().verbose;
        log.set_verbose(verbose);
        self.observers.log.set_verbose(verbose);
        Reload::Done(None)
    }

    fn on_iteration_end(&mut self, now: Now, _: &Jitterbug) {
        if let Some(hooks) = &mut self.hooks {
            hooks.notify(now.monotonic, &self.observers.history);
        }
    }

    fn on_second(&mut self, now: Now) {
        self.health.update_drops(self.link.drops().kernel);
        self.link.collect_refused_streams();
        self.refused_messages
            .update(now.monotonic, self.link.signer());
        let history = &mut self.observers.history;
        self.health
            .check_clock(|event, text| history.add_problem(now, event, text));
    }

    /// Does nothing: the host logs late wake-ups, and the machine counts a long delay as a stall.
    fn count_late_wake_up(&mut self, _late: Duration) {}

    fn late_limits(machine: &Jitterbug) -> LateLimits {
        let lease = machine.lease();
        LateLimits {
            log_after: lease / 2,
            fail_after: lease,
        }
    }

    fn condition(&self, machine: &Jitterbug) -> Condition {
        Condition::of(self.link.is_up(), machine.summary())
    }

    fn report(&mut self, _: Now, machine: &Jitterbug) {
        report::log(&self.status(machine));
    }

    fn begin_shutdown(&mut self) -> &'static str {
        info!(
            event = events::STOPPING,
            "shutting down: a leader hands the token over first"
        );
        self.service.leave();
        "handing the token over"
    }

    fn is_busy(&self) -> bool {
        self.service.is_held()
    }

    fn shut_down(machine: &Jitterbug) -> ShutDown<Command> {
        ShutDown {
            command: Command::ShutDown,
            // The machine gives up a pass before this time.
            timeout: 3 * machine.options().token_pass_timeout,
            last_command: Command::ShutDown,
        }
    }

    fn is_finished(machine: &Jitterbug) -> bool {
        machine.is_finished()
    }

    fn finish(&mut self, now: Now, is_over: &mut dyn FnMut() -> bool) {
        if let Some(hooks) = &mut self.hooks {
            hooks.finish(now, &self.observers.history, is_over);
        }
    }
}
