//! Reports two machines with the same MAC address (`docs/reference/lab2/membership.md M15`).

use std::collections::BTreeMap;

use ring_codec::MacAddr;

use super::{Diagnostics, is_recent, report};
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::Members;
use crate::lab2::{Diagnostic, Event};
use crate::time::Instant;

/// The number of times that a member's IP address changes back to its previous value. After this number, the node
/// assumes a second machine with the same MAC address.
const SHARED_RETURNS_MIN: u8 = 3;
/// If two changes of an address are this many WAITER_TIMEOUTs apart, they are unrelated.
const UNRELATED_AFTER: u32 = 10;

/// Recent changes of IP addresses, and the time of the last frame that another machine sent with this node's MAC
/// address.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct DuplicateMacs {
    /// Time of the last frame that another machine sent with this node's MAC address.
    own_at: Option<Instant>,
    /// The latest changes of each member's IP address. The key is the MAC address.
    changes: BTreeMap<MacAddr, IpChanges>,
}

/// The latest changes of a member's IP address.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
struct IpChanges {
    at: Instant,
    /// IP address before the last change.
    before: [u8; 16],
    /// The number of returns to the address before the last change.
    returns: u8,
}

impl DuplicateMacs {
    /// Forgets the changes of removed members.
    pub(super) fn forget(&mut self, removed: &[MacAddr]) {
        self.changes.retain(|mac, _| !removed.contains(mac));
    }
}

impl Diagnostics {
    /// Reports a member's new IP address. If the address repeatedly changes back, instead reports once that two
    /// machines share the MAC address.
    pub(crate) fn note_ip_change(
        &mut self,
        context: &Context,
        out: &mut Output,
        mac: MacAddr,
        (before, ip): ([u8; 16], [u8; 16]),
    ) {
        let at = context.now();
        let apart = context.waiter_timeout().saturating_mul(UNRELATED_AFTER);
        let last = self.duplicate_macs.changes.get(&mac).copied();
        // A machine may change its address back after a while. Only quick changes show a second machine.
        let last = last.filter(|last| at.since(last.at) < apart);
        let returns = last.map_or(0, |last| {
            // The two machines may share the address for days, and the count must not overflow.
            last.returns.saturating_add(u8::from(last.before == ip))
        });
        let changes = IpChanges {
            at,
            before,
            returns,
        };
        self.duplicate_macs.changes.insert(mac, changes);
        if returns < SHARED_RETURNS_MIN {
            out.event(Event::MemberMoved { mac, ip });
        // Each frame of the two machines changes the IP address. So the shared MAC address is reported only once.
        } else if last.is_none_or(|last| last.returns < SHARED_RETURNS_MIN) {
            let ips = Some((before, ip));
            report(out, Diagnostic::AddressShared { mac, ips }, false);
        }
    }

    /// Reports that another machine sent a frame with this node's MAC address.
    pub(crate) fn note_own_address(&mut self, context: &Context, out: &mut Output) {
        let before = self.duplicate_macs.own_at.replace(context.now());
        // Each frame of the other machine would repeat the report.
        if !before.is_some_and(|at| is_recent(context, at)) {
            let (mac, ips) = (context.me(), None);
            report(out, Diagnostic::AddressShared { mac, ips }, false);
        }
    }

    /// Forgets frames with this node's old MAC address, because such frames no longer disturb this node. Call this
    /// function after the address changed.
    pub(crate) fn note_new_address(&mut self) {
        self.duplicate_macs.own_at = None;
    }

    /// Returns a problem for each MAC address that two machines used recently.
    pub(super) fn duplicate_mac_problems(
        &self,
        context: &Context,
        members: &Members,
    ) -> impl Iterator<Item = Diagnostic> {
        let own = self
            .duplicate_macs
            .own_at
            .filter(|&at| is_recent(context, at));
        let own = own.map(|_| Diagnostic::AddressShared {
            mac: context.me(),
            ips: None,
        });
        let others = self
            .duplicate_macs
            .changes
            .iter()
            .filter_map(|(&mac, changes)| {
                let ips = Some((changes.before, members.ip_of(mac)?));
                let is_shared =
                    is_recent(context, changes.at) && changes.returns >= SHARED_RETURNS_MIN;
                is_shared.then_some(Diagnostic::AddressShared { mac, ips })
            });
        own.into_iter().chain(others)
    }
}
