//! A station that asks for the token all the time and never takes it: its unicast is lost, or it is too
//! slow. It goes on when the other faults have ended; the ring keeps its promises beside it.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Message;
use ring_proto::time::nanos;

use super::Subject;
use super::ring::{Due, World};
use super::settings::FaultKind;

/// Its address: in ring order after all nodes.
const STATION: MacAddr = MacAddr([2, 0xff, 0, 0, 2, 1]);
/// The work of members that come back for the token at once, while such a station is there, at a heartbeat: longer
/// than the time between two of its WANT_TOKEN, so that it is there to be asked after each piece.
pub(super) fn long_work(heartbeat: Duration) -> u64 {
    nanos(heartbeat * 6 / 5)
}

impl<M: Subject> World<M> {
    /// From now on there is such a station.
    pub(super) fn begin_asking(&mut self) {
        if !self.system.is_asked {
            self.system.is_asked = true;
            self.ask_again();
        }
    }

    /// It says WANT_TOKEN, as often as a member does.
    pub(super) fn ask_again(&mut self) {
        self.system.met(FaultKind::Unresponsive);
        self.hear_station(STATION, Message::WantToken);
        let next = self.now + nanos(self.system.constants.heartbeat);
        self.later(next, Due::Ask);
    }
}
