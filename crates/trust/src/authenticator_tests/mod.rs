//! Tests of the rules of `docs/reference/trust.md` with two or more nodes.

mod datagrams;
mod freshness;

use std::time::Duration;

use super::{Authenticator, Verdict};
use crate::outbox::ANSWERS_PER_MILLISECOND_MAX;
use crate::{
    Destination, DropReason, KeyId, Keyring, NONCE_LEN, Origin, PseudoHeader, TRAILER_LEN,
};

const OLD: &str = "7 0707070707070707070707070707070707070707070707070707070707070707";
const NEW: &str = "8 0808080808080808080808080808080808080808080808080808080808080808";

fn keyring(lines: &[&str]) -> Keyring {
    Keyring::parse(&lines.join("\n")).expect("legal keys")
}

fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// A node with the address `name`.
struct Node {
    name: u8,
    authenticator: Authenticator<u8>,
}

impl Node {
    fn new(name: u8, boot: u8, keys: &[&str]) -> Self {
        Self {
            name,
            authenticator: Authenticator::new(&keyring(keys), false, [boot; 32]),
        }
    }

    fn accept_unsigned(mut self, keys: &[&str]) -> Self {
        self.authenticator.set_keyring(&keyring(keys), true);
        self
    }

    fn seal(&mut self, now: Duration, message: &[u8]) -> Vec<u8> {
        let mut buffer = [0xaa; 200];
        buffer[..message.len()].copy_from_slice(message);
        let len = self
            .authenticator
            .seal(now, &Destination::FRAME, &mut buffer, message.len());
        buffer[..len.expect("enough room")].to_vec()
    }

    fn open(&mut self, now: Duration, from: u8, bytes: &[u8]) -> Verdict {
        let from = Origin::of_frame(from);
        self.authenticator.open(now, Duration::ZERO, &from, bytes)
    }

    /// Returns the challenges and answers, each with its destination.
    fn replies(&mut self, now: Duration) -> Vec<(u8, Vec<u8>)> {
        let mut replies = Vec::new();
        let mut buffer = [0; 100];
        while let Some((to, len)) =
            self.authenticator
                .poll_transmit(now, &mut buffer, |to, room| {
                    room[0] = to;
                    (1, PseudoHeader::FRAME)
                })
        {
            replies.push((to, buffer[..len].to_vec()));
        }
        replies
    }

    fn count(&self, reason: DropReason) -> u64 {
        self.authenticator.counts().get(reason)
    }
}

/// Delivers all challenges and answers between two nodes.
fn exchange(now: Duration, left: &mut Node, right: &mut Node) {
    loop {
        let to_right = left.replies(now);
        let to_left = right.replies(now);
        if to_right.is_empty() && to_left.is_empty() {
            return;
        }
        for (_, bytes) in to_right {
            right.open(now, left.name, &bytes);
        }
        for (_, bytes) in to_left {
            left.open(now, right.name, &bytes);
        }
    }
}

/// Returns the kind in the trailer of a signed message.
fn kind(bytes: &[u8]) -> u8 {
    bytes[bytes.len() - TRAILER_LEN + 23]
}

const DELIVERED: Verdict = Verdict::Deliver {
    len: 5,
    key: KeyId::new(7),
};

fn dropped(reason: DropReason) -> Verdict {
    Verdict::Drop(reason)
}

/// Returns two nodes that have proven themselves to each other at `now`.
fn proven_pair(now: Duration) -> (Node, Node) {
    let (mut left, mut right) = (Node::new(1, 1, &[OLD]), Node::new(2, 2, &[OLD]));
    let first = left.seal(now, b"first");
    assert_eq!(right.open(now, 1, &first), dropped(DropReason::Unproven));
    exchange(now, &mut left, &mut right);
    (left, right)
}

