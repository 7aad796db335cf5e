//! Setups and steps that many tests share.

use std::net::IpAddr;

use super::fake_database::FakeDatabase;
use super::rig::{Rig, ms};
use crate::andrews::message::OwnedMessage;
use crate::andrews::{Event, Options};
use crate::{CloseReason, StreamId};

/// Returns the rows that most tests begin with: the ring is 1 → 2 → 3 → 5 → 1, and node 5 is coordinator with term 4.
pub(crate) fn ring_of_four() -> FakeDatabase {
    FakeDatabase::ring(&[1, 2, 3, 5], 5, 4)
}

impl Rig {
    /// Creates node 2 of [`four`], between 1 and 3.
    pub(crate) fn node_2() -> Self {
        Self::member(2, ring_of_four())
    }

    /// Creates node 2, and advances the time by this many milliseconds.
    pub(crate) fn node_2_after(time: u64) -> Self {
        let mut rig = Self::node_2();
        rig.run(ms(time));
        rig
    }

    pub(crate) fn coordinator_5() -> Self {
        Self::coordinator(5, &[1, 2, 3, 5])
    }

    /// Creates the coordinator after its database has stopped answering.
    pub(crate) fn coordinator_5_unanswered() -> Self {
        let mut rig = Self::coordinator_5();
        rig.answers = false;
        rig
    }

    /// Creates the elected coordinator, with term 4, of a ring with these members in this order.
    pub(crate) fn coordinator(id: u32, members: &[u32]) -> Self {
        let mut rig = Self::with(Options::new(id), FakeDatabase::ring(members, id, 3));
        rig.run(ms(20));
        rig.connect_neighbors();
        rig.database.acting = false;
        rig.run(ms(1000));
        assert!(rig.is_coordinator());
        assert_eq!(rig.database.seat.term, 4);
        rig.clear_output();
        rig
    }

    pub(crate) fn end_successor(&mut self) {
        self.end_stream(self.successor().0);
    }

    pub(crate) fn refuse_successor(&mut self) {
        self.close_by_kernel(self.successor().0, CloseReason::Refused);
    }

    pub(crate) fn connect_successor(&mut self) {
        self.open_by_kernel(self.successor().0);
    }

    /// Removes the events since the last call. Returns whether `event` was among the removed events.
    pub(crate) fn take_event(&mut self, event: &Event) -> bool {
        self.take_events().contains(event)
    }

    /// Delivers a token of the predecessor, and returns the frames that the node writes back.
    pub(crate) fn give_token(&mut self, sequence: u64) -> Vec<OwnedMessage> {
        let stream = self.predecessor();
        let inbound = self.machine.inbound().predecessor();
        let from = inbound.expect("there is one").id();
        self.receive(stream, from, &OwnedMessage::Token(sequence));
        if self.streams.contains_key(&stream) {
            return self.take_frames(stream);
        }
        Vec::new()
    }

    pub(crate) fn take_successor_frames(&mut self) -> Vec<OwnedMessage> {
        let (stream, _) = self.successor();
        self.take_frames(stream)
    }

    pub(crate) fn acknowledge(&mut self, sequence: u64) {
        let (stream, to) = self.successor();
        self.receive(stream, to, &OwnedMessage::TokenAck(sequence));
    }

    pub(crate) fn held_sequence(&self) -> Option<u64> {
        self.machine.token().held_sequence()
    }

    /// Returns the connections that the node opened since the last call, with the destination of each.
    pub(crate) fn take_opened(&mut self) -> Vec<(StreamId, u32)> {
        let opened = self.opened.drain(..);
        let streams = &self.streams;
        let those = opened.map(|id| {
            let IpAddr::V4(ip) = streams[&id].peer.ip() else {
                panic!("{id:?}");
            };
            let [_, _, high, low] = ip.octets();
            (id, u32::from_be_bytes([0, 0, high, low]))
        });
        those.collect()
    }
}
