//! Two stations with one address: what that looks like, said once (`docs/protocol.md`, "Membership").

use ring_codec::MacAddr;

use crate::lab2::{Event, Lab2, Trouble};
use crate::time::Instant;

/// An ip that comes back so often is that of a second station.
const RETURNS: u8 = 3;
/// Two changes further apart than so many WAITER_TIMEOUTs have nothing to do with each other.
const APART: u32 = 10;

/// The latest changes of a member's ip.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moves {
    /// When it changed last.
    pub(crate) at: Option<Instant>,
    /// What it was before that.
    pub(crate) before: [u8; 16],
    /// How often it has come back to what it was before.
    pub(crate) returns: u8,
}

impl Lab2 {
    /// A member has said another ip than before. Where two stations share its address that goes on for ever:
    /// it is said as such, once.
    pub(crate) fn member_moved(&mut self, mac: MacAddr, before: [u8; 16], ip: [u8; 16]) {
        let now = self.context.now();
        let apart = self
            .context
            .constants()
            .waiter_timeout()
            .saturating_mul(APART);
        let Some(notes) = self.table.notes_mut(mac) else {
            return;
        };
        let moves = &mut notes.moves;
        let lately = moves.at.is_some_and(|at| now.since(at) < apart);
        let returns = match (lately, moves.before == ip) {
            (false, _) => 0,
            (true, true) => moves.returns.saturating_add(1),
            (true, false) => moves.returns,
        };
        let was_shared = lately && moves.returns >= RETURNS;
        *moves = Moves {
            at: Some(now),
            before,
            returns,
        };
        if returns < RETURNS {
            self.event(Event::MemberMoved { mac, ip });
        } else if !was_shared {
            let ips = Some((before, ip));
            self.tell_trouble(Trouble::AddressShared { mac, ips }, false);
        }
    }

    /// A frame that this node has not sent has its address.
    pub(crate) fn own_address_heard(&mut self) {
        let now = self.context.now();
        let before = self.troubles.shared_at.replace(now);
        if !before.is_some_and(|at| self.is_recent(at)) {
            let (mac, ips) = (self.me(), None);
            self.tell_trouble(Trouble::AddressShared { mac, ips }, false);
        }
    }

    /// The addresses of which two stations were heard not long ago.
    pub(crate) fn shared_addresses(&self) -> impl Iterator<Item = Trouble> {
        let own = self.troubles.shared_at.filter(|&at| self.is_recent(at));
        let own = own.map(|_| Trouble::AddressShared {
            mac: self.me(),
            ips: None,
        });
        let others = self.table.notes.iter().filter_map(|&(mac, notes)| {
            let moves = notes.moves;
            let lately = moves.at.is_some_and(|at| self.is_recent(at));
            let at = self.table.find(mac)?;
            let ips = Some((moves.before, self.table.members()[at].ip));
            let shared = Trouble::AddressShared { mac, ips };
            (lately && moves.returns >= RETURNS).then_some(shared)
        });
        own.into_iter().chain(others)
    }
}