#[test]
fn both_nodes_are_proven_after_one_message() {
    let now = millis(1000);
    let (mut left, mut right) = proven_pair(now);
    let second = left.seal(now, b"hello");
    assert_eq!(right.open(now, 1, &second), DELIVERED);
    let back = right.seal(now, b"hello");
    assert_eq!(left.open(now, 2, &back), DELIVERED);
    let peer = right.authenticator.peers(now).next().expect("a peer");
    assert_eq!((peer.address, peer.is_proven, peer.heard), (1, true, now));
    assert_eq!(peer.key_id.map(u32::from), Some(7));
}

#[test]
fn no_message_is_delivered_twice() {
    let now = millis(1000);
    let (mut left, mut right) = proven_pair(now);
    let [first, second] = [(); 2].map(|()| left.seal(now, b"hello"));
    assert_eq!(right.open(now, 1, &second), DELIVERED);
    assert_eq!(right.open(now, 1, &first), DELIVERED);
    for replay in [&first, &second] {
        assert_eq!(right.open(now, 1, replay), dropped(DropReason::Replayed));
    }
    assert_eq!(right.count(DropReason::Replayed), 2);
}

#[test]
fn a_changed_bit_makes_any_message_wrong() {
    let now = millis(1000);
    let (mut left, mut right) = proven_pair(now);
    let signed = left.seal(now, b"hello");
    for bit in 0..8 * signed.len() {
        let mut forged = signed.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        let verdict = right.open(now, 1, &forged);
        assert!(
            matches!(verdict, Verdict::Drop(_)),
            "bit {bit}: {verdict:?}"
        );
    }
    assert_eq!(right.open(now, 1, &signed), DELIVERED);
    assert!(right.replies(now).is_empty());
}

#[test]
fn a_message_of_another_address_is_unproven() {
    let now = millis(1000);
    let (mut left, mut right) = proven_pair(now);
    let signed = left.seal(now, b"hello");
    // The MAC of a frame also covers the address. But the table of senders must not rely on this.
    assert_eq!(right.open(now, 9, &signed), dropped(DropReason::Unproven));
}

#[test]
fn a_dead_boot_never_counts_again() {
    let mut now = millis(1000);
    let (mut left, mut right) = proven_pair(now);
    let unseen = left.seal(now, b"hello");
    let mut again = Node::new(1, 3, &[OLD]);
    let first = again.seal(now, b"hello");
    assert_eq!(right.open(now, 1, &first), dropped(DropReason::Unproven));
    exchange(now, &mut again, &mut right);
    let second = again.seal(now, b"hello");
    assert_eq!(right.open(now, 1, &second), DELIVERED);
    now += millis(1);
    assert_eq!(right.open(now, 1, &unseen), dropped(DropReason::Unproven));
    // The attacker cannot answer the challenge, so the present boot stays proven.
    assert_eq!(right.replies(now).len(), 1);
    let third = again.seal(now, b"hello");
    assert_eq!(right.open(now, 1, &third), DELIVERED);
}

#[test]
fn messages_without_a_known_key_count_only_if_unsigned_messages_are_accepted() {
    let now = millis(1000);
    let mut other = Node::new(1, 1, &[NEW]);
    let signed = other.seal(now, b"hello");
    let mut strict = Node::new(2, 2, &[OLD]);
    let mut open = Node::new(2, 2, &[OLD]).accept_unsigned(&[OLD]);
    assert_eq!(strict.open(now, 1, b"hello"), dropped(DropReason::Unsigned));
    let unproven = Verdict::Deliver { len: 5, key: None };
    assert_eq!(open.open(now, 1, b"hello"), unproven);
    assert_eq!(
        strict.open(now, 1, &signed),
        dropped(DropReason::UnknownKey)
    );
    assert_eq!(open.open(now, 1, &signed), unproven);
    let mut known = Node::new(1, 1, &[OLD, NEW]);
    let early = known.seal(now, b"hello");
    assert_eq!(open.open(now, 1, &early), unproven);
    let mut forged = early.clone();
    forged[0] ^= 1;
    assert_eq!(open.open(now, 1, &forged), dropped(DropReason::WrongMac));
    exchange(now, &mut known, &mut open);
    let proven = known.seal(now, b"hello");
    assert_eq!(open.open(now, 1, &proven), DELIVERED);
    assert_eq!(open.open(now, 1, &proven), dropped(DropReason::Replayed));
}

