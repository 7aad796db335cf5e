//! A station that asks for the token all the time and never takes it: its unicast is lost, or it is too
//! slow. It goes on when the other faults have ended; the ring keeps its promises beside it.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, MAX_FRAME_LEN, Message};
use ring_proto::time::nanos;

use super::Subject;
use super::ring::Due;
use super::settings::FaultKind;
use super::world::World;
use crate::kernel::queue::Event;

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
        let frame = Frame {
            destination: MacAddr::BROADCAST,
            author: STATION,
            message: Message::WantToken,
            profile: None,
            card: None,
        };
        let mut buf = [0; MAX_FRAME_LEN];
        let len = frame
            .encode(self.system.constants.ethertype, &mut buf)
            .unwrap_or(0);
        self.inject((), MacAddr::BROADCAST, buf[..len].into());
        let next = self.now + nanos(self.system.constants.heartbeat);
        self.queue.push(next, Event::Own(Due::Ask));
    }
}
