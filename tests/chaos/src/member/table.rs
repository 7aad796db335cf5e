//! The member table.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use ring_segment::{Digest, MacAddr, Member as Entry, Message, Seen, digest_of};

use super::Outgoing;

const NO_IP: [u8; 16] = [0; 16];

/// Members of the ring. No member changes its IP in a run of this program. An entry without an IP takes the first IP
/// that the member announces.
#[derive(Debug)]
pub(crate) struct Table {
    own: MacAddr,
    members: BTreeMap<MacAddr, [u8; 16]>,
    digest: Digest,
    /// Time of the last message about the table to each peer.
    last_messages: HashMap<MacAddr, Duration>,
}

impl Table {
    pub(crate) fn new(own: MacAddr, ip: [u8; 16]) -> Self {
        let mut table = Self {
            own,
            members: BTreeMap::from([(own, ip)]),
            digest: Digest { size: 0, hash: 0 },
            last_messages: HashMap::new(),
        };
        table.digest = digest_of(&table.entries());
        table
    }

    pub(crate) fn own(&self) -> MacAddr {
        self.own
    }

    pub(crate) fn members(&self) -> &BTreeMap<MacAddr, [u8; 16]> {
        &self.members
    }

    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) fn add_author(&mut self, author: MacAddr) {
        self.learn(author, NO_IP);
    }

    pub(crate) fn ping(&self) -> Message {
        Message::Ping {
            digest: self.digest,
            ip: self.members.get(&self.own).copied().unwrap_or(NO_IP),
        }
    }

    /// Handles a digest in a frame. Returns the message to send, if any.
    pub(crate) fn on_frame(
        &mut self,
        now: Duration,
        seen: &Seen,
        owner: bool,
        period: Duration,
    ) -> Option<Outgoing> {
        match &seen.message {
            Message::Ping { ip, digest } => {
                self.learn(seen.author, *ip);
                let is_answer_due = owner && *digest != self.digest;
                (is_answer_due && self.allow_message(now, seen.author, period))
                    .then(|| (seen.author, self.all()))
            }
            Message::RingMembers { members, digest } => {
                let this = self.own;
                let own = members.iter().find(|member| member.mac == this);
                let wrong = own.is_some_and(|own| Some(&own.ip) != self.members.get(&self.own));
                for member in members.iter().filter(|member| member.mac != this) {
                    self.learn(member.mac, member.ip);
                }
                let differs = wrong || *digest != self.digest;
                if !differs || !self.allow_message(now, seen.author, period) {
                    return None;
                }
                Some(if wrong {
                    (MacAddr::broadcast(), self.ping())
                } else {
                    (seen.author, self.all())
                })
            }
            Message::TokenIsHere { digest, .. } if *digest != self.digest && !owner => self
                .allow_message(now, seen.author, period)
                .then(|| (seen.author, self.ping())),
            _ => None,
        }
    }

    fn learn(&mut self, mac: MacAddr, ip: [u8; 16]) {
        let held = self.members.entry(mac);
        let is_new = matches!(held, std::collections::btree_map::Entry::Vacant(_));
        let held = held.or_insert(NO_IP);
        if is_new || (ip != NO_IP && *held != ip) {
            *held = if ip == NO_IP { *held } else { ip };
            self.digest = digest_of(&self.entries());
        }
    }

    /// Returns whether a message about the table may be sent to this peer now. Each peer gets at most one message about
    /// the table per `period`. Records the message if this limit allows it.
    pub(crate) fn allow_message(&mut self, now: Duration, peer: MacAddr, period: Duration) -> bool {
        let last = self.last_messages.get(&peer);
        let may = last.is_none_or(|last| now >= *last + period);
        if may {
            self.last_messages.insert(peer, now);
        }
        may
    }

    fn all(&self) -> Message {
        Message::RingMembers {
            digest: self.digest,
            members: self.entries(),
        }
    }

    fn entries(&self) -> Vec<Entry> {
        let entries = self.members.iter();
        entries.map(|(&mac, &ip)| Entry { mac, ip }).collect()
    }
}
