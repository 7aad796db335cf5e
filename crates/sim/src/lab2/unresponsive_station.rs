//! A station that always requests the token and never takes it. Either its unicasts are lost, or the station is too
//! slow. The station stays after the end of the other faults, and the ring must still keep its promises.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Message;
use ring_proto::time::nanos;

use super::Inspect;
use super::settings::FaultKind;
use super::system::{Lab2Event, World};

/// The station's address. In ring order, it comes after the addresses of all nodes.
const STATION: MacAddr = MacAddr([2, 0xff, 0, 0, 2, 1]);
/// Returns a duration of work, in nanoseconds, for members that request the token again at once. The duration is longer
/// than the interval between two WANT_TOKEN of the station. So the station requests the token after each piece of work.
pub(super) fn long_work(heartbeat: Duration) -> u64 {
    nanos(heartbeat * 6 / 5)
}

impl<M: Inspect> World<M> {
    pub(super) fn start_unresponsive_station(&mut self) {
        if !self.system.has_unresponsive_station {
            self.system.has_unresponsive_station = true;
            self.send_want_token();
        }
    }

    /// Sends WANT_TOKEN at the same interval as a member.
    pub(super) fn send_want_token(&mut self) {
        self.system.count_fault(FaultKind::Unresponsive);
        self.broadcast_as(STATION, Message::WantToken);
        let next = self.now + nanos(self.system.constants.heartbeat);
        self.later(next, Lab2Event::Ask);
    }
}
