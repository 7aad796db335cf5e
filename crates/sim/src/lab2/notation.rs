//! Addresses, tokens and frames in the notation that people read.

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Message};

/// So many network cards a node may have in turn.
pub(super) const CARDS: u8 = 8;

/// The address that node `at` has from the beginning.
pub fn mac(at: usize) -> MacAddr {
    card(at, 0)
}

/// The address of one of the network cards of node `at`.
pub(super) fn card(at: usize, number: u8) -> MacAddr {
    let [.., high, low] = at.to_be_bytes();
    MacAddr([2, number, 0, 0, high, low])
}

/// The node whose address this is, or was, and the number of the card.
fn place(mac: MacAddr) -> Option<(usize, u8)> {
    match mac.0 {
        [2, number @ 0..CARDS, 0, 0, high, low] => {
            Some((usize::from(u16::from_be_bytes([high, low])), number))
        }
        _ => None,
    }
}

/// The node whose address this is, or was, if it is of that form.
pub fn node_of(mac: MacAddr) -> Option<usize> {
    place(mac).map(|(at, _)| at)
}

/// An ip of node `at`: its first, or another of its `number`; 10.x.x.x as the protocol carries it.
pub(super) fn ip(at: usize, number: u8) -> [u8; 16] {
    let [.., high, low] = at.to_be_bytes();
    let mut ip = [0; 16];
    ip[10..].copy_from_slice(&[0xff, 0xff, 10, number, high, low]);
    ip
}

/// A node's or another station's name.
pub fn name(mac: MacAddr) -> String {
    match place(mac) {
        Some((at, 0)) => format!("n{at}"),
        Some((at, card)) => format!("n{at}.{card}"),
        None if mac == MacAddr::BROADCAST => "all".into(),
        None => mac.to_string(),
    }
}

/// A frame as a line of text.
pub fn line(bytes: &[u8]) -> String {
    let Frame {
        destination,
        message,
        ..
    } = match Frame::decode(bytes) {
        Ok(frame) => frame,
        Err(error) => return format!("{} bytes that are no frame: {error}", bytes.len()),
    };
    let carries = match message {
        Message::TakeToken { token, .. }
        | Message::TokenIsHere { token, .. }
        | Message::GeneratingToken { token } => format!("{token} "),
        Message::TokenWasHereRecently { token, holder } => {
            format!("{token} at {} ", name(holder))
        }
        Message::RingMembers { members, .. } => format!("{} ", members.len()),
        Message::Stamps {
            purpose, stamps, ..
        } => format!("{purpose:?} {} ", stamps.len()),
        Message::Forget { members } => format!("{} ", members.len()),
        Message::Ping { .. } | Message::WhereIsToken | Message::WantToken | Message::Leaving => {
            String::new()
        }
    };
    format!("{} {carries}to {}", message.kind(), name(destination))
}
