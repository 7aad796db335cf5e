//! Passes the members' IP addresses and host names to the log, which adds names of machines to its lines.

use std::net::Ipv6Addr;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_host::{KnownMachine, note_host_name, note_machines};
use ring_proto::lab2::{Event, HostName, Lab2};
use ring_proto::time::Instant;

/// Minimum interval of updates while a ring of thousands of members forms.
const UPDATE_INTERVAL: Duration = Duration::from_millis(200);

/// Reads the host name of this machine, also for the log. The node of this machine has the address `own`. Returns
/// `None` if the machine has no host name that a frame can carry.
pub(super) fn read_host_name(own: MacAddr) -> Option<HostName> {
    let name = nix::unistd::gethostname().ok()?;
    let name = HostName::new(name.to_str()?)?;
    note_host_name(own.0, name.to_string());
    Some(name)
}

/// Tracks whether the log knows the addresses and host names of the current members.
#[derive(Debug, Default)]
pub(super) struct MemberAddresses {
    has_changed: bool,
    next: Instant,
}

impl MemberAddresses {
    /// Notes an event that changes members' addresses or host names.
    pub(super) fn note_event(&mut self, event: &Event) {
        if let Event::MemberNamed { mac, name } = event {
            note_host_name(mac.0, name.to_string());
        }
        self.has_changed |= matches!(
            event,
            Event::MemberAdded { .. } | Event::MemberMoved { .. } | Event::MemberForgotten { .. }
        );
    }

    /// If the members changed, updates the data of the log.
    pub(super) fn update_log(&mut self, now: Instant, machine: &Lab2) {
        if !self.has_changed || now < self.next {
            return;
        }
        self.has_changed = false;
        self.next = now + UPDATE_INTERVAL;
        let members = machine.members();
        note_machines(members.map(|it| {
            let machine = KnownMachine {
                ip: Some(Ipv6Addr::from(it.ip).into()),
                host_name: it.host_name.map(|name| name.to_string()),
            };
            (it.mac.0, machine)
        }));
    }
}
