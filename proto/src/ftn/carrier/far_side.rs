//! The other side of a machine under test: it acknowledges parts, and puts messages together.

use std::net::SocketAddr;

use ring_codec::ftn::{Datagram, Header, Message};

use super::{Incoming, PARTS_MAX, Piece, Took};
use crate::ftn::{LONGEST, PART};
use crate::time::Instant;

/// The other end of a carrier, as a test plays it.
#[derive(Debug, Default)]
pub struct FarSide(Incoming);

impl FarSide {
    /// A datagram for `peer`: the message that it is, or of which it is the last part, and what `peer` answers.
    ///
    /// # Panics
    /// The machine under test has sent a datagram that is too long or none of the protocol.
    pub fn hear(&mut self, peer: SocketAddr, bytes: &[u8]) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        assert!(bytes.len() <= LONGEST, "{} bytes", bytes.len());
        let datagram = Datagram::decode(bytes).unwrap();
        let Message::Part {
            content,
            part,
            parts,
            bytes: piece,
        } = datagram.message()
        else {
            return (Some(bytes.to_vec()), None);
        };
        let piece = Piece {
            content,
            part,
            parts,
            bytes: piece,
        };
        let now = Instant::default();
        let took = self.0.take(now, now, peer, piece, PARTS_MAX * PART);
        let came = self.0.came(peer, content).unwrap();
        let Header { from, to, ssig } = datagram.header();
        let header = Header {
            from: to,
            to: from,
            ssig,
        };
        let answer = Message::Parted {
            content,
            came: &came,
        };
        let answer = Datagram::new(header, answer);
        let mut bytes = vec![0; answer.encoded_len()];
        answer.encode(&mut bytes).unwrap();
        let whole = match took {
            Took::Whole { bytes, .. } => Some(bytes),
            Took::Noted | Took::Refused => None,
        };
        (whole, Some(bytes))
    }
}
