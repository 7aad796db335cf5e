//! The member table: a vector sorted by MAC, and what this node remembers of each member.

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Member, NO_IP, Profile, Version};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use super::peer::{Notes, Peer};
use super::removed::Removed;
use crate::time::Instant;

/// Members of a table larger than this are put in order some at a time, when somebody looks at the
/// order or there are [`LATE`] of them: making room for each would move half of the table.
const MANY: usize = 512;
/// The most members that are not in order.
const LATE: usize = 128;

/// All members by MAC, with the digest of their encodings.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// As they lie on the wire, so that the hash and RING_MEMBERS read them where they are.
    pub(super) members: Vec<Member>,
    /// So many are in order; the few after them are as they came.
    pub(super) in_order: usize,
    /// `peers[i]` belongs to `members[i]`.
    pub(super) peers: Vec<Peer>,
    /// By MAC: the notes of those peers that say that there are some.
    pub(super) notes: Vec<(MacAddr, Notes)>,
    /// By MAC: what those members have said of themselves that say something else than this node.
    pub(super) profiles: Vec<(MacAddr, Profile)>,
    /// By MAC: the versions of those members that have told another one than this node's.
    pub(super) versions: Vec<(MacAddr, Version)>,
    /// ringMembersHash; `None` since the members changed. While many come at once nobody asks.
    pub(super) hash: Option<u64>,
    pub(super) max: usize,
    /// Where the author of the latest frame is, who is mostly whom one asks for next. Any place will do.
    pub(super) latest: usize,
    /// How many peers want the token.
    pub(super) wanting: usize,
    /// How many peers have failed in this tenure.
    pub(super) failed: usize,
    /// How many peers a frame has come from, and have not left since.
    pub(super) heard: usize,
    /// Who was removed not long ago.
    pub(super) removed: Removed,
}

/// What became of an address that was to be in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    /// It was added at this place.
    New(usize),
    /// It is at this place already.
    Known(usize),
    /// The table is full.
    Full,
}