#[test]
fn keys_change_without_a_lost_message() {
    let now = millis(1000);
    let (mut left, mut right) = proven_pair(now);
    let steps: [(&[&str], &[&str]); 6] = [
        (&[OLD, NEW], &[OLD]),
        (&[OLD, NEW], &[OLD, NEW]),
        (&[NEW, OLD], &[OLD, NEW]),
        (&[NEW, OLD], &[NEW, OLD]),
        (&[NEW], &[NEW, OLD]),
        (&[NEW], &[NEW]),
    ];
    for (left_keys, right_keys) in steps {
        left.authenticator.set_keyring(&keyring(left_keys), false);
        right.authenticator.set_keyring(&keyring(right_keys), false);
        let there = left.seal(now, b"hello");
        assert!(matches!(
            right.open(now, 1, &there),
            Verdict::Deliver {
                len: 5,
                key: Some(_)
            }
        ));
        let back = right.seal(now, b"hello");
        assert!(matches!(
            left.open(now, 2, &back),
            Verdict::Deliver {
                len: 5,
                key: Some(_)
            }
        ));
    }
    let peer = right.authenticator.peers(now).next().expect("a peer");
    assert_eq!(peer.key_id.map(u32::from), Some(8));
}

#[test]
fn a_message_of_this_process_is_reflected() {
    let now = millis(1000);
    let mut node = Node::new(1, 1, &[OLD]);
    let signed = node.seal(now, b"hello");
    assert_eq!(node.open(now, 1, &signed), dropped(DropReason::Reflected));
    // This node handles another process with the same address as it handles any other sender.
    let mut twin = Node::new(1, 2, &[OLD]);
    let signed = twin.seal(now, b"hello");
    assert_eq!(node.open(now, 1, &signed), dropped(DropReason::Unproven));
}

#[test]
fn a_kind_never_counts_as_another_kind() {
    let now = millis(1000);
    let (mut left, mut right) = proven_pair(now);
    let signed = left.seal(now, &[5; NONCE_LEN + 1]);
    let at = signed.len() - TRAILER_LEN + 23;
    for kind in [1, 2] {
        let mut changed = signed.clone();
        changed[at] = kind;
        assert_eq!(right.open(now, 1, &changed), dropped(DropReason::WrongMac));
    }
    let mut changed = signed;
    changed[at] = 3;
    assert_eq!(right.open(now, 1, &changed), dropped(DropReason::Malformed));
}

#[test]
fn answers_to_unproven_peers_are_limited() {
    let now = millis(1000);
    let mut victim = Node::new(200, 2, &[OLD]);
    let mut answers = 0;
    for name in 0..100 {
        let mut old = Node::new(name, 100 + name, &[OLD]);
        let message = victim.seal(now, b"hello");
        old.open(now, 200, &message);
        for (_, challenge) in old.replies(now) {
            victim.open(now, name, &challenge);
        }
        answers += victim
            .replies(now)
            .iter()
            .filter(|(_, bytes)| kind(bytes) == 2)
            .count();
    }
    assert_eq!(answers, ANSWERS_PER_MILLISECOND_MAX as usize);
}

#[test]
fn a_short_buffer_is_refused() {
    let mut node = Node::new(1, 1, &[OLD]);
    let mut buffer = [0; 5 + TRAILER_LEN];
    assert_eq!(
        node.authenticator.seal(
            millis(0),
            &Destination::FRAME,
            &mut buffer[..4 + TRAILER_LEN],
            5
        ),
        None
    );
    assert_eq!(
        node.authenticator
            .seal(millis(0), &Destination::FRAME, &mut buffer, 5),
        Some(5 + TRAILER_LEN)
    );
}
