//! A short notation of addresses, tokens and frames: `n2` is the second node, a token is `progress-author-number`.

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Message, Token};

/// Returns the address of a node. Indexes count from 0, and names count from 1.
///
/// # Panics
/// Panics if there are more than 254 nodes.
pub(crate) fn mac(at: usize) -> MacAddr {
    let last = u8::try_from(at + 1).expect("at most 254 nodes");
    MacAddr([2, 0, 0, 0, 0, last])
}

/// Returns the index of the node that has this address.
pub(crate) fn place(mac: MacAddr) -> usize {
    usize::from(mac.0[5]) - 1
}

/// Returns a name such as `n2`, or `all`.
pub(crate) fn name(mac: MacAddr) -> String {
    if mac == MacAddr::BROADCAST {
        "all".into()
    } else {
        format!("n{}", mac.0[5])
    }
}

/// Returns a token as `progress-author-number`.
pub(crate) fn token(token: Token) -> String {
    let author = name(token.author);
    format!("{}-{author}-{}", token.progress, token.number)
}

pub(crate) fn maybe(held: Option<Token>) -> String {
    held.map_or_else(|| "none".into(), token)
}

/// Formats a frame as one line.
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
        Message::Locks {
            purpose,
            serial,
            locks,
            ..
        } => format!("({purpose:?} {serial}, {} records) ", locks.len()),
        _ => String::new(),
    };
    let kind = frame.message.kind();
    let (from, to) = (name(frame.author), name(frame.destination));
    format!("{kind} {carries}from {from} to {to}")
}
