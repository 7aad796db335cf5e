//! The peer of a state machine under test.

use std::net::SocketAddr;

use ring_codec::ftn::{Datagram, Header, Message};

use super::{PARTS_MAX, PartOutcome, PartReceiver, ReceivedPart};
use crate::ftn::{DATAGRAM_BYTES_MAX, PART};
use crate::time::Instant;

/// A peer that acknowledges parts and assembles messages.
#[derive(Debug, Default)]
pub struct TestPeer(PartReceiver);

impl TestPeer {
    /// Handles a datagram to `peer`. Returns the message that this datagram completes, if any, and the peer's answer.
    ///
    /// # Panics
    /// Panics if the datagram is too long or does not decode.
    pub fn receive(
        &mut self,
        peer: SocketAddr,
        bytes: &[u8],
    ) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        assert!(bytes.len() <= DATAGRAM_BYTES_MAX, "{} bytes", bytes.len());
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
        let piece = ReceivedPart {
            content,
            part,
            parts,
            bytes: piece,
        };
        let now = Instant::default();
        let took = self.0.take(now, now, peer, piece, PARTS_MAX * PART);
        let came = self.0.arrived_parts(peer, content).unwrap();
        let Header { from, to, ssig } = datagram.header();
        let header = Header {
            from: to,
            to: from,
            ssig,
        };
        let answer = Message::Parted {
            content,
            arrived: &came,
        };
        let answer = Datagram::new(header, answer);
        let mut bytes = vec![0; answer.encoded_len()];
        answer.encode(&mut bytes).unwrap();
        let whole = match took {
            PartOutcome::Complete { bytes, .. } => Some(bytes),
            PartOutcome::Stored | PartOutcome::Refused => None,
        };
        (whole, Some(bytes))
    }
}
