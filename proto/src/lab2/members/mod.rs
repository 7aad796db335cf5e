//! The members of the ring. The module contains the table and the profiles of the members. The module also measures how
//! long members are silent, and decides in which order this node offers the token to them. This module never decides
//! who owns the token. Start with `table` and `peer`.

mod deafness;
mod large_ring;
mod pause_notice;
mod peer;
mod preference;
mod profile;
mod ring_size;
mod ring_times;
mod silence;
mod snapshot;
mod successor;
mod sync;
mod table;
mod table_broadcast;
mod tombstones;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Member, Version};

pub(crate) use pause_notice::{announced_pause, notice};
pub(crate) use peer::Peer;
pub(crate) use profile::ProfileChange;
pub(crate) use ring_times::APART_FACTOR;
pub(crate) use sync::AuthorStatus;

use super::machine::Context;
use super::{HostName, Pause};
use crate::throttle::Throttle;
use deafness::Hearing;
use ring_times::RingTimes;
use silence::Silence;
use table::Table;
use table_broadcast::TableBroadcast;

/// All members, including this node.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Members {
    table: Table,
    /// The timeouts of the ring. The timeouts are `None` if all members have this node's profile.
    ring_times: Option<RingTimes>,
    hearing: Hearing,
    silence: Silence,
    table_broadcast: TableBroadcast,
    /// Limits how often this node broadcasts PING to correct its entry in the tables of other members.
    corrections: Throttle,
}

impl Members {
    /// Creates an empty table for at most `max` members.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            table: Table::new(max),
            ring_times: None,
            hearing: Hearing::default(),
            silence: Silence::default(),
            table_broadcast: TableBroadcast::new(),
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

    /// Returns all members other than this node, in the order of the table.
    pub(crate) fn others(
        &self,
        context: &Context,
    ) -> impl Iterator<Item = (MacAddr, &Peer)> + Clone {
        let own = context.mac();
        let all = self.table.members().iter().zip(self.table.peers());
        all.filter(move |(member, _)| own != Some(member.mac))
            .map(|(member, peer)| (member.mac, peer))
    }

    /// Returns all members in the order of their MAC addresses.
    pub(crate) fn in_order(&self) -> impl ExactSizeIterator<Item = (&Member, &Peer)> {
        let order = self.table.sorted_places();
        (0..self.len()).map(move |at| {
            // The list of places is empty if the table is sorted, because a rank is then also a place.
            let at = order.get(at).copied().unwrap_or(at);
            (&self.table.members()[at], &self.table.peers()[at])
        })
    }

    /// Returns the size and hash of the table.
    pub(crate) fn digest(&self) -> Digest {
        self.table.digest()
    }

    /// If the table changed, computes its hash. So [`digest`](Self::digest) need not compute the hash each time.
    pub(crate) fn update_hash(&mut self) {
        self.table.update_hash();
    }

    pub(crate) fn differs(&mut self, digest: Digest) -> bool {
        self.table.differs(digest)
    }

    /// Returns the number of members before this node in the order of MAC addresses.
    pub(crate) fn own_rank(&self, context: &Context) -> u32 {
        u32::try_from(self.table.rank(context.me())).unwrap_or(u32::MAX)
    }

    pub(crate) fn set_wants(&mut self, mac: MacAddr, wants: bool) {
        self.table.set_wants(mac, wants);
    }

    /// Notes whether a member announces that it is paused.
    pub(crate) fn set_paused(&mut self, mac: MacAddr, paused: bool) {
        if let Some(peer) = self.table.peer_mut(mac) {
            peer.paused = paused;
        }
    }

    /// Updates a flag for each other member: whether this node has reported the member as silent.
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

    /// Returns the version that a member announced; `None` if the member announced no version. `own` is the version of
    /// this node.
    pub(crate) fn version_of(&self, mac: MacAddr, own: Option<Version>) -> Option<Version> {
        self.table.version_of(mac, own)
    }

    /// Notes the version that a member announced. The version `None` means that the member has this node's version.
    pub(crate) fn set_version(&mut self, mac: MacAddr, other: Option<Version>) {
        self.table.set_version(mac, other);
    }

    /// Returns the host name that a member announced; `None` if the member announced no host name.
    pub(crate) fn host_name_of(&self, mac: MacAddr) -> Option<HostName> {
        self.table.host_names.get(&mac).copied()
    }

    /// Notes the host name that a member announced. Returns whether the host name is new.
    pub(crate) fn set_host_name(&mut self, mac: MacAddr, name: HostName) -> bool {
        self.table.set_host_name(mac, name)
    }

    /// Returns the pause that a member announced.
    pub(crate) fn pause_of(&self, mac: MacAddr) -> Option<Pause> {
        self.table.pauses.get(&mac).copied()
    }

    /// Notes the pause that a member announced; `None` if it announced none. Returns whether the pause began or ended,
    /// or has a different end or reason.
    pub(crate) fn set_pause(&mut self, mac: MacAddr, pause: Option<Pause>) -> bool {
        self.table.set_pause(mac, pause)
    }

    /// Notes a failed handover to a member. Returns the number of successive failed handovers to this member.
    pub(crate) fn note_failure(&mut self, mac: MacAddr) -> u32 {
        self.table.note_failure(mac)
    }

    /// Notes that a member took the token.
    pub(crate) fn note_success(&mut self, mac: MacAddr) {
        if let Some(peer) = self.table.peer_mut(mac) {
            peer.penalty.forget_failures();
        }
    }

    /// Notes that this node's tenure is over.
    pub(crate) fn end_tenure(&mut self) {
        self.table.end_tenure();
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.table.is_sound()
    }
}

#[cfg(test)]
impl Members {
    /// Makes one count of the table wrong, so that a test can check the invariant.
    pub(crate) fn spoil(&mut self) {
        self.table.heard += 1;
    }
}
