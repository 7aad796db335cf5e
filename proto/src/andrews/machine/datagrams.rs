//! What each datagram does: what goes across the ring (`docs/board.md`, section 2).

use std::net::IpAddr;

use ring_codec::andrews::{Frame, Method};

use super::Andrews;
use crate::andrews::Reason;
use crate::andrews::message::Said;

impl Andrews {
    /// A datagram came from an address.
    pub(super) fn on_datagram(&mut self, source: IpAddr, bytes: &[u8]) {
        let Ok(frame) = Frame::decode_datagram(bytes) else {
            return self.out.drop(source, Reason::Malformed);
        };
        let from = frame.src_id;
        self.out.counters.note_received(frame.message.kind());
        if from == self.options.id || !self.list.is_from(from, source) {
            self.note_sender(from, source);
            return self.out.drop(source, Reason::WrongSource);
        }
        match Said::from(frame.message) {
            Said::Join => {
                self.heard();
                self.on_join(from);
            }
            Said::SuccessorRequest => {
                self.heard();
                self.on_successor_request(from);
            }
            // What it names is not obeyed: the row is.
            Said::Successor(_) => {
                self.heard();
                self.database.want_look();
            }
            Said::Election(ballot) if ballot.method() == Method::Bully => {
                self.heard();
                self.on_ballot(from, source, ballot);
            }
            Said::Token(_) | Said::TokenAck(_) | Said::Election(_) => {
                self.out.drop(source, Reason::WrongTransport);
            }
        }
    }
}
