//! The members of the ring: who they are, what they say of themselves, who is heard, and whose turn it is.

mod apart;
mod crowd;
mod hearing;
mod membership;
mod peer;
mod profile;
mod removed;
mod roster;
mod silence;
mod snapshot;
mod sweep;
mod table;
mod turns;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Member, Version};

pub(crate) use apart::APART;
pub(crate) use membership::Author;
pub(crate) use peer::Peer;
pub(crate) use profile::Said;

use super::machine::Context;
use crate::throttle::Throttle;
use apart::Middle;
use hearing::Hearing;
use silence::Silence;
use sweep::Sweep;
use table::Table;

/// All members, this node included.
#[derive(Debug, Clone)]
pub(crate) struct Members {
    table: Table,
    /// The ring's times; `None`: all members say the same as this node.
    middle: Option<Middle>,
    hearing: Hearing,
    silence: Silence,
    sweep: Sweep,
    /// PINGs to all because somebody holds a wrong ip for this node.
    corrections: Throttle,
}

impl Members {
    /// Nobody, of at most so many.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            table: Table::new(max),
            middle: None,
            hearing: Hearing::default(),
            silence: Silence::default(),
            sweep: Sweep::new(),
            corrections: Throttle::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn has(&self, mac: MacAddr) -> bool {
        self.table.find(mac).is_some()
    }

    pub(crate) fn peer(&self, mac: MacAddr) -> Option<&Peer> {
        self.table.find(mac).map(|at| &self.table.peers()[at])
    }

    /// Returns all members but this node, in the order of the table.
    pub(crate) fn others(
        &self,
        context: &Context,
    ) -> impl Iterator<Item = (MacAddr, &Peer)> + Clone {
        let own = context.mac();
        let all = self.table.members().iter().zip(self.table.peers());
        all.filter(move |(member, _)| own != Some(member.mac))
            .map(|(member, peer)| (member.mac, peer))
    }

    /// Returns all members in the order of their addresses.
    pub(crate) fn in_order(&self) -> impl ExactSizeIterator<Item = (&Member, &Peer)> {
        let order = self.table.order();
        (0..self.len()).map(move |at| {
            let at = order.get(at).copied().unwrap_or(at);
            (&self.table.members()[at], &self.table.peers()[at])
        })
    }

    /// Size and hash of the table.
    pub(crate) fn digest(&self) -> Digest {
        self.table.digest()
    }

    /// Hashes the table if it has changed, so that [`digest`](Self::digest) need not.
    pub(crate) fn hash_anew(&mut self) {
        self.table.hash_anew();
    }

    /// Whether a table with this digest is another one.
    pub(crate) fn differs(&mut self, digest: Digest) -> bool {
        self.table.differs(digest)
    }

    /// How many members come before this node in order.
    pub(crate) fn own_rank(&self, context: &Context) -> u32 {
        u32::try_from(self.table.rank(context.me())).unwrap_or(u32::MAX)
    }

    /// Notes whether a member wants the token.
    pub(crate) fn set_wants(&mut self, mac: MacAddr, wants: bool) {
        self.table.set_wants(mac, wants);
    }

    /// Notes whether a member says that it owns nothing for now.
    pub(crate) fn set_paused(&mut self, mac: MacAddr, paused: bool) {
        if let Some(peer) = self.table.peer_mut(mac) {
            peer.paused = paused;
        }
    }

    /// Notes of each other member whether people were told that it is silent.
    pub(crate) fn review_told_silent(
        &mut self,
        context: &Context,
        mut is_told: impl FnMut(MacAddr, &Peer) -> bool,
    ) {
        for at in 0..self.len() {
            let mac = self.table.members()[at].mac;
            if !context.is_own(mac) {
                let peer = self.table.peer_at(at);
                peer.told_silent = is_told(mac, peer);
            }
        }
    }

    /// The version that a member has told, where this node's is `own`; `None`: it has told none.
    pub(crate) fn version_of(&self, mac: MacAddr, own: Option<Version>) -> Option<Version> {
        self.table.version_of(mac, own)
    }

    /// Notes the version that a member has told; `None`: it is this node's.
    pub(crate) fn set_version(&mut self, mac: MacAddr, other: Option<Version>) {
        self.table.set_version(mac, other);
    }

    /// A hand-over to a member has failed. Returns how many have in a row.
    pub(crate) fn fail(&mut self, mac: MacAddr) -> u32 {
        self.table.fail(mac)
    }

    /// A member has taken the token that it was offered.
    pub(crate) fn succeed(&mut self, mac: MacAddr) {
        if let Some(peer) = self.table.peer_mut(mac) {
            peer.penalty.succeed();
        }
    }

    /// The tenure of this node is over.
    pub(crate) fn end_tenure(&mut self) {
        self.table.end_tenure();
    }

    /// Whether the table is in order and its counts are right.
    #[cfg(debug_assertions)]
    pub(crate) fn is_sound(&self) -> bool {
        self.table.is_sound()
    }
}

#[cfg(test)]
impl Members {
    /// Makes a count of the table wrong.
    pub(crate) fn spoil(&mut self) {
        self.table.heard += 1;
    }
}
