//! What happens to connections: which are the giver's, and which a candidate's.

use std::net::SocketAddr;

use super::Jitterbug;
use crate::{StreamEvent, StreamId, StreamOp};

impl Jitterbug {
    /// Something has happened to a connection. Returns how many of the bytes received are done with.
    pub(super) fn on_stream(&mut self, id: StreamId, event: StreamEvent<'_, SocketAddr>) -> usize {
        let is_pass = self.is_pass(id);
        match event {
            StreamEvent::Accepted(from) => self.on_accepted(id, from.ip()),
            StreamEvent::Connected if is_pass => self.on_connected(id),
            StreamEvent::Received { bytes, end } if is_pass => {
                self.on_answer(id, bytes, end);
                return bytes.len();
            }
            StreamEvent::Received { bytes, end } => return self.on_offered(id, bytes, end),
            StreamEvent::Closed(why) if is_pass => self.on_pass_closed(why),
            StreamEvent::Closed(_) => self.on_exchange_closed(id),
            StreamEvent::Connected => {}
        }
        0
    }

    /// Whether a connection is that of the pass that goes on.
    fn is_pass(&self, id: StreamId) -> bool {
        let pass = self.role.pass();
        pass.is_some_and(|pass| pass.stream() == Some(id))
    }

    /// Opens a connection, if a pass needs one.
    pub(super) fn open(&mut self, vacant: Option<StreamId>) -> Option<StreamOp<SocketAddr>> {
        let (net, vacant) = (self.net?, vacant?);
        let pass = self
            .role
            .pass_mut()
            .filter(|pass| pass.stream().is_none())?;
        pass.opened(vacant);
        let to = pass.to();
        Some(StreamOp::Open(net.reach(to.ip, to.port)))
    }

    /// Writes what is next on a connection.
    pub(super) fn write(&mut self, id: StreamId, room: &mut [u8]) -> usize {
        if let Some(exchange) = self.inbound.get_mut(id) {
            return exchange.write(room);
        }
        let pass = self.role.pass_mut();
        let Some(pass) = pass.filter(|pass| pass.stream() == Some(id)) else {
            return 0;
        };
        let count = pass.write(room);
        // The driver asks again when all that it was given is written.
        if count == 0 && pass.close() {
            self.out.operate(StreamOp::Finish(id));
        }
        count
    }
}
