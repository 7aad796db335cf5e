//! Datagrams: the messages that do not travel round the ring (`docs/board/protocol/members.md`, rules M).

use std::net::IpAddr;

use ring_codec::andrews::{Frame, Method};

use super::Andrews;
use crate::andrews::Reason;
use crate::andrews::message::OwnedMessage;

impl Andrews {
    pub(super) fn on_datagram(&mut self, source: IpAddr, bytes: &[u8]) {
        let Ok(frame) = Frame::decode_datagram(bytes) else {
            return self.out.report_drop(source, Reason::Malformed);
        };
        let from = frame.src_id;
        self.out.counters.note_received(frame.message.kind());
        // A datagram with this node's own id is a loop or a forgery.
        if from == self.options.id || !self.list.is_from(from, source) {
            self.note_sender(from, source);
            return self.out.report_drop(source, Reason::WrongSource);
        }
        match OwnedMessage::from(frame.message) {
            OwnedMessage::Join => {
                self.note_contact();
                self.on_join(from);
            }
            OwnedMessage::SuccessorRequest => {
                self.note_contact();
                self.on_successor_request(from);
            }
            // A datagram can be late or forged. The node follows only its row.
            OwnedMessage::Successor(_) => {
                self.note_contact();
                self.database.want_look();
            }
            OwnedMessage::Election(election) if election.method() == Method::Bully => {
                self.note_contact();
                self.on_election_message(from, source, election);
            }
            // A frame on the wrong transport is no proof of the network.
            OwnedMessage::Token(_) | OwnedMessage::TokenAck(_) | OwnedMessage::Election(_) => {
                self.out.report_drop(source, Reason::WrongTransport);
            }
        }
    }
}
