//! What frames say about tokens.

use ring_codec::lab2::{Frame, Message, Token};

/// What a frame claims about a token, if it is valid and does: its kind, and the token.
pub(super) fn claim(bytes: &[u8]) -> Option<(usize, Token)> {
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
