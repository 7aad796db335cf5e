//! The parts of a token server that the host needs, except the state machine.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use ring_config::Configured;
use ring_control::ftn::Status;
use ring_control::{Finding, NoRequest, NodeStatus, Reply, Request};
use ring_host::observe::LogOutput;
use ring_host::troubles::CLOCK_RATE;
use ring_host::trust::RefusedMessages;
use ring_host::{
    Answer, Error, LateLimits, NoTask, NodeHealth, Onlookers, Reload, Server, ShutDown, System,
};
use ring_process::Client;
use ring_proto::ftn::server::{Command, LEAVING_MAX, NetworkState, Server as Machine};
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::Environment;
use ring_runtime::wait::{LINK, Reactor};
use tracing::info;

use super::Options;
use super::addresses::Addresses;
use super::condition::Condition;
use super::health::set_verdict;
use super::observers::Observers;
use super::state_file::StateFile;
use super::status::{StatusInputs, status};
use super::trust::Link;
use super::{reload, report};
use crate::system::ftn::observe::{Names, describe_other_options};
use crate::system::ftn::{events, troubles};
use crate::system::record_file::warn_unless_synced;
use crate::system::troubles::STATE_REMOVED;
use crate::system::write_warnings::WriteWarnings;

/// Maximum time for leaving. The state machine itself leaves within [`LEAVING_MAX`]. The constant includes one second
/// for a stalled loop.
const SHUTDOWN_TIMEOUT: Duration = LEAVING_MAX.saturating_add(Duration::from_secs(1));

#[derive(Debug)]
pub(super) struct Node {
    pub configured: Configured<Options>,
    pub started: Now,
    pub names: Names,
    pub addresses: Addresses,
    pub link: Link,
    pub store: StateFile,
    pub observers: Observers,
    pub health: NodeHealth,
    pub write_warnings: WriteWarnings,
    pub onlookers: Onlookers,
    pub option_findings: Vec<Finding>,
    pub refused_messages: RefusedMessages<SocketAddr>,
    pub late_wake_ups: u64,
}

impl Node {
    fn status(&mut self, now: Now, machine: &Machine) -> Status {
        let mut findings = self.option_findings.clone();
        if !self.link.link().is_up() {
            let address = self.link.link().address();
            findings.push(Finding::new(
                &troubles::LINK_FAILED,
                format!(
                    "cannot use {address}: perhaps it is not an address of this machine; until the address works, this \
                     server sends and receives nothing"
                ),
            ));
        }
        let missing = self.store.missing();
        findings.extend(missing.map(|text| Finding::new(&STATE_REMOVED, text)));
        if self.store.is_failing() {
            let path = self.store.path().display();
            findings.push(Finding::new(
                &troubles::STORAGE_FAILED,
                format!(
                    "cannot write {path}: the disk may be full or read-only; this server sends nothing until a write \
                     works"
                ),
            ));
        }
        let differing = machine.differences();
        let differing = differing.iter();
        findings.extend(differing.map(|(server, them)| {
            let text = describe_other_options(&self.names, *server, them);
            Finding::new(&troubles::OPTIONS_DIFFER, text)
        }));
        findings.extend(
            self.addresses
                .findings(&self.names, self.link.link().failures()),
        );
        let clock = self.health.clock_problem();
        findings.extend(clock.map(|text| Finding::new(&CLOCK_RATE, text)));
        findings.extend(self.refused_messages.finding());
        let around = StatusInputs {
            started: self.started,
            names: &self.names,
            addresses: &self.addresses,
            link: &mut self.link,
            late_wake_ups: self.late_wake_ups,
        };
        let mut status = status(now, machine, around);
        status.config = self.configured.status();
        set_verdict(&mut status, findings);
        status
    }
}

impl System for Node {
    type Machine = Machine;
    type Link = Link;
    type Store = StateFile;
    type Observer = Observers;
    type Task = NoTask<Command>;
    type Request = NoRequest;
    type Condition = Condition;

