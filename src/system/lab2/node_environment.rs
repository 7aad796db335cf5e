//! The environment of the state machine: an interface, a state file, and observers.

use ring_codec::MacAddr;
use ring_config::Configured;
use ring_control::lab2::Status;
use ring_control::{Finding, Verdict};
use ring_host::NodeHealth;
use ring_host::troubles::CLOCK_RATE;
use ring_host::trust::RefusedMessages;
use ring_proto::lab2::{Event, Lab2};
use ring_proto::time::Now;
use ring_runtime::driver::{Environment, Observe};

use super::Options;
use super::attachment::{Attachment, Link};
use super::guardian::{GuardedStore, Guardian};
use super::health::{NodeFacts, verdict};
use super::history::History;
use super::member_addresses::MemberAddresses;
use super::named_locks::session_of;
use super::recordings::Cause;
use super::service::Service;
use super::status::status;
use crate::system::lab2::observe::Observers;
use crate::system::lab2::troubles;
use crate::system::write_warnings::WriteWarnings;

#[derive(Debug)]
pub(super) struct NodeEnvironment {
    pub configured: Configured<Options>,
    pub started: Now,
    pub attachment: Attachment,
    pub store: GuardedStore,
    pub guardian: Guardian,
    pub all_observers: AllObservers,
    pub health: NodeHealth,
    pub refused_messages: RefusedMessages<MacAddr>,
    pub write_warnings: WriteWarnings,
}

impl NodeEnvironment {
    /// Returns the status that `ringctl status` shows.
    pub(super) fn status(&mut self, now: Now, machine: &Lab2, service: &Service) -> Status {
        let mut status = status(
            self.started,
            now.monotonic,
            machine,
            &mut self.attachment,
            &self.all_observers.observers.tally,
            service,
        );
        status.config = self.configured.status();
        status.stored = self.is_stored(machine);
        let verdict = self.verdict(machine);
        (status.health, status.troubles) = (verdict.health, verdict.troubles);
        status
    }

    fn is_stored(&self, machine: &Lab2) -> bool {
        machine.is_stored() && self.store.file.is_in_place()
    }

    /// Returns the verdict of the status.
    pub(super) fn verdict(&self, machine: &Lab2) -> Verdict {
        let clock = self.health.clock_problem();
        let clock = clock.map(|text| Finding::new(&CLOCK_RATE, text));
        let interface = self.attachment.problem();
        let interface = interface.map(|text| Finding::new(&troubles::BRIDGE_PORT, text));
        let refused = self.refused_messages.finding();
        let around = self
            .store
            .file
            .findings()
            .chain(clock)
            .chain(interface)
            .chain(refused);
        let own_interface = self.attachment.interface();
        let facts = NodeFacts {
            machine,
            interface: &own_interface.name,
            mac: own_interface.mac,
            loss: self.attachment.loss(),
            is_stored: self.is_stored(machine),
        };
        verdict(&facts, around)
    }

    /// Checks the interface, the state file and the clock's rate.
    pub(super) fn run_periodic_checks(&mut self, now: Now) {
        let Self {
            configured: _,
            started: _,
            attachment,
            store,
            guardian: _,
            all_observers,
            health,
            refused_messages,
            write_warnings,
        } = self;
        refused_messages.update(now.monotonic, attachment.signer());
        health.update_drops(attachment.kernel_drops());
        let store = &mut store.file;
        store.check_place();
        let failures = store.take_failures();
        write_warnings.on_failures(now.monotonic, store.path(), failures);
        health.check_clock(|event, text| all_observers.history.add_problem(now, event, text));
    }

    /// Gives the guardian the last frames of the node.
    pub(super) fn prepare_last_frames(&mut self, machine: &Lab2, service: &Service) {
        self.guardian
            .prepare(machine, &self.attachment, service, &mut self.store);
    }

    /// Returns the parts that the driver needs.
    pub(super) fn environment(&mut self) -> Environment<'_, Link, GuardedStore, AllObservers> {
        Environment {
            link: self.attachment.link(),
            store: &mut self.store,
            observer: &mut self.all_observers,
        }
    }
}

#[derive(Debug)]
pub(super) struct AllObservers {
    pub observers: Observers,
    pub member_addresses: MemberAddresses,
    pub history: History,
    /// Events about the sessions of named locks that the service does not know yet.
    pub session_events: Vec<Event>,
    /// A problem for which the node writes a recording.
    pub problem: Option<Cause>,
}

impl Observe<Event> for AllObservers {
    fn observe(&mut self, now: Now, event: &Event) {
        self.observers.observe(now, event);
        self.member_addresses.note_event(event);
        self.history.observe(now, event);
        self.problem = self.problem.or_else(|| Cause::of_event(event));
        if session_of(event).is_some() {
            self.session_events.push(*event);
        }
    }
}
