//! The parts of a ring's node that the host needs, except the state machine.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use ring_control::lab2::RingRequest;
use ring_control::{NodeStatus, Request};
use ring_host::hooks::Hooks;
use ring_host::observe::LogOutput;
use ring_host::{
    Answer, Error, LateLimits, NETWORK, NoTask, Reload, SYSTEM, Server, ShutDown, System,
};
use ring_process::Client;
use ring_proto::LinkState;
use ring_proto::lab2::{Command, HostReport, Lab2, SurveyRequest};
use ring_proto::time::{Instant, Now};
use ring_recording::Recorded;
use ring_runtime::driver::Environment;
use ring_runtime::wait::{LINK, Reactor};
use ring_runtime::{BusyPoll, BusyPollWork};
use tracing::info;

use super::attachment::{Link, LinkChange};
use super::condition::Condition;
use super::guardian::GuardedStore;
use super::hook_change::Change;
use super::node_environment::{AllObservers, NodeEnvironment};
use super::other_holds::OtherHolds;
use super::service::Service;
use super::start::constant_changes;
use super::survey::host_report;
use super::{reload, report};
use crate::system::lab2::events;
use crate::system::record_file::warn_unless_synced;

#[derive(Debug)]
pub(super) struct Node {
    environment: NodeEnvironment,
    service: Service,
    hooks: Hooks<Change>,
    other_holds: OtherHolds,
}

impl Node {
    /// Creates a node.
    pub(super) fn new(
        environment: NodeEnvironment,
        service: Service,
        hooks: Hooks<Change>,
    ) -> Self {
        Self {
            environment,
            service,
            hooks,
            other_holds: OtherHolds::default(),
        }
    }

    /// Returns this node's report for members.
    fn host_report(&self, now: Now, machine: &Lab2) -> HostReport {
        let environment = &self.environment;
        let up = now.monotonic.since(environment.started.monotonic);
        let tally = &environment.all_observers.observers.tally;
        let require = environment.configured.options().require;
        let verdict = environment.verdict(machine);
        host_report(up, tally.longest_lateness(), require, verdict)
    }
}

impl System for Node {
    type Machine = Recorded<Lab2>;
    type Link = Link;
    type Store = GuardedStore;
    type Observer = AllObservers;
    type Task = NoTask<Command>;
    type Request = RingRequest;
    type Condition = Condition;

