//! Tells the log which ips the members have, so that it can name them.

use std::net::Ipv6Addr;
use std::time::Duration;

use ring_host::note_addresses;
use ring_proto::lab2::{Event, Lab2};
use ring_proto::time::Instant;

/// A ring of thousands that forms is told of as often as this.
const PERIOD: Duration = Duration::from_millis(200);

/// Whether the log knows the members as they are.
#[derive(Debug, Default)]
pub(super) struct MemberAddresses {
    is_stale: bool,
    next: Instant,
}

impl MemberAddresses {
    /// Something has happened.
    pub(super) const fn heed(&mut self, event: &Event) {
        self.is_stale |= matches!(
            event,
            Event::MemberAdded { .. } | Event::MemberMoved { .. } | Event::MemberForgotten { .. }
        );
    }

    /// Tells the log, if members have changed.
    pub(super) fn tell(&mut self, now: Instant, machine: &Lab2) {
        if !self.is_stale || now < self.next {
            return;
        }
        self.is_stale = false;
        self.next = now + PERIOD;
        let members = machine.members();
        note_addresses(members.map(|it| (it.mac.0, Ipv6Addr::from(it.ip).into())));
    }
}
