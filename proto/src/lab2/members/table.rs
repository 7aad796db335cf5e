//! The member table: a vector sorted by MAC, and the data that this node keeps about each member.

use std::collections::BTreeMap;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Member, NO_IP, Profile, Version};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use super::peer::{Notes, Peer};
use super::tombstones::Tombstones;
use crate::time::Instant;

/// Above this size new members are appended unsorted, and sorted in when the order is read or [`UNSORTED_MAX`] are
/// unsorted. A sorted insert would move half of the table for each new member.
const SORTED_MEMBERS_MAX: usize = 512;
/// The most unsorted members.
const UNSORTED_MAX: usize = 128;

/// All members by MAC, with the digest of their encodings.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// In wire format, so that the hash and RING_MEMBERS read them in place.
    pub(super) members: Vec<Member>,
    /// How many are sorted. The few after them are in the order in which they came.
    pub(super) sorted_len: usize,
    /// `peers[i]` belongs to `members[i]`.
    pub(super) peers: Vec<Peer>,
    /// Notes of the peers that have some, by MAC.
    pub(super) notes: BTreeMap<MacAddr, Notes>,
    /// Profiles that differ from this node's, by MAC.
    pub(super) profiles: BTreeMap<MacAddr, Profile>,
    /// Versions that differ from this node's, by MAC.
    pub(super) versions: BTreeMap<MacAddr, Version>,
    /// ringMembersHash; `None` after a change, until it is needed.
    pub(super) hash: Option<u64>,
    pub(super) max: usize,
    /// Place of the latest frame's author, which is mostly the next one looked up. Any value is valid.
    pub(super) latest: usize,
    pub(super) wanting: usize,
    /// How many peers have failed in this tenure.
    pub(super) failed: usize,
    /// How many peers were heard and have not left since.
    pub(super) heard: usize,
    /// Members that were removed recently.
    pub(super) removed: Tombstones,
}

/// The result of an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Insertion {
    /// Added at this place.
    New(usize),
    /// Present already, at this place.
    Known(usize),
    Full,
}

