//! Steps of a ring's life that many tests need.

use std::net::IpAddr;

use super::base::Base;
use super::rig::{Rig, ms};
use crate::andrews::message::Said;
use crate::andrews::{Event, Options};
use crate::{Closed, StreamId};

/// The rows that most tests begin with: 1 → 2 → 3 → 5 → 1, coordinator 5 of term 4.
pub(crate) fn four() -> Base {
    Base::ring(&[1, 2, 3, 5], 5, 4)
}

impl Rig {
    /// Node 2 of [`four`], between 1 and 3.
    pub(crate) fn two() -> Self {
        Self::member(2, four())
    }

    /// The same after so many milliseconds.
    pub(crate) fn two_after(time: u64) -> Self {
        let mut rig = Self::two();
        rig.run(ms(time));
        rig
    }

    /// The coordinator of [`four`].
    pub(crate) fn five() -> Self {
        Self::coordinator(5, &[1, 2, 3, 5])
    }

    /// The same, whose database does not answer any more.
    pub(crate) fn unanswered_five() -> Self {
        let mut rig = Self::five();
        rig.answers = false;
        rig
    }

    /// The coordinator of a ring of these members, in this order: of term 4, not acting.
    pub(crate) fn coordinator(id: u32, members: &[u32]) -> Self {
        let mut rig = Self::with(Options::new(id), Base::ring(members, id, 3));
        rig.run(ms(20));
        rig.join_up();
        rig.base.acting = false;
        rig.run(ms(1000));
        assert!(rig.is_coordinator());
        assert_eq!(rig.base.seat.term, 4);
        rig.forget();
        rig
    }

    pub(crate) fn end_successor(&mut self) {
        self.end(self.successor().0);
    }

    pub(crate) fn refuse_successor(&mut self) {
        self.gone(self.successor().0, Closed::Refused);
    }

    pub(crate) fn connect_successor(&mut self) {
        self.connected(self.successor().0);
    }

    /// Whether it has told of something since the last time.
    pub(crate) fn tells(&mut self, event: &Event) -> bool {
        self.events().contains(event)
    }

    /// Its predecessor gives it a token, and what it answers.
    pub(crate) fn given(&mut self, sequence: u64) -> Vec<Said> {
        let stream = self.predecessor();
        let inbound = self.machine.inbound().predecessor();
        let from = inbound.expect("there is one").id();
        self.receive(stream, from, &Said::Token(sequence));
        if self.streams.contains_key(&stream) {
            return self.frames(stream);
        }
        Vec::new()
    }

    /// What it has sent to its successor.
    pub(crate) fn passed(&mut self) -> Vec<Said> {
        let (stream, _) = self.successor();
        self.frames(stream)
    }

    pub(crate) fn acknowledge(&mut self, sequence: u64) {
        let (stream, to) = self.successor();
        self.receive(stream, to, &Said::TokenAck(sequence));
    }

    pub(crate) fn holds(&self) -> Option<u64> {
        self.machine.token().held()
    }

    /// The connections that it has opened since the last time, and to whom.
    pub(crate) fn opens(&mut self) -> Vec<(StreamId, u32)> {
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
