//! Reports of two machines that share one MAC address (`docs/protocol.md`, "Membership").

use std::collections::BTreeMap;

use ring_codec::MacAddr;

use super::{Diagnostics, is_recent, report};
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::Members;
use crate::lab2::{Diagnostic, Event};
use crate::time::Instant;

/// An IP address that returns this often is that of a second machine.
const SHARED_RETURNS_MIN: u8 = 3;
/// Two changes that are more WAITER_TIMEOUTs apart than this are unrelated.
const UNRELATED_AFTER: u32 = 10;

/// Recent changes of IP addresses, and frames with this node's MAC address.
#[derive(Debug, Clone, Default)]
pub(super) struct DuplicateMacs {
    /// When the last frame of another machine with this node's address came.
    own_at: Option<Instant>,
    /// Changes of the members' IP addresses, sorted by MAC.
    changes: BTreeMap<MacAddr, IpChanges>,
}

/// The latest changes of a member's IP address.
#[derive(Debug, Clone, Copy)]
struct IpChanges {
    /// Time of the last change.
    at: Instant,
    /// The address before the last change.
    before: [u8; 16],
    /// How often the address has returned to the previous one.
    returns: u8,
}

impl DuplicateMacs {
    /// Forgets the changes of removed members.
    pub(super) fn forget(&mut self, removed: &[MacAddr]) {
        self.changes.retain(|mac, _| !removed.contains(mac));
    }
}

impl Diagnostics {
    /// Reports a member's new IP address. If it returns again and again, it reports a shared MAC address instead, once.
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
        let last = last.filter(|last| at.since(last.at) < apart);
        let returns = last.map_or(0, |last| {
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
        } else if last.is_none_or(|last| last.returns < SHARED_RETURNS_MIN) {
            let ips = Some((before, ip));
            report(out, Diagnostic::AddressShared { mac, ips }, false);
        }
    }

    /// Reports a frame that has this node's address, but that another machine has sent.
    pub(crate) fn note_own_address(&mut self, context: &Context, out: &mut Output) {
        let before = self.duplicate_macs.own_at.replace(context.now());
        if !before.is_some_and(|at| is_recent(context, at)) {
            let (mac, ips) = (context.me(), None);
            report(out, Diagnostic::AddressShared { mac, ips }, false);
        }
    }

    /// Forgets frames with this node's old address, since they do not disturb it now.
    pub(crate) fn note_new_address(&mut self) {
        self.duplicate_macs.own_at = None;
    }

    /// Returns the addresses that two machines have used recently.
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
