//! The table of senders.

use std::time::Duration;

use crate::keyring::KeyId;
use crate::replay_window::ReplayWindow;
use crate::trailer::{NONCE_LEN, Trailer, wire_time};

/// Maximum number of senders in the table.
pub const PEERS_MAX: usize = 2048;
/// Maximum time from the creation of a nonce to its answer. The time is short, because an answer shows only that its
/// sender was alive at some time after the creation of the nonce.
const NONCE_LIFETIME: Duration = Duration::from_millis(200);
/// Minimum time between two challenges to one sender.
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(1);
/// Usual time between two challenges to a proven sender. The time limits the number of challenges if two machines have
/// the same address, because then their messages cause challenges without end.
const PROVEN_INTERVAL: Duration = Duration::from_millis(50);
/// This node may challenge a proven sender earlier than after the usual time, but only by this time in total. So ten
/// challenges may follow each other at once, for example if challenges are lost after a restart.
const CHALLENGES_AHEAD: Duration = Duration::from_millis(450);
/// Maximum absolute value of the age of a message, in milliseconds. The computed age is negative if the sender's clock
/// is faster.
const MESSAGE_AGE_MAX_MS: u32 = 500;
/// If the age of a message has at least this absolute value, the receiver sends a new challenge, because the clocks may
/// have drifted apart.
const DRIFT_AGE_MS: u32 = 250;
/// Maximum time without a proven message of a sender. The receiver does not notice if the clock of a silent sender
/// drifts.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The proof of a sender's boot: the sender answered a challenge, so it was alive at that time.
#[derive(Debug, Clone, Copy)]
struct Proof {
    boot: u64,
    window: ReplayWindow,
    /// Time at which this node created the nonce of the challenge. The sender signed its answer later.
    asked: Duration,
    /// Time that the answer contains, on the sender's clock.
    time: u32,
}

/// A random number that this node sent, and that the peer has not answered yet.
#[derive(Debug, Clone, Copy)]
struct OpenChallenge {
    nonce: [u8; NONCE_LEN],
    created: Duration,
    sent: Duration,
}

/// A signed message that arrived with a valid MAC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival<'a> {
    /// Present time.
    pub(crate) now: Duration,
    /// Time of arrival.
    pub(crate) at: Duration,
    pub(crate) key_id: KeyId,
    pub(crate) trailer: &'a Trailer,
}

/// The result of the checks of a signed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// The sender is alive, and the message is new.
    Fresh,
    /// Like `Fresh`, but the clocks may have drifted apart.
    FreshWithDrift,
    Replayed,
    Stale,
    Unproven,
}

/// A sender with a key.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    proof: Option<Proof>,
    challenge: Option<OpenChallenge>,
    /// Each challenge to a proven sender moves this time forward by the usual time between two challenges. The time is
    /// in the past if there were few challenges.
    challenges_until: Duration,
    /// Key of the last proven message.
    key_id: Option<KeyId>,
    /// Time of the last proven message. Before the first such message, the time at which the entry was made.
    heard: Duration,
}

impl Peer {
    fn new(now: Duration) -> Self {
        Self {
            proof: None,
            challenge: None,
            challenges_until: Duration::ZERO,
            key_id: None,
            heard: now,
        }
    }

    pub(crate) fn key_id(&self) -> Option<KeyId> {
        self.key_id
    }

    pub(crate) fn last_heard(&self) -> Duration {
        self.heard
    }

    /// Whether the sender is proven, and has sent a proven message recently enough.
    pub(crate) fn is_proven(&self, now: Duration) -> bool {
        self.proof.is_some() && now.saturating_sub(self.heard) < SILENCE_MAX
    }

    /// Checks a message. A fresh message counts as delivered after this call.
    pub(crate) fn receive(&mut self, arrival: &Arrival<'_>) -> Freshness {
        let trailer = arrival.trailer;
        let proof = self.proof.as_mut();
        let Some(proof) = proof.filter(|proof| proof.boot == trailer.boot()) else {
            return Freshness::Unproven;
        };
        if !proof.window.is_new(trailer.counter()) {
            return Freshness::Replayed;
        }
        let age_ms = proof.age_ms(arrival);
        if age_ms > MESSAGE_AGE_MAX_MS || arrival.at.saturating_sub(self.heard) >= SILENCE_MAX {
            return Freshness::Stale;
        }
        proof.window.mark_delivered(trailer.counter());
        self.key_id = Some(arrival.key_id);
        self.heard = arrival.at;
        if age_ms < DRIFT_AGE_MS {
            Freshness::Fresh
        } else {
            Freshness::FreshWithDrift
        }
    }

    /// Returns the nonce for the next challenge. Returns `None` if the last challenge was sent too recently. A nonce
    /// stays the same until its answer arrives or its time is over, so that an attacker cannot cause its replacement.
    pub(crate) fn challenge(
        &mut self,
        now: Duration,
        draw: impl FnOnce() -> [u8; NONCE_LEN],
    ) -> Option<[u8; NONCE_LEN]> {
        let open = self.challenge.filter(|open| open.is_open(now));
        if open.is_some_and(|open| now.saturating_sub(open.sent) < CHALLENGE_INTERVAL) {
            return None;
        }
        if self.proof.is_some() {
            let until = self.challenges_until.max(now);
            if until - now > CHALLENGES_AHEAD {
                return None;
            }
            self.challenges_until = until + PROVEN_INTERVAL;
        }
        let (nonce, created) = open.map_or_else(|| (draw(), now), |it| (it.nonce, it.created));
        self.challenge = Some(OpenChallenge {
            nonce,
            created,
            sent: now,
        });
        Some(nonce)
    }

