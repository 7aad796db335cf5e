//! The member table: a vector of members sorted by MAC, and this node's data about each member.

use std::collections::BTreeMap;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Member, NO_IP, Profile, Version};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use super::pause_notice::differ;
use super::peer::{Notes, Peer};
use super::preference::Preference;
use super::tombstones::Tombstones;
use crate::lab2::{HostName, Pause};
use crate::time::Instant;

/// A table with at most this number of members is always sorted. A larger table appends new members. The table sorts
/// these members when a function needs the order, or when [`UNSORTED_MAX`] members are unsorted. A sorted insertion
/// would move half of the table for each new member.
const SORTED_MEMBERS_MAX: usize = 512;
/// When this number of members is unsorted, the table sorts them.
const UNSORTED_MAX: usize = 128;

/// All members, and a hash of their encodings.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct Table {
    /// The members in wire format. So the hash and RING_MEMBERS need no copy of the members.
    pub(super) members: Vec<Member>,
    /// Number of sorted members. A few unsorted members follow the sorted members, in the order of their insertion.
    pub(super) sorted_len: usize,
    /// Data of the members: `peers[i]` belongs to `members[i]`.
    pub(super) peers: Vec<Peer>,
    /// Notes about members, by MAC. Few members have notes.
    pub(super) notes: BTreeMap<MacAddr, Notes>,
    /// The profiles that differ from the profile of this node, by MAC.
    pub(super) profiles: BTreeMap<MacAddr, Profile>,
    /// The versions that differ from the version of this node, by MAC.
    pub(super) versions: BTreeMap<MacAddr, Version>,
    /// The host names that members announced, by MAC.
    pub(super) host_names: BTreeMap<MacAddr, HostName>,
    /// The pauses that members announced, by MAC.
    pub(super) pauses: BTreeMap<MacAddr, Pause>,
    /// The preferences that members announced, by MAC.
    pub(super) preferences: BTreeMap<MacAddr, Preference>,
    /// The ringMembersHash; `None` if the table changed after the last computation of the hash.
    pub(super) hash: Option<u64>,
    pub(super) max: usize,
    /// Place of the latest frame's author. The next lookup is usually for the same member. Any value is valid.
    pub(super) latest: usize,
    pub(super) wanting: usize,
    /// Number of members whose flag `failed` is set.
    pub(super) failed: usize,
    /// Number of members that were heard and have not left since they were last heard.
    pub(super) heard: usize,
    /// Members that were removed recently.
    pub(super) removed: Tombstones,
}