    fn environment(&mut self) -> Environment<'_, Link, StateFile, Observers> {
        Environment {
            link: Some(&mut self.link).filter(|link| link.link().is_up()),
            store: &mut self.store,
            observer: &mut self.observers,
        }
    }

    fn task(&mut self) -> Option<NoTask<Command>> {
        None
    }

    /// Registers nothing, because `poll_network` registers the link.
    fn register(&mut self, _: &Reactor) -> Result<(), Error> {
        Ok(())
    }

    fn on_network_readable(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn poll_network(
        &mut self,
        now: Instant,
        waiting: &Reactor,
    ) -> Result<Option<NetworkState>, Error> {
        let Some(socket) = self.link.link_mut().poll_socket(now) else {
            return Ok(None);
        };
        waiting.add(socket, LINK)?;
        Ok(Some(NetworkState::Up))
    }

    fn on_link_failed(&mut self, now: Instant, error: &io::Error) -> NetworkState {
        self.link.link_mut().fail(now, error);
        NetworkState::Down
    }

    fn deadline(&self) -> Option<Instant> {
        self.link.link().deadline()
    }

    fn answer(
        &mut self,
        now: Now,
        client: Client,
        request: Request<NoRequest>,
        _: &mut Vec<OwnedFd>,
        machine: &Machine,
    ) -> Answer<Command> {
        let recent = self.observers.history.recent();
        let latest = recent.latest();
        let reaction = self.onlookers.answer(client.id, &request, recent);
        reaction.answer(latest, || NodeStatus::from(&self.status(now, machine)))
    }

    fn poll_clients(&mut self, now: Now, server: &mut Server, _: &Machine) -> Option<Command> {
        if let Some(addresses) = self.addresses.take_changed() {
            return Some(Command::Addresses(addresses));
        }
        let recent = self.observers.history.recent();
        self.onlookers.serve(now, server, recent, |entry, number| {
            Reply::Event(entry.message(number))
        });
        None
    }

    fn reload(&mut self, log: &LogOutput) -> Reload<Command> {
        let Self {
            configured,
            link,
            addresses,
            names,
            ..
        } = self;
        reload::reload(configured, link, addresses, names);
        let verbose = self.configured.options().verbose;
        log.set_verbose(verbose);
        self.observers.log.set_verbose(verbose);
        Reload::Done(None)
    }

    fn on_iteration_end(&mut self, _: Now, _: &Machine) {}

    fn on_second(&mut self, now: Now) {
        let Self {
            addresses,
            names,
            link,
            store,
            observers,
            health,
            write_warnings,
            refused_messages,
            ..
        } = self;
        addresses.update(names.own(), names, link);
        health.update_drops(link.link_mut().drops().kernel);
        refused_messages.update(now.monotonic, link.signer());
        if let Some(signer) = link.signer_mut() {
            signer.addressing_mut().report_denials(now.monotonic);
        }
        store.check_place();
        let failures = store.take_failures();
        write_warnings.on_failures(now.monotonic, store.path(), failures);
        health.check_clock(|event, text| observers.history.add_problem(now, event, text));
    }

    fn count_late_wake_up(&mut self, _late: Duration) {
        self.late_wake_ups += 1;
    }

    fn late_limits(machine: &Machine) -> LateLimits {
        let options = machine.options();
        LateLimits {
            log_after: options.heartbeat / 4,
            fail_after: options.server_lease(),
        }
    }

    fn condition(&self, machine: &Machine) -> Condition {
        if self.link.link().is_up() {
            Condition::Up(machine.summary())
        } else {
            Condition::NoLink
        }
    }

    fn report(&mut self, now: Now, machine: &Machine) {
        report::log(&self.status(now, machine));
    }

    fn begin_shutdown(&mut self) -> &'static str {
        info!(
            event = events::STOPPING,
            "shutting down: handing the tokens over to the other servers, if there are any"
        );
        "handing tokens over to the other servers"
    }

    fn is_busy(&self) -> bool {
        false
    }

    fn shut_down(_: &Machine) -> ShutDown<Command> {
        ShutDown {
            command: Command::ShutDown,
            timeout: SHUTDOWN_TIMEOUT,
            last_command: Command::ShutDown,
        }
    }

    fn is_finished(machine: &Machine) -> bool {
        machine.has_left()
    }

    fn finish(&mut self, _: Now, _: &mut dyn FnMut() -> bool) {
        warn_unless_synced(self.store.sync());
    }
}
