//! The names of tokens in messages of clients.

use ring_codec::ftn::{Datagram, Message, find_name};

/// Returns a name in a client's message that is not permitted; `None` if the message has only permitted names. If the
/// message contains only a part of a name, returns an empty name.
pub fn find_denied_name(message: &[u8], permits: impl Fn(&[u8]) -> bool) -> Option<&[u8]> {
    // The empty name is no token: clients use it for requests about their sessions.
    let is_denied = |name: &&[u8]| !name.is_empty() && !permits(name);
    // The machine drops a message that it cannot decode.
    match Datagram::decode(message).ok()?.message() {
        Message::Request { token, .. } | Message::Return { token, .. } => {
            Some(token.name).filter(is_denied)
        }
        Message::Catalog { holdings } => holdings.iter().map(|it| it.name).find(is_denied),
        // Only these messages of clients can be longer than a datagram. The last name is in the first part.
        Message::Part { part: 0, bytes, .. } => {
            find_name(bytes, |name| is_denied(&name)).unwrap_or(Some(&[]))
        }
        _ => None,
    }
}
