//! The tokens in frames.

use ring_codec::lab2::{Frame, Message, Token};

/// Returns the kind and the token of a frame, if it is valid and carries a token.
pub(super) fn token_of(bytes: &[u8]) -> Option<(usize, Token)> {
    let message = Frame::decode(bytes).ok()?.message;
    let (Message::TakeToken { token, .. }
    | Message::TokenIsHere { token, .. }
    | Message::GeneratingToken { token }
    | Message::TokenWasHereRecently { token, .. }) = message
    else {
        return None;
    };
    Some((message.kind() as usize, token))
}
