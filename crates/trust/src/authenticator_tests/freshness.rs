//! Tests of nonces, proofs and the age of messages.

use std::time::Duration;

use super::{DELIVERED, Node, OLD, dropped, exchange, kind, millis, proven_pair};

use crate::{DropReason, NONCE_LEN, Origin, Verdict};

#[test]
fn an_answer_counts_only_for_the_open_nonce_and_only_in_time() {
    let mut now = millis(1000);
    let (mut left, mut right) = (Node::new(1, 1, &[OLD]), Node::new(2, 2, &[OLD]));
    let first = left.seal(now, b"hello");
    right.open(now, 1, &first);
    let (_, challenge) = right.replies(now).remove(0);
    assert_eq!(left.open(now, 2, &challenge), Verdict::Consume);
    let replies = left.replies(now);
    let (_, answer) = replies
        .iter()
        .find(|(_, bytes)| kind(bytes) == 2)
        .expect("an answer");
    now += millis(200);
    assert_eq!(right.open(now, 1, answer), dropped(DropReason::Stale));
    // The next challenge has a new nonce, so the old answer is wrong.
    let second = left.seal(now, b"hello");
    assert_eq!(right.open(now, 1, &second), dropped(DropReason::Unproven));
    assert_ne!(
        right.replies(now)[0].1[..=NONCE_LEN],
        challenge[..=NONCE_LEN]
    );
    assert_eq!(right.open(now, 1, answer), dropped(DropReason::Stale));
    let third = left.seal(now, b"hello");
    assert_eq!(right.open(now, 1, &third), dropped(DropReason::Unproven));
}

#[test]
fn a_nonce_stays_the_same_until_it_is_answered() {
    let now = millis(1000);
    let (mut left, mut right) = (Node::new(1, 1, &[OLD]), Node::new(2, 2, &[OLD]));
    let mut nonces = Vec::new();
    for elapsed in 0..200 {
        let signed = left.seal(now, b"hello");
        for _ in 0..3 {
            right.open(now + millis(elapsed), 1, &signed);
        }
        nonces.extend(
            right
                .replies(now)
                .into_iter()
                .map(|(_, bytes)| bytes[1..=NONCE_LEN].to_vec()),
        );
    }
    assert_eq!(nonces.len(), 200, "one challenge per millisecond");
    nonces.dedup();
    assert_eq!(nonces.len(), 1);
}

#[test]
fn a_message_is_stale_if_its_sender_signed_it_long_ago() {
    let now = millis(1000);
    let (mut left, mut right) = proven_pair(now);
    let [early, late] = [now, now + millis(1)].map(|now| left.seal(now, b"hello"));
    let stale = dropped(DropReason::Stale);
    assert_eq!(right.open(now + millis(501), 1, &early), stale);
    assert_eq!(right.open(now + millis(501), 1, &late), DELIVERED);
    let now = now + millis(10_000);
    let future = left.seal(now + millis(501), b"hello");
    assert_eq!(right.open(now, 1, &future), stale);
    // A new proof does not make old messages fresh.
    exchange(now, &mut left, &mut right);
    assert_eq!(right.open(now, 1, &early), dropped(DropReason::Replayed));
}

#[test]
fn a_message_that_waited_on_this_machine_counts_from_its_arrival() {
    let now = millis(1000);
    let (mut left, mut right) = proven_pair(now);
    let signed = left.seal(now + millis(5000), b"hello");
    let late = now + millis(15_000);
    let verdict = right
        .authenticator
        .open(late, millis(10_000), &Origin::of_frame(1), &signed);
    assert_eq!(verdict, DELIVERED);
    // The time of the challenge is the time at which the node sends it, not the time at which the message arrived.
    let mut restarted = Node::new(1, 3, &[OLD]);
    let signed = restarted.seal(now + millis(5000), b"hello");
    let verdict = right
        .authenticator
        .open(late, millis(10_000), &Origin::of_frame(1), &signed);
    assert_eq!(verdict, dropped(DropReason::Unproven));
    exchange(late, &mut restarted, &mut right);
    let signed = restarted.seal(late, b"hello");
    assert_eq!(right.open(late, 1, &signed), DELIVERED);
}

#[test]
fn a_proof_is_renewed_without_a_lost_message_when_clocks_drift_apart() {
    let start = millis(1000);
    for percent in [99, 100, 101] {
        let (mut left, mut right) = proven_pair(start);
        let mut renewals = 0;
        for second in 0..200 {
            let passed = Duration::from_secs(second);
            let (now, left_now) = (start + passed, start + passed * percent / 100);
            let signed = left.seal(left_now, b"hello");
            assert_eq!(right.open(now, 1, &signed), DELIVERED, "second {second}");
            while let Some((_, challenge)) = right.replies(now).pop() {
                renewals += 1;
                left.open(left_now, 2, &challenge);
                for (_, reply) in left.replies(left_now) {
                    right.open(now, 1, &reply);
                }
            }
        }
        // The clocks drift apart by 250 ms in 25 s.
        let expected = if percent == 100 { 0..1 } else { 7..10 };
        assert!(expected.contains(&renewals), "{percent} %: {renewals}");
    }
}

#[test]
fn a_proof_ends_after_a_minute_of_silence() {
    let start = millis(1000);
    let (mut left, mut right) = proven_pair(start);
    let mut now = start;
    for _ in 0..5 {
        now += Duration::from_secs(59);
        let signed = left.seal(now, b"hello");
        assert_eq!(right.open(now, 1, &signed), DELIVERED);
    }
    now += Duration::from_secs(60);
    assert!(!right.authenticator.peers(now).any(|peer| peer.is_proven));
    let signed = left.seal(now, b"hello");
    assert_eq!(right.open(now, 1, &signed), dropped(DropReason::Stale));
    exchange(now, &mut left, &mut right);
    let signed = left.seal(now, b"hello");
    assert_eq!(right.open(now, 1, &signed), DELIVERED);
}

#[test]
fn the_time_of_the_trailer_may_begin_again_at_zero() {
    // 2^32 ms are 49.7 days.
    let start = millis((1 << 32) - 30_000);
    let (mut left, mut right) = proven_pair(start);
    for second in 0..60 {
        let now = start + Duration::from_secs(second);
        let signed = left.seal(now, b"hello");
        assert_eq!(right.open(now, 1, &signed), DELIVERED, "second {second}");
        assert!(!right.authenticator.has_output());
    }
}

#[test]
fn two_boots_at_one_address_are_challenged_rarely() {
    let mut now = millis(1000);
    let mut right = Node::new(2, 2, &[OLD]);
    let mut boots = [Node::new(1, 3, &[OLD]), Node::new(1, 4, &[OLD])];
    let mut challenges = 0;
    // For two seconds, each boot sends a message per millisecond and answers at once.
    for _ in 0..2000 {
        now += millis(1);
        for boot in &mut boots {
            let signed = boot.seal(now, b"hello");
            right.open(now, 1, &signed);
        }
        for (_, challenge) in right.replies(now) {
            challenges += usize::from(kind(&challenge) == 1);
            for boot in &mut boots {
                boot.open(now, 2, &challenge);
                for (_, reply) in boot.replies(now) {
                    right.open(now, 1, &reply);
                }
            }
        }
    }
    assert!((20..60).contains(&challenges), "{challenges} challenges");
}