impl Table {
    pub(super) fn new(max: usize) -> Self {
        Self {
            members: Vec::new(),
            in_order: 0,
            peers: Vec::new(),
            notes: Vec::new(),
            profiles: Vec::new(),
            versions: Vec::new(),
            hash: None,
            max,
            latest: 0,
            wanting: 0,
            failed: 0,
            heard: 0,
            removed: Removed::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Size and hash of the table. Hashes it all, unless nothing has changed since
    /// [`hash_anew`](Self::hash_anew).
    pub(super) fn digest(&self) -> Digest {
        Digest {
            size: self.size(),
            hash: self.hash.unwrap_or_else(|| self.hash_as_it_is()),
        }
    }

    fn hash_as_it_is(&self) -> u64 {
        let order = self.order();
        if order.is_empty() {
            return xxh3_64(self.members.as_bytes());
        }
        let members: Vec<Member> = order.iter().map(|&at| self.members[at]).collect();
        xxh3_64(members.as_bytes())
    }

    /// Whether a table with this digest is another one.
    pub(super) fn differs(&mut self, digest: Digest) -> bool {
        if digest.size != self.size() {
            return true;
        }
        self.hash_anew();
        digest != self.digest()
    }

    /// Hashes the members if they have changed, so that [`digest`](Self::digest) need not.
    pub(super) fn hash_anew(&mut self) {
        if self.hash.is_none() {
            self.sort();
            self.hash = Some(xxh3_64(self.members.as_bytes()));
        }
    }

    /// Puts all members in order. Places change.
    pub(super) fn sort(&mut self) {
        if self.in_order == self.len() {
            return;
        }
        let late = self.members.split_off(self.in_order);
        let peers = self.peers.split_off(self.in_order);
        let mut late: Vec<(Member, Peer)> = late.into_iter().zip(peers).collect();
        late.sort_unstable_by_key(|(member, _)| member.mac);
        // From the back, so that each is moved once, to where it stays.
        let (mut from, mut to) = (self.in_order, self.in_order + late.len());
        let (member, peer) = late[0];
        self.members.resize(to, member);
        self.peers.resize(to, peer);
        while let Some(&(member, peer)) = late.last() {
            to -= 1;
            if from > 0 && self.members[from - 1].mac > member.mac {
                from -= 1;
                self.members[to] = self.members[from];
                self.peers[to] = self.peers[from];
            } else {
                (self.members[to], self.peers[to]) = (member, peer);
                late.pop();
            }
        }
        self.in_order = self.members.len();
    }

    /// The places of all members in order; none if their places are that already.
    pub(super) fn order(&self) -> Vec<usize> {
        if self.in_order == self.len() {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_unstable_by_key(|&at| self.members[at].mac);
        order
    }

    /// The members, in order once they are [sorted](Self::sort).
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(super) fn peers(&self) -> &[Peer] {
        &self.peers
    }

    pub(super) fn find(&self, mac: MacAddr) -> Option<usize> {
        self.place(mac, self.latest).ok()
    }

    /// How many members come before `mac` in order.
    pub(super) fn rank(&self, mac: MacAddr) -> usize {
        let (in_order, late) = self.members.split_at(self.in_order);
        let before = late.iter().filter(|member| member.mac < mac);
        in_order.partition_point(|member| member.mac < mac) + before.count()
    }

    pub(super) fn peer_at(&mut self, at: usize) -> &mut Peer {
        &mut self.peers[at]
    }

    pub(super) fn peer_mut(&mut self, mac: MacAddr) -> Option<&mut Peer> {
        self.find(mac).map(|at| &mut self.peers[at])
    }

    /// The notes of a member, made if there are none; `None` if it is no member.
    pub(super) fn notes_mut(&mut self, mac: MacAddr) -> Option<&mut Notes> {
        let peer = self.find(mac).map(|at| &mut self.peers[at])?;
        peer.noted = true;
        let place = self.notes.binary_search_by_key(&mac, |&(mac, _)| mac);
        let at = place.unwrap_or_else(|at| {
            self.notes.insert(at, (mac, Notes::default()));
            at
        });
        Some(&mut self.notes[at].1)
    }

    /// What members have said of themselves that say something else than this node.
    pub(super) fn profiles(&self) -> &[(MacAddr, Profile)] {
        &self.profiles
    }

    /// What a member has said of itself, if that differs.
    pub(super) fn profile_of(&self, mac: MacAddr) -> Option<Profile> {
        let place = self.profiles.binary_search_by_key(&mac, |&(mac, _)| mac);
        place.ok().map(|at| self.profiles[at].1)
    }

    /// Remembers what a member says of itself; `None`: nothing, or the same as this node. Whether that
    /// is news.
    pub(super) fn set_profile(&mut self, mac: MacAddr, said: Option<Profile>) -> bool {
        if self.profiles.is_empty() && said.is_none() {
            return false;
        }
        let place = self.profiles.binary_search_by_key(&mac, |&(mac, _)| mac);
        match (place, said) {
            (Ok(at), None) => {
                self.profiles.remove(at);
            }
            (Ok(at), Some(said)) => {
                let before = std::mem::replace(&mut self.profiles[at].1, said);
                return before != said;
            }
            (Err(at), Some(said)) if self.find(mac).is_some() => {
                self.profiles.insert(at, (mac, said));
            }
            (Err(_), _) => return false,
        }
        true
    }

    /// The version that a member has told, where this node's is `own`; `None`: it has told none.
    pub(super) fn version_of(&self, mac: MacAddr, own: Option<Version>) -> Option<Version> {
        let at = self.find(mac).filter(|&at| self.peers[at].told_version)?;
        let mac = self.members[at].mac;
        let place = self.versions.binary_search_by_key(&mac, |&(mac, _)| mac);
        place.map_or(own, |at| Some(self.versions[at].1))
    }

    /// Notes the version that a member has told; `None`: it is this node's.
    pub(super) fn set_version(&mut self, mac: MacAddr, other: Option<Version>) {
        let Some(peer) = self.peer_mut(mac) else {
            return;
        };
        peer.told_version = true;
        if self.versions.is_empty() && other.is_none() {
            return;
        }
        let place = self.versions.binary_search_by_key(&mac, |&(mac, _)| mac);
        match (place, other) {
            (Ok(at), Some(other)) => self.versions[at].1 = other,
            (Ok(at), None) => {
                self.versions.remove(at);
            }
            (Err(at), Some(other)) => self.versions.insert(at, (mac, other)),
            (Err(_), None) => {}
        }
    }

    /// Adds a member if it is absent and there is room.
    pub(super) fn insert(&mut self, mac: MacAddr) -> Inserted {
        match self.place(mac, self.latest) {
            Ok(at) => {
                self.latest = at;
                Inserted::Known(at)
            }
            Err(at) => self.insert_at(at, Member { mac, ip: NO_IP }),
        }
    }

    /// Adds this node itself, for which there is always room, if it is absent.
    pub(super) fn insert_own(&mut self, mac: MacAddr) -> Inserted {
        let max = std::mem::replace(&mut self.max, usize::MAX);
        let inserted = self.insert(mac);
        self.max = max;
        inserted
    }

    /// Sets a member's ip and says whether that changed it.
    pub(super) fn set_ip(&mut self, at: usize, ip: [u8; 16]) -> bool {
        let member = &mut self.members[at];
        let changed = member.ip != ip;
        if changed {
            member.ip = ip;
            let mac = member.mac;
            self.hash = None;
            if self.peers[at].noted
                && let Some(notes) = self.notes_mut(mac)
            {
                notes.disputed_since = None;
            }
        }
        changed
    }

    /// Adds a member where [`place`](Self::place) found it missing, if there is room.
    pub(super) fn insert_at(&mut self, at: usize, member: Member) -> Inserted {
        if self.members.len() >= self.max {
            return Inserted::Full;
        }
        self.hash = None;
        if self.in_order < MANY {
            self.in_order += 1;
            self.members.insert(at, member);
            self.peers.insert(at, Peer::default());
            return Inserted::New(at);
        }
        self.members.push(member);
        self.peers.push(Peer::default());
        if self.members.len() - self.in_order < LATE {
            return Inserted::New(self.members.len() - 1);
        }
        self.sort();
        Inserted::New(self.rank(member.mac))
    }

    /// Where a member is, or would be; `hint` is where it is likely to be.
    pub(super) fn place(&self, mac: MacAddr, hint: usize) -> Result<usize, usize> {
        if self
            .members
            .get(hint)
            .is_some_and(|member| member.mac == mac)
        {
            return Ok(hint);
        }
        let (in_order, late) = self.members.split_at(self.in_order);
        in_order
            .binary_search_by_key(&mac, |member| member.mac)
            .or_else(|place| {
                let at = late.iter().position(|member| member.mac == mac);
                at.map(|at| self.in_order + at).ok_or(place)
            })
    }

    /// Remembers, or forgets, that a member wants the token.
    pub(super) fn set_wants(&mut self, mac: MacAddr, wants: bool) {
        if !wants && self.wanting == 0 {
            // Nobody does, as in a plain rotation: there is nothing to look up.
            return;
        }
        let Some(at) = self.find(mac) else { return };
        match (self.peers[at].wants, wants) {
            (false, true) => self.wanting += 1,
            (true, false) => self.wanting -= 1,
            _ => return,
        }
        self.peers[at].wants = wants;
        self.peers[at].overdue = false;
    }

    /// A frame of the member at a place arrived. It is eligible at once, unless it only asks for
    /// the token that it has just not taken.
    pub(super) fn heard(&mut self, at: usize, arrived: Instant, only_wants: bool) {
        let peer = &mut self.peers[at];
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
        peer.penalty.heard();
        if std::mem::take(&mut peer.failed) {
            self.failed -= 1;
        }
    }

    /// The member at a place has left, or is there though nothing of it was heard.
    pub(super) fn set_left(&mut self, at: usize, left: bool) {
        let peer = &mut self.peers[at];
        if peer.heard && peer.left != left {
            self.heard = if left { self.heard - 1 } else { self.heard + 1 };
        }
        peer.left = left;
    }

    /// How many members have left.
    pub(super) fn left_members(&self) -> usize {
        self.peers.iter().filter(|peer| peer.left).count()
    }

    /// A member has not taken the token: how many hand-overs to it have failed in a row.
    pub(super) fn fail(&mut self, mac: MacAddr) -> u32 {
        self.set_wants(mac, false);
        let Some(at) = self.find(mac) else { return 0 };
        let peer = &mut self.peers[at];
        peer.penalty.fail();
        if !std::mem::replace(&mut peer.failed, true) {
            self.failed += 1;
        }
        peer.penalty.failures()
    }

    /// The tenure is over: who has asked for the token since it failed is eligible in the next, and who has
    /// wanted it before is overdue then.
    pub(super) fn end_tenure(&mut self) {
        if self.failed == 0 && self.wanting == 0 {
            return;
        }
        for peer in &mut self.peers {
            peer.overdue = peer.wants;
            if peer.failed && peer.wants {
                peer.penalty.heard();
            }
            peer.failed = false;
        }
        self.failed = 0;
    }

    /// Removes members, whose addresses are in order, with all that is remembered of them.
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
        self.in_order = kept;
        self.notes.retain(|(mac, _)| !goes(mac));
        self.profiles.retain(|(mac, _)| !goes(mac));
        self.versions.retain(|(mac, _)| !goes(mac));
        self.hash = None;
    }

    pub(super) fn size(&self) -> u32 {
        // `Constants::check` bounds the table far below 2^32.
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    /// Whether the members are in order as far as that is said, and the counts are right.
    #[cfg(debug_assertions)]
    pub(super) fn is_sound(&self) -> bool {
        let (in_order, late) = self.members.split_at(self.in_order);
        let count = |is: fn(&Peer) -> bool| self.peers.iter().filter(|peer| is(peer)).count();
        in_order.is_sorted_by(|a, b| a.mac < b.mac)
            && late.len() < LATE
            && self.peers.len() == self.len()
            && self.wanting == count(|peer| peer.wants)
            && self.failed == count(|peer| peer.failed)
            && self.heard == count(|peer| peer.heard && !peer.left)
    }
}
