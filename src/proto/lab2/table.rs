//! The member table: a vector sorted by MAC, and what this node remembers of each member.

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Member, NO_IP};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes;

use crate::proto::penalty::Penalty;
use crate::proto::time::Instant;

/// What this node remembers of a member and tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Peer {
    pub(super) penalty: Penalty,
    /// When its last frame came.
    pub(super) last_seen: Option<Instant>,
    /// It has said WANT_TOKEN and not had the token since.
    pub(super) wants: bool,
    /// It is new and is still to be answered with PING.
    pub(super) owed_ping: bool,
    /// When it was last sent PING because its digest differed.
    pub(super) pinged: Option<Instant>,
    /// When its PING was last answered with RING_MEMBERS.
    pub(super) answered: Option<Instant>,
    /// When its RING_MEMBERS was last returned with the own table.
    pub(super) returned: Option<Instant>,
    /// When another table was first found to hold another ip for it than this one does.
    pub(super) disputed_since: Option<Instant>,
    /// When it was last shown the table because its ip was disputed.
    pub(super) disputed: Option<Instant>,
    /// Where in the table the next RING_MEMBERS to it begins.
    pub(super) cursor: usize,
}

/// All members by MAC, with the digest of their encodings.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// As they lie on the wire, so that the hash and RING_MEMBERS read them where they are.
    pub(super) members: Vec<Member>,
    /// `peers[i]` belongs to `members[i]`.
    pub(super) peers: Vec<Peer>,
    pub(super) digest: Digest,
    pub(super) max: usize,
    /// How many peers want the token.
    pub(super) wanting: usize,
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
        let mut table = Self {
            members: Vec::new(),
            peers: Vec::new(),
            digest: Digest { size: 0, hash: 0 },
            max,
            wanting: 0,
        };
        table.rehash();
        table
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) const fn digest(&self) -> Digest {
        self.digest
    }

    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(super) fn peers(&self) -> &[Peer] {
        &self.peers
    }

    pub(super) fn find(&self, mac: MacAddr) -> Option<usize> {
        self.members
            .binary_search_by_key(&mac, |member| member.mac)
            .ok()
    }

    pub(super) fn peer_mut(&mut self, mac: MacAddr) -> Option<&mut Peer> {
        self.find(mac).map(|at| &mut self.peers[at])
    }

    /// Adds a member if it is absent and there is room.
    pub(super) fn insert(&mut self, mac: MacAddr) -> Inserted {
        let inserted = self.insert_unhashed(mac, NO_IP);
        if let Inserted::New(_) = inserted {
            self.rehash();
        }
        inserted
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
        let changed = self.put_ip(at, ip);
        if changed {
            self.rehash();
        }
        changed
    }

    fn put_ip(&mut self, at: usize, ip: [u8; 16]) -> bool {
        let changed = self.members[at].ip != ip;
        if changed {
            self.members[at].ip = ip;
            self.peers[at].disputed_since = None;
        }
        changed
    }

    /// Adds the absent ones of `members`, calling `each` with the outcome for every one of them;
    /// `prefer` chooses between the ip held for a member and the one offered.
    pub(super) fn merge(
        &mut self,
        members: &[Member],
        mut prefer: impl FnMut(&Member, &mut Peer, &Member) -> [u8; 16],
        mut each: impl FnMut(&Member, Inserted),
    ) {
        let mut changed = false;
        for offered in members {
            let inserted = self.insert_unhashed(offered.mac, offered.ip);
            match inserted {
                Inserted::New(_) => changed = true,
                Inserted::Known(at) => {
                    let ip = prefer(&self.members[at], &mut self.peers[at], offered);
                    changed |= self.put_ip(at, ip);
                }
                Inserted::Full => {}
            }
            each(offered, inserted);
        }
        if changed {
            self.rehash();
        }
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
    }

    /// The next wanting member in ring order after `last` and before `me`.
    pub(super) fn next_wanting(&self, last: MacAddr, me: MacAddr) -> Option<MacAddr> {
        if self.wanting == 0 {
            return None;
        }
        self.turns(last, me)
            .find(|&at| self.peers[at].wants && self.peers[at].penalty.turns() == 0)
            .map(|at| self.members[at].mac)
    }

    /// The next eligible member in ring order after `last` and before `me`; those passed over
    /// on the way have a turn less to wait.
    pub(super) fn next_eligible(&mut self, last: MacAddr, me: MacAddr) -> Option<MacAddr> {
        let turns = self.turns(last, me);
        for at in turns {
            if !self.peers[at].penalty.pass_over() {
                return Some(self.members[at].mac);
            }
        }
        None
    }

    /// The places of the members whose turn it is after `last`, up to `me`, in ring order.
    fn turns(&self, last: MacAddr, me: MacAddr) -> impl Iterator<Item = usize> + use<> {
        let len = self.members.len();
        let after = self.members.partition_point(|member| member.mac <= last);
        let until = self.members.partition_point(|member| member.mac < me);
        let count = (until + len - after) % len.max(1);
        (after..after + count).map(move |at| at % len)
    }

    fn insert_unhashed(&mut self, mac: MacAddr, ip: [u8; 16]) -> Inserted {
        match self.members.binary_search_by_key(&mac, |member| member.mac) {
            Ok(at) => Inserted::Known(at),
            Err(_) if self.members.len() >= self.max => Inserted::Full,
            Err(at) => {
                self.members.insert(at, Member { mac, ip });
                self.peers.insert(at, Peer::default());
                Inserted::New(at)
            }
        }
    }

    fn rehash(&mut self) {
        self.digest = Digest {
            // `Constants::check` bounds the table far below 2^32.
            size: u32::try_from(self.members.len()).unwrap_or(u32::MAX),
            hash: xxh3_64(self.members.as_bytes()),
        };
    }
}
