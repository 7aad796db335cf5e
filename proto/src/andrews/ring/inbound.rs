//! Connections that other nodes opened (`docs/board/protocol/members.md`, rules C). At most 16 of these connections may
//! be waiting for a hello, and one connection belongs to the predecessor.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ring_codec::andrews::Kind;

use super::frame_reader::FrameReader;
use super::peer::Peer;
use crate::StreamId;
use crate::andrews::Reason;
use crate::andrews::message::OwnedMessage;
use crate::time::Instant;

// Any host can open a connection, so the number of connections without a hello is limited.
const PENDING_CONNECTIONS_MAX: usize = 16;

/// A connection that has sent no hello.
#[derive(Debug)]
struct PendingConnection {
    from: IpAddr,
    accepted: Instant,
    reader: FrameReader,
}

/// The sender and the message of the first frame. The value is `None` if the frame is incomplete, and an error if the
/// connection must be refused.
type FirstFrame = Result<Option<(u32, OwnedMessage)>, Reason>;

/// The connections that other nodes opened.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    pending: BTreeMap<StreamId, PendingConnection>,
    /// The predecessor: the node that has this node as its successor.
    predecessor: Option<Peer>,
}

impl Inbound {
    /// Adds a connection. If too many connections have sent no hello, removes the oldest of them and returns it with
    /// its peer's address. The caller must close the removed connection.
    pub(crate) fn accept(
        &mut self,
        id: StreamId,
        from: IpAddr,
        now: Instant,
    ) -> Option<(StreamId, IpAddr)> {
        let mut victim = None;
        if self.pending.len() >= PENDING_CONNECTIONS_MAX {
            // A node sends its hello at once, so the oldest connection is the least likely to come from a node.
            let all = self.pending.iter();
            let oldest = all.min_by_key(|&(&id, it)| (it.accepted, id));
            let oldest = oldest.map(|(&id, _)| id);
            victim = oldest.and_then(|id| Some((id, self.remove_pending(id)?)));
        }
        let stranger = PendingConnection {
            from,
            accepted: now,
            reader: FrameReader::default(),
        };
        self.pending.insert(id, stranger);
        victim
    }

    /// Reads the first frame of a connection. Returns the frame with the peer's address, or `None` if the connection
    /// has already sent its hello.
    pub(crate) fn read_first_frame(
        &mut self,
        id: StreamId,
        bytes: &mut &[u8],
        now: Instant,
    ) -> Option<(IpAddr, FirstFrame)> {
        let stranger = self.pending.get_mut(&id)?;
        let first = bytes.get(1).copied();
        let frame = stranger.reader.next(bytes, now);
        let kind = stranger.reader.kind().or(first);
        let frame = match frame {
            Err(_) => Err(Reason::Malformed),
            // Only a hello may come first, so the node does not wait for the rest of another frame.
            Ok(None) if kind.is_some_and(|kind| kind != Kind::Successor as u8) => {
                Err(Reason::NotHello)
            }
            Ok(frame) => Ok(frame),
        };
        Some((stranger.from, frame))
    }

    /// Removes a connection that has sent no hello. Returns the address of the connection's peer.
    pub(crate) fn remove_pending(&mut self, id: StreamId) -> Option<IpAddr> {
        self.pending.remove(&id).map(|it| it.from)
    }

    /// Assigns a connection to the node that its hello names.
    pub(crate) fn on_hello(&mut self, id: StreamId, node: u32) -> Option<Peer> {
        let stranger = self.pending.remove(&id)?;
        Some(Peer::new(node, id, stranger.from, stranger.reader))
    }

    pub(crate) const fn predecessor(&self) -> Option<&Peer> {
        self.predecessor.as_ref()
    }

    pub(crate) const fn predecessor_mut(&mut self) -> Option<&mut Peer> {
        self.predecessor.as_mut()
    }

    pub(crate) fn set_predecessor(&mut self, peer: Peer) {
        self.predecessor = Some(peer);
    }

    pub(crate) const fn take_predecessor(&mut self) -> Option<Peer> {
        self.predecessor.take()
    }

    pub(crate) fn is_predecessor(&self, id: StreamId) -> bool {
        self.predecessor
            .as_ref()
            .is_some_and(|it| it.stream() == id)
    }

    /// Returns the connections whose hello is late.
    pub(crate) fn overdue_connections(&self, now: Instant, time: Duration) -> Vec<StreamId> {
        let late = |it: &PendingConnection| it.accepted + time <= now;
        let those = self.pending.iter().filter(|(_, it)| late(it));
        those.map(|(&id, _)| id).collect()
    }

    /// Returns the first time at which an expected hello, or the rest of a predecessor's frame, becomes late.
    pub(crate) fn due(&self, hello: Duration, liveness: Duration) -> Option<Instant> {
        let pending = self.pending.values().map(|it| it.accepted + hello);
        let begun = self.predecessor.as_ref().and_then(Peer::begun_at);
        pending.chain(begun.map(|begun| begun + liveness)).min()
    }

    /// Returns every connection.
    pub(crate) fn streams(&self) -> Vec<StreamId> {
        let pending = self.pending.keys().copied();
        pending
            .chain(self.predecessor.as_ref().map(Peer::stream))
            .collect()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