impl Table {
    pub(super) fn new(max: usize) -> Self {
        Self {
            members: Vec::new(),
            sorted_len: 0,
            peers: Vec::new(),
            notes: BTreeMap::new(),
            profiles: BTreeMap::new(),
            versions: BTreeMap::new(),
            hash: None,
            max,
            latest: 0,
            wanting: 0,
            failed: 0,
            heard: 0,
            removed: Tombstones::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the size and hash of the table. Computes the hash if the table has changed since
    /// [`update_hash`](Self::update_hash).
    pub(super) fn digest(&self) -> Digest {
        Digest {
            size: self.size(),
            hash: self.hash.unwrap_or_else(|| self.compute_hash()),
        }
    }

    fn compute_hash(&self) -> u64 {
        let order = self.sorted_places();
        if order.is_empty() {
            return xxh3_64(self.members.as_bytes());
        }
        let members: Vec<Member> = order.iter().map(|&at| self.members[at]).collect();
        xxh3_64(members.as_bytes())
    }

    /// Returns whether a table with this digest is different.
    pub(super) fn differs(&mut self, digest: Digest) -> bool {
        if digest.size != self.size() {
            return true;
        }
        self.update_hash();
        digest != self.digest()
    }

    /// Computes the hash if the members have changed, so that [`digest`](Self::digest) need not.
    pub(super) fn update_hash(&mut self) {
        if self.hash.is_none() {
            self.sort();
            self.hash = Some(xxh3_64(self.members.as_bytes()));
        }
    }

    /// Sorts all members. Places change.
    pub(super) fn sort(&mut self) {
        if self.sorted_len == self.len() {
            return;
        }
        let unsorted = self.members.split_off(self.sorted_len);
        let peers = self.peers.split_off(self.sorted_len);
        let mut unsorted: Vec<(Member, Peer)> = unsorted.into_iter().zip(peers).collect();
        unsorted.sort_unstable_by_key(|(member, _)| member.mac);
        // From the back, so that each member is moved only once.
        let (mut from, mut to) = (self.sorted_len, self.sorted_len + unsorted.len());
        let (member, peer) = unsorted[0];
        self.members.resize(to, member);
        self.peers.resize(to, peer);
        while let Some(&(member, peer)) = unsorted.last() {
            to -= 1;
            if from > 0 && self.members[from - 1].mac > member.mac {
                from -= 1;
                self.members[to] = self.members[from];
                self.peers[to] = self.peers[from];
            } else {
                (self.members[to], self.peers[to]) = (member, peer);
                unsorted.pop();
            }
        }
        self.sorted_len = self.members.len();
    }

    /// Returns the places of all members in order; empty if all are sorted.
    pub(super) fn sorted_places(&self) -> Vec<usize> {
        if self.sorted_len == self.len() {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_unstable_by_key(|&at| self.members[at].mac);
        order
    }

    /// Returns the members, which are in order after [`sort`](Self::sort).
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(super) fn peers(&self) -> &[Peer] {
        &self.peers
    }

    pub(super) fn find(&self, mac: MacAddr) -> Option<usize> {
        self.find_place(mac, self.latest).ok()
    }

    /// Returns how many members come before `mac` in order.
    pub(super) fn rank(&self, mac: MacAddr) -> usize {
        let (sorted, unsorted) = self.members.split_at(self.sorted_len);
        let before = unsorted.iter().filter(|member| member.mac < mac);
        sorted.partition_point(|member| member.mac < mac) + before.count()
    }

    pub(super) fn peer_at(&mut self, at: usize) -> &mut Peer {
        &mut self.peers[at]
    }

    pub(super) fn peer_mut(&mut self, mac: MacAddr) -> Option<&mut Peer> {
        self.find(mac).map(|at| &mut self.peers[at])
    }

    /// Returns the notes of a member, created if absent; `None` if it is no member.
    pub(super) fn notes_mut(&mut self, mac: MacAddr) -> Option<&mut Notes> {
        let peer = self.find(mac).map(|at| &mut self.peers[at])?;
        peer.has_notes = true;
        Some(self.notes.entry(mac).or_default())
    }

    pub(super) fn profiles(&self) -> impl Iterator<Item = (MacAddr, Profile)> {
        self.profiles.iter().map(|(&mac, &profile)| (mac, profile))
    }

    /// Returns a member's profile, if it differs from this node's.
    pub(super) fn profile_of(&self, mac: MacAddr) -> Option<Profile> {
        self.profiles.get(&mac).copied()
    }

    /// Stores a member's profile; `None` stands for one that is unknown or equals this node's. Returns whether it has
    /// changed.
    pub(super) fn set_profile(&mut self, mac: MacAddr, profile: Option<Profile>) -> bool {
        let before = match profile {
            Some(_) if self.find(mac).is_none() => return false,
            Some(profile) => self.profiles.insert(mac, profile),
            None => self.profiles.remove(&mac),
        };
        before != profile
    }

    /// Returns the version that a member has announced; `None` if it has announced none. `own` is this node's.
    pub(super) fn version_of(&self, mac: MacAddr, own: Option<Version>) -> Option<Version> {
        let at = self.find(mac).filter(|&at| self.peers[at].told_version)?;
        let other = self.versions.get(&self.members[at].mac);
        other.copied().or(own)
    }

    /// Notes the version that a member has announced; `None` stands for this node's version.
    pub(super) fn set_version(&mut self, mac: MacAddr, other: Option<Version>) {
        let Some(peer) = self.peer_mut(mac) else {
            return;
        };
        peer.told_version = true;
        match other {
            Some(other) => _ = self.versions.insert(mac, other),
            None => _ = self.versions.remove(&mac),
        }
    }

    /// Adds a member, if it is absent and the table is not full.
    pub(super) fn insert(&mut self, mac: MacAddr) -> Insertion {
        match self.find_place(mac, self.latest) {
            Ok(at) => {
                self.latest = at;
                Insertion::Known(at)
            }
            Err(at) => self.insert_at(at, Member { mac, ip: NO_IP }),
        }
    }

    /// Adds this node if it is absent, even to a full table.
    pub(super) fn insert_own(&mut self, mac: MacAddr) -> Insertion {
        // A node that is not in its own table would have no place in ring order.
        let max = std::mem::replace(&mut self.max, usize::MAX);
        let inserted = self.insert(mac);
        self.max = max;
        inserted
    }

    /// Sets a member's IP address. Returns whether it has changed.
    pub(super) fn set_ip(&mut self, at: usize, ip: [u8; 16]) -> bool {
        let member = &mut self.members[at];
        let changed = member.ip != ip;
        if changed {
            member.ip = ip;
            let mac = member.mac;
            self.hash = None;
            if self.peers[at].has_notes
                && let Some(notes) = self.notes_mut(mac)
            {
                notes.disputed_since = None;
            }
        }
        changed
    }

    /// Adds a member at the place that [`find_place`](Self::find_place) returned, if the table is not full.
    pub(super) fn insert_at(&mut self, at: usize, member: Member) -> Insertion {
        if self.members.len() >= self.max {
            return Insertion::Full;
        }
        self.hash = None;
        if self.sorted_len < SORTED_MEMBERS_MAX {
            self.sorted_len += 1;
            self.members.insert(at, member);
            self.peers.insert(at, Peer::default());
            return Insertion::New(at);
        }
        self.members.push(member);
        self.peers.push(Peer::default());
        if self.members.len() - self.sorted_len < UNSORTED_MAX {
            return Insertion::New(self.members.len() - 1);
        }
        self.sort();
        Insertion::New(self.rank(member.mac))
    }

    /// Returns the place of a member, or the place to insert it. `hint` is its likely place.
    pub(super) fn find_place(&self, mac: MacAddr, hint: usize) -> Result<usize, usize> {
        if self
            .members
            .get(hint)
            .is_some_and(|member| member.mac == mac)
        {
            return Ok(hint);
        }
        let (sorted, unsorted) = self.members.split_at(self.sorted_len);
        sorted
            .binary_search_by_key(&mac, |member| member.mac)
            .or_else(|place| {
                let at = unsorted.iter().position(|member| member.mac == mac);
                at.map(|at| self.sorted_len + at).ok_or(place)
            })
    }

    /// Notes whether a member wants the token.
    pub(super) fn set_wants(&mut self, mac: MacAddr, wants: bool) {
        if !wants && self.wanting == 0 {
            // No member wants it, as in a plain rotation. This saves the lookup.
            return;
        }
        let Some(at) = self.find(mac) else { return };
        match (self.peers[at].wants, wants) {
            (false, true) => self.wanting += 1,
            (true, false) => self.wanting -= 1,
            _ => return,
        }
        self.peers[at].wants = wants;
        // Overdue counts from this request on.
        self.peers[at].overdue = false;
    }

    /// Notes a frame of the member at a place. It is eligible at once, unless it only asks for a token that it has just
    /// not taken.
    pub(super) fn note_heard(&mut self, at: usize, arrived: Instant, only_wants: bool) {
        let peer = &mut self.peers[at];
        // A delayed frame must not make the member look silent again.
        peer.seen = if peer.heard {
            peer.seen.max(arrived.as_nanos())
        } else {
            arrived.as_nanos()
        };
        if !peer.heard || peer.left {
            self.heard += 1;
        }
        (peer.heard, peer.left) = (true, false);
        if peer.failed && only_wants {
            return;
        }
        peer.penalty.on_heard();
        if std::mem::take(&mut peer.failed) {
            self.failed -= 1;
        }
    }

    /// Notes whether the member at a place has left.
    pub(super) fn set_left(&mut self, at: usize, left: bool) {
        let peer = &mut self.peers[at];
        if peer.heard && peer.left != left {
            self.heard = if left { self.heard - 1 } else { self.heard + 1 };
        }
        peer.left = left;
    }

    pub(super) fn count_left(&self) -> usize {
        self.peers.iter().filter(|peer| peer.left).count()
    }

    /// Notes that a member has not taken the token. Returns how many handovers to it have failed in a row.
    pub(super) fn note_failure(&mut self, mac: MacAddr) -> u32 {
        self.set_wants(mac, false);
        let Some(at) = self.find(mac) else { return 0 };
        let peer = &mut self.peers[at];
        peer.penalty.on_failure();
        if !std::mem::replace(&mut peer.failed, true) {
            self.failed += 1;
        }
        peer.penalty.failures()
    }

    /// Notes the end of this node's tenure. A member that has failed in it and asked again is eligible in the next one.
    /// A member that wants the token is overdue.
    pub(super) fn end_tenure(&mut self) {
        if self.failed == 0 && self.wanting == 0 {
            return;
        }
        for peer in &mut self.peers {
            peer.overdue = peer.wants;
            if peer.failed && peer.wants {
                peer.penalty.on_heard();
            }
            peer.failed = false;
        }
        self.failed = 0;
    }

    /// Removes members, given in the order of their addresses, with all their data.
    pub(super) fn remove(&mut self, macs: &[MacAddr]) {
        self.sort();
        let goes = |mac: &MacAddr| macs.binary_search(mac).is_ok();
        let mut kept = 0;
        for at in 0..self.members.len() {
            let (member, peer) = (self.members[at], self.peers[at]);
            if goes(&member.mac) {
                self.wanting -= usize::from(peer.wants);
                self.failed -= usize::from(peer.failed);
                self.heard -= usize::from(peer.heard && !peer.left);
            } else {
                (self.members[kept], self.peers[kept]) = (member, peer);
                kept += 1;
            }
        }
        self.members.truncate(kept);
        self.peers.truncate(kept);
        self.sorted_len = kept;
        self.notes.retain(|mac, _| !goes(mac));
        self.profiles.retain(|mac, _| !goes(mac));
        self.versions.retain(|mac, _| !goes(mac));
        self.hash = None;
    }

    pub(super) fn size(&self) -> u32 {
        // `Constants::check` bounds the table far below 2^32.
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    /// Whether the sorted part is in order and the counts are right.
    pub(super) fn is_sound(&self) -> bool {
        let (sorted, unsorted) = self.members.split_at(self.sorted_len);
        let count = |is: fn(&Peer) -> bool| self.peers.iter().filter(|peer| is(peer)).count();
        sorted.is_sorted_by(|a, b| a.mac < b.mac)
            && unsorted.len() < UNSORTED_MAX
            && self.peers.len() == self.len()
            && self.wanting == count(|peer| peer.wants)
            && self.failed == count(|peer| peer.failed)
            && self.heard == count(|peer| peer.heard && !peer.left)
    }
}
