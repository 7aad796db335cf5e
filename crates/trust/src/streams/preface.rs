//! The preface: the first bytes that each side of an encrypted stream sends. This file also contains the data that must
//! be the same on both sides.

use std::net::{IpAddr, SocketAddr};

/// The first bytes of an encrypted stream. No stream without encryption begins with these bytes. A stream of the board
/// begins with the byte 1. A stream of Jitterbug begins with a byte whose low four bits are 1.
const MARK: [u8; 3] = *b"KEY";
const VERSION: u8 = 1;
const START: [u8; 4] = [MARK[0], MARK[1], MARK[2], VERSION];
/// Length of a preface in bytes.
pub(super) const PREFACE_LEN: usize = 8;

/// Returns a preface. The key id 0 means that the stream continues without encryption.
pub(super) fn write(key_id: u32) -> [u8; PREFACE_LEN] {
    let mut preface = [0; PREFACE_LEN];
    preface[..START.len()].copy_from_slice(&START);
    preface[START.len()..].copy_from_slice(&key_id.to_be_bytes());
    preface
}

/// Whether these bytes may be the beginning of a preface.
pub(super) fn may_begin(bytes: &[u8]) -> bool {
    bytes.iter().zip(START).all(|(&byte, start)| byte == start)
}

/// Returns the key id of a preface; `None` if the preface is incomplete.
pub(super) fn key_id(bytes: &[u8]) -> Option<u32> {
    let id = bytes.get(START.len()..PREFACE_LEN)?;
    id.first_chunk().map(|id| u32::from_be_bytes(*id))
}

/// The system of a stream, and the addresses of its connection. A stream opens only if both sides have the same values.
/// So an attacker cannot use the handshake of one connection on another connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamEnds {
    /// Name of the system.
    pub system: &'static str,
    /// Address of the node that connected.
    pub initiator: SocketAddr,
    /// Address of the node that accepted.
    pub responder: SocketAddr,
}

impl StreamEnds {
    /// Returns the prologue of the handshake: data that both sides must have in common.
    pub(super) fn prologue(&self, preface: [u8; PREFACE_LEN]) -> Vec<u8> {
        let mut prologue = preface.to_vec();
        for address in [self.initiator, self.responder] {
            let ip = match address.ip() {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            prologue.extend_from_slice(&ip.octets());
            prologue.extend_from_slice(&address.port().to_be_bytes());
        }
        prologue.extend_from_slice(self.system.as_bytes());
        prologue
    }
}