    fn environment(&mut self) -> Environment<'_, Link, GuardedStore, AllObservers> {
        self.environment.environment()
    }

    fn task(&mut self) -> Option<NoTask<Command>> {
        None
    }

    fn busy_poll(&self) -> BusyPoll {
        self.environment.configured.options().busy_poll
    }

    fn note_busy_poll(&mut self, work: BusyPollWork) {
        if self.busy_poll() != BusyPoll::Never {
            let tally = &mut self.environment.all_observers.observers.tally;
            tally.set_busy_poll(work);
        }
    }

    /// Registers the interface watch and the thread for recordings. `poll_network` registers the socket.
    fn register(&mut self, waiting: &Reactor) -> Result<(), Error> {
        waiting.add(self.service.recordings().bell(), SYSTEM)?;
        Ok(waiting.add(self.environment.attachment.watch(), NETWORK)?)
    }

    fn on_network_readable(&mut self) -> Result<(), Error> {
        let drain_watch = self.environment.attachment.drain_watch();
        drain_watch.map_err(Error::system("hear of changes to the interfaces"))
    }

    fn on_system_readable(&mut self, _: Now) -> Result<(), Error> {
        self.service.recordings().on_bell();
        Ok(())
    }

    fn poll_network(
        &mut self,
        now: Instant,
        waiting: &Reactor,
    ) -> Result<Option<LinkState>, Error> {
        let Some(step) = self.environment.attachment.poll_change(now) else {
            return Ok(None);
        };
        if let (LinkChange::Opened(_), Some(socket)) = (step, self.environment.attachment.socket())
        {
            waiting.add(socket, LINK)?;
            let address = self.environment.attachment.interface().mac;
            self.environment.store.file.set_address(address);
        }
        Ok(Some(step.link()))
    }

    fn on_link_failed(&mut self, now: Instant, error: &io::Error) -> LinkState {
        self.environment.attachment.fail(now, error).link()
    }

    fn deadline(&self) -> Option<Instant> {
        let deadlines = [
            self.service.deadline(),
            self.hooks.deadline(),
            self.environment.attachment.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    fn answer(
        &mut self,
        now: Now,
        client: Client,
        request: Request<RingRequest>,
        descriptors: &mut Vec<OwnedFd>,
        machine: &Recorded<Lab2>,
    ) -> Answer<Command> {
        let Self {
            environment,
            service,
            ..
        } = self;
        // A client may rely on the answer, even if the daemon dies directly after it.
        environment.guardian.withdraw();
        let history = &environment.all_observers.history;
        let latest = history.recent().latest();
        let reaction = service.answer(now, client, request, descriptors, machine, history);
        reaction.answer(latest, || {
            NodeStatus::from(&environment.status(now, machine, service))
        })
    }

    fn poll_clients(
        &mut self,
        now: Now,
        server: &mut Server,
        machine: &Recorded<Lab2>,
    ) -> Option<Command> {
        self.environment.guardian.withdraw();
        if machine.wants_report() {
            let report = self.host_report(now, machine);
            return Some(Command::Report(Box::new(report)));
        }
        if let Some(measurement) = self.service.take_wanted_survey() {
            let own = self.host_report(now, machine);
            let request = SurveyRequest { measurement, own };
            return Some(Command::Survey(Box::new(request)));
        }
        let AllObservers {
            history,
            session_events,
            ..
        } = &mut self.environment.all_observers;
        self.service
            .serve_clients(now, server, machine, history, session_events)
    }

    fn reload(&mut self, log: &LogOutput) -> Reload<Command> {
        let NodeEnvironment {
            configured,
            attachment,
            ..
        } = &mut self.environment;
        let command = reload::reload(configured, attachment);
        let options = self.environment.configured.options();
        self.service.set_rule(options.require);
        let idle_hold = options.constants().idle_hold;
        self.hooks.change_settings(|settings| {
            settings.reloads = true;
            settings.timeout = options.hook_timeout;
            settings.constant_changes = constant_changes(idle_hold);
        });
        log.set_verbose(options.verbose);
        let own_log = &mut self.environment.all_observers.observers.log;
        own_log.set_verbose(options.verbose);
        Reload::Done(Some(command))
    }

    fn on_iteration_end(&mut self, now: Now, machine: &Recorded<Lab2>) {
        self.other_holds.update(now.monotonic, machine);
        let addresses = &mut self.environment.all_observers.member_addresses;
        addresses.update_log(now.monotonic, machine);
        self.hooks
            .notify(now.monotonic, &self.environment.all_observers.history);
        let problem = self.environment.all_observers.problem.take();
        self.service
            .write_recording(now.monotonic, problem, machine);
        self.environment.prepare_last_frames(machine, &self.service);
        machine.end_iteration();
    }

    fn on_second(&mut self, now: Now) {
        self.environment.run_periodic_checks(now);
    }

    fn count_late_wake_up(&mut self, late: Duration) {
        self.environment
            .all_observers
            .observers
            .tally
            .count_late_wake_up(late);
    }

    fn late_limits(machine: &Recorded<Lab2>) -> LateLimits {
        let constants = machine.constants();
        LateLimits {
            log_after: constants.take_timeout,
            fail_after: constants.waiter_timeout(),
        }
    }

    fn condition(&self, machine: &Recorded<Lab2>) -> Condition {
        Condition::of(machine, self.environment.attachment.loss().is_none())
    }

    fn report(&mut self, now: Now, machine: &Recorded<Lab2>) {
        let status = self.environment.status(now, machine, &self.service);
        report::log(&status, machine.token());
    }

    fn begin_shutdown(&mut self) -> &'static str {
        info!(
            event = events::STOPPING,
            "shutting down: handing the token over first"
        );
        self.service.leave();
        "handing the token over"
    }

    fn is_busy(&self) -> bool {
        self.service.is_held()
    }

    fn shut_down(machine: &Recorded<Lab2>) -> ShutDown<Command> {
        ShutDown {
            command: Command::ShutDown,
            timeout: machine.constants().waiter_timeout(),
            last_command: Command::Leave,
        }
    }

    fn is_finished(machine: &Recorded<Lab2>) -> bool {
        machine.is_finished()
    }

    fn finish(&mut self, now: Now, is_over: &mut dyn FnMut() -> bool) {
        warn_unless_synced(self.environment.store.file.sync());
        // A slow disk must not delay the last hook.
        self.hooks
            .finish(now, &self.environment.all_observers.history, &mut *is_over);
        self.service.recordings().finish(is_over);
    }
}
