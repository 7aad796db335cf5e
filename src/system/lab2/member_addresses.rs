//! Passes the members' IP addresses to the log. The log uses the addresses to add the names of machines to its lines.

use std::net::Ipv6Addr;
use std::time::Duration;

use ring_host::note_addresses;
use ring_proto::lab2::{Event, Lab2};
use ring_proto::time::Instant;

/// Minimum interval of updates while a ring of thousands of members forms.
const UPDATE_INTERVAL: Duration = Duration::from_millis(200);

/// Tracks whether the log knows the addresses of the current members.
#[derive(Debug, Default)]
pub(super) struct MemberAddresses {
    has_changed: bool,
    next: Instant,
}

impl MemberAddresses {
    /// Notes an event that changes members' addresses.
    pub(super) const fn note_event(&mut self, event: &Event) {
        self.has_changed |= matches!(
            event,
            Event::MemberAdded { .. } | Event::MemberMoved { .. } | Event::MemberForgotten { .. }
        );
    }

    /// If the members changed, updates the addresses in the log.
    pub(super) fn update_log(&mut self, now: Instant, machine: &Lab2) {
        if !self.has_changed || now < self.next {
            return;
        }
        self.has_changed = false;
        self.next = now + UPDATE_INTERVAL;
        let members = machine.members();
        note_addresses(members.map(|it| (it.mac.0, Ipv6Addr::from(it.ip).into())));
    }
}