    /// Handles an answer. If it answers the open challenge in time, the sender's boot is proven. Returns whether this
    /// is the case.
    pub(crate) fn prove(&mut self, arrival: &Arrival<'_>, nonce: &[u8; NONCE_LEN]) -> bool {
        let is_answered = |it: &OpenChallenge| it.nonce == *nonce && it.is_open(arrival.at);
        let Some(challenge) = self.challenge.filter(is_answered) else {
            return false;
        };
        self.challenge = None;
        let (boot, counter) = (arrival.trailer.boot(), arrival.trailer.counter());
        let known = self.proof.filter(|proof| proof.boot == boot);
        let highest = known.map_or(0, |proof| proof.window.highest());
        self.proof = Some(Proof {
            boot,
            // The answer does not prove the age of earlier messages, so they count as delivered.
            window: ReplayWindow::starting_at(counter.max(highest)),
            asked: challenge.created,
            time: arrival.trailer.time(),
        });
        self.key_id = Some(arrival.key_id);
        self.heard = arrival.at;
        true
    }
}

impl Proof {
    /// Returns the absolute value of the age of a message. The real age is never larger, because the sender signed its
    /// answer after this node had created the nonce.
    fn age_ms(&self, arrival: &Arrival<'_>) -> u32 {
        let passed = wire_time(arrival.at.saturating_sub(self.asked));
        let passed_for_sender = arrival.trailer.time().wrapping_sub(self.time);
        passed
            .wrapping_sub(passed_for_sender)
            .cast_signed()
            .unsigned_abs()
    }
}

impl OpenChallenge {
    fn is_open(&self, now: Duration) -> bool {
        now.saturating_sub(self.created) < NONCE_LIFETIME
    }
}

/// Senders, in the order of their addresses.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Peers<A> {
    entries: Vec<(A, Peer)>,
    max: usize,
}

impl<A: Copy + Ord> Peers<A> {
    pub(crate) fn new() -> Self {
        Self {
            entries: Vec::new(),
            max: PEERS_MAX,
        }
    }

    pub(crate) fn set_max(&mut self, max: usize) {
        self.max = max;
    }

    /// Returns the entry of a sender, and makes it if necessary. In a full table, the new entry replaces the oldest
    /// unproven entry. If all entries are proven, it replaces the entry of the sender that was silent for the longest
    /// time.
    pub(crate) fn entry(&mut self, now: Duration, address: A) -> &mut Peer {
        let at = self.find(address).unwrap_or_else(|at| {
            let at = if self.entries.len() < self.max {
                at
            } else {
                self.remove_one(now);
                self.find(address).unwrap_or_else(|at| at)
            };
            self.entries.insert(at, (address, Peer::new(now)));
            at
        });
        &mut self.entries[at].1
    }

    pub(crate) fn get(&self, address: A) -> Option<&Peer> {
        self.find(address).ok().map(|at| &self.entries[at].1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (A, &Peer)> {
        self.entries.iter().map(|(address, peer)| (*address, peer))
    }

    fn find(&self, address: A) -> Result<usize, usize> {
        self.entries
            .binary_search_by_key(&address, |(address, _)| *address)
    }

    fn remove_one(&mut self, now: Duration) {
        let entries = self.entries.iter().enumerate();
        let next = entries.min_by_key(|(_, (_, peer))| (peer.is_proven(now), peer.heard));
        if let Some((at, _)) = next {
            self.entries.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Arrival, PEERS_MAX, Peers};
    use crate::NONCE_LEN;
    use crate::trailer::{Kind, Trailer};

    #[test]
    fn a_full_table_loses_its_oldest_unproven_entry_first() {
        let at = |number: usize| Duration::from_millis(number as u64);
        let mut peers = Peers::new();
        for number in 0..PEERS_MAX {
            peers.entry(at(number), number);
        }
        // The two oldest senders are proven.
        let now = at(PEERS_MAX);
        for number in [1, 0] {
            let trailer = Trailer::new(Kind::Answer, 7, 1, 1, now);
            let nonce = [0; NONCE_LEN];
            peers.entry(now, number).challenge(now, || nonce);
            let arrival = Arrival {
                now,
                at: now + at(2 - number),
                key_id: 7.try_into().expect("not zero"),
                trailer: &trailer,
            };
            assert!(peers.entry(now, number).prove(&arrival, &nonce));
        }
        peers.entry(now, PEERS_MAX);
        let numbers: Vec<usize> = peers.iter().map(|(number, _)| number).collect();
        assert_eq!(numbers.len(), PEERS_MAX);
        assert!(numbers[..3] == [0, 1, 3], "{:?}", &numbers[..3]);
        // Without unproven entries, the sender that was silent for the longest time loses its entry.
        let mut left = peers.entries.split_off(2);
        left.clear();
        peers.remove_one(now);
        assert_eq!(peers.iter().map(|(number, _)| number).next(), Some(0));
    }
}
