//! Events of the two kinds of connections: the connection of this node's own pass, and the connections of givers.

use std::net::SocketAddr;

use super::Jitterbug;
use crate::{StreamEvent, StreamId, StreamOp};

impl Jitterbug {
    /// Handles an event of a connection. Returns the number of consumed bytes.
    pub(super) fn on_stream(&mut self, id: StreamId, event: StreamEvent<'_, SocketAddr>) -> usize {
        let is_pass = self.is_pass(id);
        match event {
            StreamEvent::Accepted(from) => self.on_accepted(id, from.ip()),
            StreamEvent::Connected if is_pass => self.on_connected(id),
            StreamEvent::Received { bytes, end } if is_pass => {
                self.on_answer(id, bytes, end);
                // A pass has judged all bytes that have arrived, so none of them stays unread.
                return bytes.len();
            }
            StreamEvent::Received { bytes, end } => return self.on_exchange_bytes(id, bytes, end),
            StreamEvent::Closed(why) if is_pass => self.on_pass_closed(why),
            StreamEvent::Closed(_) => self.on_exchange_closed(id),
            StreamEvent::Connected => {}
        }
        0
    }

    /// Whether this is the connection of the running pass.
    fn is_pass(&self, id: StreamId) -> bool {
        let pass = self.role.pass();
        pass.is_some_and(|pass| pass.stream() == Some(id))
    }

    /// Opens a connection, if a pass needs a connection.
    pub(super) fn open(&mut self, vacant: Option<StreamId>) -> Option<StreamOp<SocketAddr>> {
        let (net, vacant) = (self.net?, vacant?);
        let pass = self
            .role
            .pass_mut()
            .filter(|pass| pass.stream().is_none())?;
        pass.on_opened(vacant);
        let to = pass.to();
        Some(StreamOp::Open(net.reach(to.ip, to.port)))
    }

    /// Writes the next bytes of a connection.
    pub(super) fn write(&mut self, id: StreamId, room: &mut [u8]) -> usize {
        if let Some(exchange) = self.inbound.get_mut(id) {
            return exchange.write(room);
        }
        let pass = self.role.pass_mut();
        let Some(pass) = pass.filter(|pass| pass.stream() == Some(id)) else {
            return 0;
        };
        let count = pass.write(room);
        // The driver asks again after the last byte, and the half-close follows.
        if count == 0 && pass.close() {
            self.out.push_operation(StreamOp::Finish(id));
        }
        count
    }
}
