//! Readable names of addresses, tokens and frames.

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Message};

/// The number of network cards of a node.
pub(super) const CARDS: u8 = 8;

/// Returns the first address of node `at`.
pub fn mac(at: usize) -> MacAddr {
    card(at, 0)
}

/// Returns the address of one of the network cards of node `at`.
pub(super) fn card(at: usize, number: u8) -> MacAddr {
    let [.., high, low] = at.to_be_bytes();
    MacAddr([2, number, 0, 0, high, low])
}

/// Returns the node and the card of an address that belongs, or belonged, to a node.
fn place(mac: MacAddr) -> Option<(usize, u8)> {
    match mac.0 {
        [2, number @ 0..CARDS, 0, 0, high, low] => {
            Some((usize::from(u16::from_be_bytes([high, low])), number))
        }
        _ => None,
    }
}

/// Returns the node of an address that belongs, or belonged, to a node.
pub fn node_of(mac: MacAddr) -> Option<usize> {
    place(mac).map(|(at, _)| at)
}

/// Returns an IP of node `at`: a 10.x.x.x address with this `number`, in the form that the protocol carries.
pub(super) fn ip(at: usize, number: u8) -> [u8; 16] {
    let [.., high, low] = at.to_be_bytes();
    let mut ip = [0; 16];
    ip[10..].copy_from_slice(&[0xff, 0xff, 10, number, high, low]);
    ip
}

/// Returns the name of a node or of another station.
pub fn name(mac: MacAddr) -> String {
    match place(mac) {
        Some((at, 0)) => format!("n{at}"),
        Some((at, card)) => format!("n{at}.{card}"),
        None if mac == MacAddr::BROADCAST => "all".into(),
        None => mac.to_string(),
    }
}

/// Formats a frame as one line.
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