/// The result of an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Insertion {
    /// Added at this place.
    New(usize),
    /// The member was already in the table, at this place.
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
            host_names: BTreeMap::new(),
            pauses: BTreeMap::new(),
            preferences: BTreeMap::new(),
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

    /// Returns the size and hash of the table. If the table changed after the last [`update_hash`](Self::update_hash),
    /// computes the hash.
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

    /// Returns whether a table with this digest differs from this table.
    pub(super) fn differs(&mut self, digest: Digest) -> bool {
        // If the sizes differ, the hash is not needed. In a large table, its computation takes long.
        if digest.size != self.size() {
            return true;
        }
        self.update_hash();
        digest != self.digest()
    }

    /// If the members changed, computes the hash. Then [`digest`](Self::digest) need not compute it each time.
    pub(super) fn update_hash(&mut self) {
        if self.hash.is_none() {
            self.sort();
            self.hash = Some(xxh3_64(self.members.as_bytes()));
        }
    }

    /// Sorts all members. The sort changes the places of members.
    pub(super) fn sort(&mut self) {
        if self.sorted_len == self.len() {
            return;
        }
        let unsorted = self.members.split_off(self.sorted_len);
        let peers = self.peers.split_off(self.sorted_len);
        let mut unsorted: Vec<(Member, Peer)> = unsorted.into_iter().zip(peers).collect();
        unsorted.sort_unstable_by_key(|(member, _)| member.mac);
        // The merge starts at the back, so that it moves each member only once.
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

    /// Returns the places of all members in the order of their MAC addresses. Returns an empty list if the table is
    /// sorted.
    pub(super) fn sorted_places(&self) -> Vec<usize> {
        if self.sorted_len == self.len() {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_unstable_by_key(|&at| self.members[at].mac);
        order
    }

    /// Returns the members. The members are in order only after [`sort`](Self::sort).
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(super) fn peers(&self) -> &[Peer] {
        &self.peers
    }

    pub(super) fn find(&self, mac: MacAddr) -> Option<usize> {
        self.find_place(mac, self.latest).ok()
    }

    /// Returns the number of members with a smaller address than `mac`.
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

    /// Returns the notes about a member. If the member has no notes, creates them. Returns `None` if `mac` is not in
    /// the table.
    pub(super) fn notes_mut(&mut self, mac: MacAddr) -> Option<&mut Notes> {
        let peer = self.find(mac).map(|at| &mut self.peers[at])?;
        peer.has_notes = true;
        Some(self.notes.entry(mac).or_default())
    }

    pub(super) fn profiles(&self) -> impl Iterator<Item = (MacAddr, Profile)> {
        self.profiles.iter().map(|(&mac, &profile)| (mac, profile))
    }

    /// Returns a member's profile, if it differs from this node's profile.
    pub(super) fn profile_of(&self, mac: MacAddr) -> Option<Profile> {
        self.profiles.get(&mac).copied()
    }

    /// Stores a member's profile. The profile `None` means that the profile is unknown, or that it equals this node's
    /// profile. Returns whether this call changed the stored profile.
    pub(super) fn set_profile(&mut self, mac: MacAddr, profile: Option<Profile>) -> bool {
        let before = match profile {
            // Forged authors must not fill the map: the limit of the table is also the limit of the map.
            Some(_) if self.find(mac).is_none() => return false,
            Some(profile) => self.profiles.insert(mac, profile),
            None => self.profiles.remove(&mac),
        };
        before != profile
    }

    /// Returns the version that a member announced; `None` if the member announced no version. `own` is this node's
    /// version.
    pub(super) fn version_of(&self, mac: MacAddr, own: Option<Version>) -> Option<Version> {
        let at = self.find(mac).filter(|&at| self.peers[at].told_version)?;
        let other = self.versions.get(&self.members[at].mac);
        other.copied().or(own)
    }

    /// Notes the version that a member announced; `None` means this node's version.
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

    /// Notes the host name that a member announced. Returns whether the name is new: before, the member announced a
    /// different host name or none. Host names of machines outside the table are not stored, so the limit of the table
    /// also limits their number.
    pub(super) fn set_host_name(&mut self, mac: MacAddr, name: HostName) -> bool {
        self.find(mac).is_some() && self.host_names.insert(mac, name) != Some(name)
    }

    /// Notes the pause that a member announced; `None` if it announced none. Returns whether the pause began or ended,
    /// or has a different end or reason. The limit of the table also limits the number of pauses.
    pub(super) fn set_pause(&mut self, mac: MacAddr, pause: Option<Pause>) -> bool {
        let pause = pause.filter(|_| self.find(mac).is_some());
        let before = match pause {
            Some(pause) => self.pauses.insert(mac, pause),
            None => self.pauses.remove(&mac),
        };
        match (before, pause) {
            (Some(before), Some(pause)) => differ(&pause, &before),
            (before, pause) => before != pause,
        }
    }

    /// If the member is absent and the table is not full, adds the member.
    pub(super) fn insert(&mut self, mac: MacAddr) -> Insertion {
        match self.find_place(mac, self.latest) {
            Ok(at) => {
                self.latest = at;
                Insertion::Known(at)
            }
            Err(at) => self.insert_at(at, Member { mac, ip: NO_IP }),
        }
    }

    /// If this node is absent, adds it, even to a full table.
    pub(super) fn insert_own(&mut self, mac: MacAddr) -> Insertion {
        // A node that is not in its table would have no place in ring order.
        let max = std::mem::replace(&mut self.max, usize::MAX);
        let inserted = self.insert(mac);
        self.max = max;
        inserted
    }

    /// Sets a member's IP address. Returns whether the address changed.
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
                // A new address ends the dispute about the previous addresses.
                notes.disputed_since = None;
            }
        }
        changed
    }

    /// If the table is not full, adds a member at the place from [`find_place`](Self::find_place).
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

    /// Returns the place of a member. If the member is not in the table, the error is the place for its insertion.
    /// `hint` is a guess of the member's place.
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
            // The unsorted part is short, so a linear search is cheap.
            .or_else(|place| {
                let at = unsorted.iter().position(|member| member.mac == mac);
                at.map(|at| self.sorted_len + at).ok_or(place)
            })
    }

    /// Notes whether a member wants the token.
    pub(super) fn set_wants(&mut self, mac: MacAddr, wants: bool) {
        if !wants && self.wanting == 0 {
            // If no member wants the token, as in a plain rotation, this saves the lookup.
            return;
        }
        let Some(at) = self.find(mac) else { return };
        match (self.peers[at].wants, wants) {
            (false, true) => self.wanting += 1,
            (true, false) => self.wanting -= 1,
            _ => return,
        }
        self.peers[at].wants = wants;
        // Only the end of a tenure after this request makes the member overdue.
        self.peers[at].overdue = false;
    }

    /// Notes that a frame of the member at the place `at` arrived. The frame makes the member eligible at once. There
    /// is one exception: a WANT_TOKEN has no such effect if the member failed to take the token in this tenure.
    pub(super) fn note_heard(&mut self, at: usize, arrived: Instant, only_wants: bool) {
        let peer = &mut self.peers[at];
        // A delayed frame must not move the time back.
        peer.seen = if peer.heard {
            peer.seen.max(arrived.as_nanos())
        } else {
            arrived.as_nanos()
        };
        if !peer.heard || peer.left {
            self.heard += 1;
        }
        (peer.heard, peer.left) = (true, false);
        // Otherwise a member that asks again and again, but never takes the token, would get every offer.
        if peer.failed && only_wants {
            return;
        }
        peer.penalty.on_heard();
        if std::mem::take(&mut peer.failed) {
            self.failed -= 1;
        }
    }

    /// Notes whether the member at the place `at` left.
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

    /// Notes that a member did not take the token. Returns the number of successive failed handovers to this member.
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

    /// Notes the end of this node's tenure. If a member failed in this tenure and asked for the token again, it is
    /// eligible in the next tenure. If a member wants the token, it becomes overdue.
    pub(super) fn end_tenure(&mut self) {
        // A plain rotation changes nothing here. The early return saves a pass over the table in each hop.
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

    /// Removes members with all their data. `macs` must be sorted.
    pub(super) fn remove(&mut self, macs: &[MacAddr]) {
        self.sort();
        let goes = |mac: &MacAddr| macs.binary_search(mac).is_ok();
        // One pass moves each remaining member at most once, however many members leave.
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
        self.host_names.retain(|mac, _| !goes(mac));
        self.pauses.retain(|mac, _| !goes(mac));
        self.preferences.retain(|mac, _| !goes(mac));
        self.hash = None;
    }

    pub(super) fn size(&self) -> u32 {
        // `Constants::check` limits the table to far fewer than 2^32 members.
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    /// Whether the sorted part of the table is sorted, and the counts are correct.
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
