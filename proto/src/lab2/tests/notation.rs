//! The short notation that the tests use for addresses, tokens, messages and frames.
//!
//! A token is written as `progress-author-number`, and a frame as `KIND fields to receiver`.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, FRAME_LEN_MAX, Frame, Member, Message, Token};

use crate::lab2::{Constants, StoredState};

/// The number of the node under test.
pub(crate) const ME: u8 = 5;
/// A placeholder in frames. The rig replaces it by the digest of the node under test.
pub(crate) const SAME: Digest = Digest {
    size: u32::MAX,
    hash: 1,
};
/// A digest that differs from the digest of every table.
pub(crate) const OTHER: Digest = Digest {
    size: u32::MAX,
    hash: 2,
};
/// The stored state of a node that starts for the first time.
pub(crate) const BLANK: StoredState = StoredState {
    my_token_number: 0,
    known: None,
    stamp: None,
};
/// HEART_BEAT_PERIOD of the default constants.
pub(crate) const HEARTBEAT: Duration = Duration::from_millis(100);
/// TAKE_TIMEOUT of the default constants.
pub(crate) const TAKE_TIMEOUT: Duration = Duration::from_millis(5);
/// The total time that a giver waits for the answer of one member, with the default constants.
pub(crate) const HAND_OVER: Duration = Duration::from_micros(17_500);
/// IDLE_HOLD of [`constants`].
pub(crate) const IDLE_HOLD: Duration = Duration::from_millis(10);
/// WAITER_TIMEOUT of the default constants.
pub(crate) const WAITER_TIMEOUT: Duration = Duration::from_millis(400);
/// LOOSER_TIMEOUT of the default constants.
pub(crate) const LOOSER_TIMEOUT: Duration = Duration::from_millis(200);
/// LOOSER_ANSWER_TIMEOUT of the default constants.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_millis(100);

/// Returns the default constants with a different IDLE_HOLD. By default, IDLE_HOLD equals HEART_BEAT_PERIOD, and tests
/// could not distinguish these two constants.
pub(crate) fn constants() -> Constants {
    Constants {
        idle_hold: IDLE_HOLD,
        ..Constants::default()
    }
}

/// The frame that [`ME`] broadcasts after an unsuccessful offer of 12-n3-1 to n7.
pub(crate) const IN_VAIN: &str = "TOKEN_WAS_HERE_RECENTLY 12-n3-1 at n5 to all";

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Returns the address of node `n`.
pub(crate) const fn mac(n: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, n])
}

/// Returns 10.0.0.n in the protocol's encoding.
pub(crate) const fn ip(n: u8) -> [u8; 16] {
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, n]
}

/// Returns a token of n3's first chain.
pub(crate) const fn token(progress: u64) -> Token {
    token_of(progress, 3, 1)
}

pub(crate) const fn token_of(progress: u64, author: u8, number: u32) -> Token {
    Token {
        progress,
        author: mac(author),
        number,
    }
}

pub(crate) const fn take(token: Token) -> Message<'static> {
    Message::TakeToken {
        token,
        digest: SAME,
        data: b"",
    }
}

pub(crate) const fn here(token: Token) -> Message<'static> {
    Message::TokenIsHere {
        token,
        digest: SAME,
        data: b"",
        beat: None,
    }
}

pub(crate) const fn was_here(token: Token, holder: u8) -> Message<'static> {
    Message::TokenWasHereRecently {
        token,
        holder: mac(holder),
    }
}

pub(crate) const fn ping(ip: [u8; 16]) -> Message<'static> {
    ping_of(SAME, ip)
}

/// Returns PING with a digest and no trailer.
pub(crate) const fn ping_of(digest: Digest, ip: [u8; 16]) -> Message<'static> {
    Message::Ping {
        digest,
        ip,
        promise: None,
        paused: false,
    }
}

pub(crate) const fn generating(token: Token) -> Message<'static> {
    Message::GeneratingToken { token }
}

pub(crate) fn member(n: u8, ip: [u8; 16]) -> Member {
    Member { mac: mac(n), ip }
}

