//! Frames that no node has sent, to try the checkers on.

use std::time::Duration;

use pnet::util::MacAddr;

use crate::wire::{Digest, ETHERTYPE, Message, Seen, Token, frame};

pub(super) const EVERYBODY: u8 = 0xff;
pub(super) const DIGEST: Digest = Digest { size: 3, hash: 7 };

pub(super) fn mac(number: u8) -> MacAddr {
    if number == EVERYBODY {
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

pub(super) fn seen(at: u64, from: u8, to: u8, message: &Message) -> Seen {
    let bytes = frame(mac(to), mac(from), ETHERTYPE, &message.payload(mac(from)));
    Seen::read(Duration::from_millis(at), usize::from(from), bytes).expect("it is long enough")
}

/// `from` broadcasts that it holds a token.
pub(super) fn here(at: u64, from: u8, token: Token) -> Seen {
    let message = Message::TokenIsHere {
        token,
        digest: DIGEST,
        data: Vec::new(),
    };
    seen(at, from, EVERYBODY, &message)
}

/// `from` offers a token.
pub(super) fn take(at: u64, from: u8, to: u8, token: Token) -> Seen {
    seen(
        at,
        from,
        to,
        &Message::TakeToken {
            token,
            digest: DIGEST,
            data: Vec::new(),
        },
    )
}

mod well_formed {
    use super::*;
    use crate::invariants::check_well_formed;

    #[test]
    fn what_the_protocol_allows_passes() {
        let frames = [here(0, 1, token(1, 1, 1)), take(1, 1, 2, token(2, 1, 1))];
        check_well_formed(&frames).expect("both are allowed");
    }

    #[test]
    fn an_offer_to_everybody_is_found() {
        check_well_formed(&[take(0, 1, EVERYBODY, token(2, 1, 1))]).expect_err("it was offered");
    }

    #[test]
    fn a_frame_to_oneself_is_found() {
        check_well_formed(&[seen(0, 1, 1, &Message::WhereIsToken)]).expect_err("it was sent");
    }

    #[test]
    fn an_invalid_frame_is_found() {
        let bytes = frame(mac(2), mac(1), ETHERTYPE, &Message::Leaving.payload(mac(3)));
        let forged = Seen::read(Duration::ZERO, 1, bytes).expect("it is long enough");
        check_well_formed(&[forged]).expect_err("its author is not its source");
    }
}
