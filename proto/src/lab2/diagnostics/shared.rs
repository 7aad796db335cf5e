//! Two stations with one address: what that looks like, said once (`docs/protocol.md`, "Membership").

use ring_codec::MacAddr;

use super::{Diagnostics, is_recent, tell};
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::Members;
use crate::lab2::{Event, Trouble};
use crate::time::Instant;

/// An ip that comes back so often is that of a second station.
const RETURNS: u8 = 3;
/// Two changes further apart than so many WAITER_TIMEOUTs have nothing to do with each other.
const APART: u32 = 10;

/// The addresses that changed or were heard lately.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared {
    /// When a frame of another station with the own address last came.
    own_at: Option<Instant>,
    /// By MAC: the changes of members' ips.
    moves: Vec<(MacAddr, Moves)>,
}

/// The latest changes of a member's ip.
#[derive(Debug, Clone, Copy)]
struct Moves {
    /// When it changed last.
    at: Instant,
    /// What it was before that.
    before: [u8; 16],
    /// How often it has come back to what it was before.
    returns: u8,
}

impl Shared {
    /// Members were removed, and are strangers if they come back.
    pub(super) fn forget(&mut self, removed: &[MacAddr]) {
        self.moves.retain(|(mac, _)| !removed.contains(mac));
    }
}

impl Diagnostics {
    /// A member has said another ip than before. Where two stations share its address that goes on for ever:
    /// it is said as such, once.
    pub(crate) fn note_move(
        &mut self,
        context: &Context,
        out: &mut Output,
        mac: MacAddr,
        (before, ip): ([u8; 16], [u8; 16]),
    ) {
        let at = context.now();
        let apart = context.waiter_timeout().saturating_mul(APART);
        let all = &mut self.shared.moves;
        let place = all.binary_search_by_key(&mac, |&(mac, _)| mac);
        let last = place.ok().map(|place| all[place].1);
        let last = last.filter(|last| at.since(last.at) < apart);
        let returns = last.map_or(0, |last| {
            last.returns.saturating_add(u8::from(last.before == ip))
        });
        let moves = Moves {
            at,
            before,
            returns,
        };
        match place {
            Ok(place) => all[place].1 = moves,
            Err(place) => all.insert(place, (mac, moves)),
        }
        if returns < RETURNS {
            out.event(Event::MemberMoved { mac, ip });
        } else if last.is_none_or(|last| last.returns < RETURNS) {
            let ips = Some((before, ip));
            tell(out, Trouble::AddressShared { mac, ips }, false);
        }
    }

    /// A frame that this node has not sent has its address.
    pub(crate) fn note_own_address(&mut self, context: &Context, out: &mut Output) {
        let before = self.shared.own_at.replace(context.now());
        if !before.is_some_and(|at| is_recent(context, at)) {
            let (mac, ips) = (context.me(), None);
            tell(out, Trouble::AddressShared { mac, ips }, false);
        }
    }

    /// This node has another address: another station with the old one no longer disturbs anybody.
    pub(crate) fn note_new_address(&mut self) {
        self.shared.own_at = None;
    }

    /// The addresses of which two stations were heard not long ago.
    pub(super) fn shared_addresses(
        &self,
        context: &Context,
        members: &Members,
    ) -> impl Iterator<Item = Trouble> {
        let own = self.shared.own_at.filter(|&at| is_recent(context, at));
        let own = own.map(|_| Trouble::AddressShared {
            mac: context.me(),
            ips: None,
        });
        let others = self.shared.moves.iter().filter_map(|&(mac, moves)| {
            let ips = Some((moves.before, members.ip_of(mac)?));
            let is_shared = is_recent(context, moves.at) && moves.returns >= RETURNS;
            is_shared.then_some(Trouble::AddressShared { mac, ips })
        });
        own.into_iter().chain(others)
    }
}