/// In a message, replaces [`SAME`] by the digest of the node under test.
pub(crate) fn with_digest(message: Message<'_>, own: Digest) -> Message<'_> {
    let real = |digest| if digest == SAME { own } else { digest };
    match message {
        Message::TakeToken {
            token,
            digest,
            data,
        } => Message::TakeToken {
            token,
            digest: real(digest),
            data,
        },
        Message::TokenIsHere {
            token,
            digest,
            data,
            beat,
        } => Message::TokenIsHere {
            token,
            digest: real(digest),
            data,
            beat,
        },
        Message::Ping {
            digest,
            ip,
            promise,
            paused,
        } => Message::Ping {
            digest: real(digest),
            ip,
            promise,
            paused,
        },
        Message::RingMembers { digest, members } => Message::RingMembers {
            digest: real(digest),
            members,
        },
        other => other,
    }
}

/// Returns an encoded frame.
pub(crate) fn frame(from: MacAddr, to: MacAddr, message: Message<'_>) -> Vec<u8> {
    let frame = Frame {
        destination: to,
        author: from,
        message,
        profile: None,
        card: None,
        locks: None,
        preference: 0,
    };
    let mut buf = [0; FRAME_LEN_MAX];
    let len = frame
        .encode(0x88b5, &mut buf)
        .expect("tests write legal frames");
    buf[..len].to_vec()
}

pub(crate) fn decode(frame: &[u8]) -> Frame<'_> {
    Frame::decode(frame).expect("state machines send valid frames")
}

pub(crate) fn name(mac: MacAddr) -> String {
    if mac == MacAddr::BROADCAST {
        "all".into()
    } else {
        format!("n{}", mac.0[5])
    }
}

/// Formats a token as `progress-author-number`.
pub(crate) fn show(token: Token) -> String {
    format!("{}-{}-{}", token.progress, name(token.author), token.number)
}

/// Formats a frame as a line of text.
pub(crate) fn line(bytes: &[u8]) -> String {
    let Frame {
        destination,
        message,
        ..
    } = decode(bytes);
    let carries = match message {
        Message::TakeToken { token, .. }
        | Message::TokenIsHere { token, .. }
        | Message::GeneratingToken { token } => format!("{} ", show(token)),
        Message::TokenWasHereRecently { token, holder } => {
            format!("{} at {} ", show(token), name(holder))
        }
        Message::RingMembers { members, .. } => format!("{} ", members.len()),
        Message::Stamps {
            purpose, stamps, ..
        } => format!("{purpose:?} {} ", stamps.len()),
        Message::Forget { members } => {
            let names: Vec<_> = members.iter().map(|&mac| name(mac)).collect();
            format!("{} ", names.join(","))
        }
        Message::Locks { purpose, locks, .. } => format!("{purpose:?} {} ", locks.len()),
        Message::LocksQuestion { from, .. } => format!("from {from} "),
        Message::Survey {
            purpose, members, ..
        } => format!("{purpose:?} {} ", members.len()),
        Message::Probe {
            number, is_answer, ..
        } => format!(
            "{} {number} ",
            if is_answer { "answer" } else { "question" }
        ),
        Message::Measures { measures, .. } => format!("{} ", measures.len()),
        Message::Ping { .. }
        | Message::WhereIsToken
        | Message::WantToken
        | Message::Leaving
        | Message::Report { .. } => String::new(),
    };
    format!("{} {carries}to {}", message.kind(), name(destination))
}

/// Checks `docs/reference/lab2/states.md D1`: a token is stored before a frame names it.
pub(crate) fn assert_stored(bytes: &[u8], durable: StoredState) {
    let (Message::TakeToken { token, .. }
    | Message::TokenIsHere { token, .. }
    | Message::TokenWasHereRecently { token, .. }) = decode(bytes).message
    else {
        return;
    };
    let known = durable.known.expect("a token was stored");
    assert!(
        !token.is_stronger_than(&known),
        "a frame names {}",
        show(token)
    );
    if token.author == decode(bytes).author {
        assert!(
            token.number <= durable.my_token_number,
            "the number is not stored"
        );
    }
}
