//! A short notation of addresses, tokens and frames: `n2` is the second node, a token is
//! `progress-author-number`, the author by its name.

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Message, Token};

/// The address of the node at a place; places count from 0, names from 1.
///
/// # Panics
/// There are at most 254 nodes.
pub(crate) fn mac(at: usize) -> MacAddr {
    let last = u8::try_from(at + 1).expect("a handful of nodes");
    MacAddr([2, 0, 0, 0, 0, last])
}

/// The place of the node with an address.
pub(crate) fn place(mac: MacAddr) -> usize {
    usize::from(mac.0[5]) - 1
}

/// `n2`, or `all`.
pub(crate) fn name(mac: MacAddr) -> String {
    if mac == MacAddr::BROADCAST {
        "all".into()
    } else {
        format!("n{}", mac.0[5])
    }
}

/// `progress-author-number`, the author by its name.
pub(crate) fn token(token: Token) -> String {
    let author = name(token.author);
    format!("{}-{author}-{}", token.progress, token.number)
}

/// A token that may be none.
pub(crate) fn maybe(held: Option<Token>) -> String {
    held.map_or_else(|| "none".into(), token)
}

/// A frame as a line.
pub(crate) fn frame(bytes: &[u8]) -> String {
    let Ok(frame) = Frame::decode(bytes) else {
        return "an invalid frame".into();
    };
    let carries = match frame.message {
        Message::TakeToken { token: t, .. }
        | Message::TokenIsHere { token: t, .. }
        | Message::GeneratingToken { token: t } => format!("({}) ", token(t)),
        Message::TokenWasHereRecently { token: t, holder } => {
            format!("({} at {}) ", token(t), name(holder))
        }
        Message::RingMembers { members, .. } => {
            let members: Vec<String> = members.iter().map(|member| name(member.mac)).collect();
            format!("({}) ", members.join(" "))
        }
        _ => String::new(),
    };
    let kind = frame.message.kind();
    let (from, to) = (name(frame.author), name(frame.destination));
    format!("{kind} {carries}from {from} to {to}")
}
