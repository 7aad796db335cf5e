//! Invented frames that test the checks.

use std::time::Duration;

use anyhow::Result;
use pnet::util::MacAddr;

use crate::wire::{Digest, ETHERTYPE, Message, Seen, Token, frame};

pub(super) const BROADCAST: u8 = 0xff;
pub(super) const DIGEST: Digest = Digest { size: 3, hash: 7 };

pub(super) fn mac(number: u8) -> MacAddr {
    if number == BROADCAST {
        MacAddr::broadcast()
    } else {
        MacAddr::new(2, 0, 0, 0, 0, number)
    }
}

pub(super) fn token(progress: u64, author: u8, number: u32) -> Token {
    Token {
        progress,
        author: mac(author),
        number,
    }
}

pub(super) fn seen_frame(at: u64, from: u8, to: u8, message: &Message) -> Seen {
    let bytes = frame(mac(to), mac(from), ETHERTYPE, &message.payload(mac(from)));
    Seen::read(Duration::from_millis(at), usize::from(from), bytes)
        .expect("the frame is long enough")
}

/// Returns a broadcast in which `from` claims a token.
pub(super) fn here(at: u64, from: u8, token: Token) -> Seen {
    let message = Message::TokenIsHere {
        token,
        digest: DIGEST,
        data: Vec::new(),
    };
    seen_frame(at, from, BROADCAST, &message)
}

/// Returns a frame in which `from` offers a token to `to`.
pub(super) fn take(at: u64, from: u8, to: u8, token: Token) -> Seen {
    let message = Message::TakeToken {
        token,
        digest: DIGEST,
        data: Vec::new(),
    };
    seen_frame(at, from, to, &message)
}

#[track_caller]
pub(super) fn assert_found(verdict: Result<()>, words: &str) {
    let error = verdict
        .expect_err("the frames contain a violation")
        .to_string();
    assert!(
        error.contains(words),
        "another violation was found: {error}"
    );
}

#[test]
fn the_check_finds_frames_that_the_protocol_forbids() {
    use super::check_well_formed;
    let frames = [here(0, 1, token(1, 1, 1)), take(1, 1, 2, token(2, 1, 1))];
    check_well_formed(&frames).expect("both frames are allowed");
    let bytes = frame(mac(2), mac(1), ETHERTYPE, &Message::Leaving.payload(mac(3)));
    let forged = Seen::read(Duration::ZERO, 1, bytes).expect("the frame is long enough");
    for (frame, words) in [
        (take(0, 1, BROADCAST, token(2, 1, 1)), "broadcast an offer"),
        (seen_frame(0, 1, 1, &Message::WhereIsToken), "to itself"),
        (forged, "the author is not the source"),
    ] {
        assert_found(check_well_formed(&[frame]), words);
    }
}
