//! The connections that others have opened (`docs/board.md`, section 3): at most 16 without a hello, and one predecessor.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ring_codec::andrews::Kind;

use super::frames::FrameReader;
use super::peer::Peer;
use crate::StreamId;
use crate::andrews::Reason;
use crate::andrews::message::Said;
use crate::time::Instant;

/// The most connections that have not said hello.
const STRANGERS_MAX: usize = 16;

/// A connection that has not said hello.
#[derive(Debug)]
struct Stranger {
    from: IpAddr,
    accepted: Instant,
    reader: FrameReader,
}

/// The sender and what it says, as soon as it is complete, or why it is refused.
type FirstFrame = Result<Option<(u32, Said)>, Reason>;

#[derive(Debug, Default)]
pub(crate) struct Inbound {
    strangers: BTreeMap<StreamId, Stranger>,
    /// The node that has this one as its successor.
    predecessor: Option<Peer>,
}

impl Inbound {
    /// Takes up a connection. Returns the one that is to be closed for it.
    pub(crate) fn accept(
        &mut self,
        id: StreamId,
        from: IpAddr,
        now: Instant,
    ) -> Option<(StreamId, IpAddr)> {
        let mut victim = None;
        if self.strangers.len() >= STRANGERS_MAX {
            let all = self.strangers.iter();
            let oldest = all.min_by_key(|&(&id, it)| (it.accepted, id));
            let oldest = oldest.map(|(&id, _)| id);
            victim = oldest.and_then(|id| Some((id, self.remove_stranger(id)?)));
        }
        let stranger = Stranger {
            from,
            accepted: now,
            reader: FrameReader::default(),
        };
        self.strangers.insert(id, stranger);
        victim
    }

    /// Bytes of a connection that has not said hello, if it is one: where it comes from, and its first frame.
    pub(crate) fn first_frame(
        &mut self,
        id: StreamId,
        bytes: &mut &[u8],
        now: Instant,
    ) -> Option<(IpAddr, FirstFrame)> {
        let stranger = self.strangers.get_mut(&id)?;
        let first = bytes.get(1).copied();
        let frame = stranger.reader.next(bytes, now);
        let kind = stranger.reader.kind().or(first);
        let frame = match frame {
            Err(_) => Err(Reason::Malformed),
            // Nothing longer than a hello is awaited.
            Ok(None) if kind.is_some_and(|kind| kind != Kind::Successor as u8) => {
                Err(Reason::NotHello)
            }
            Ok(frame) => Ok(frame),
        };
        Some((stranger.from, frame))
    }

    /// Forgets a connection without a hello. Returns where it comes from.
    pub(crate) fn remove_stranger(&mut self, id: StreamId) -> Option<IpAddr> {
        self.strangers.remove(&id).map(|it| it.from)
    }

    /// A connection has said hello for a node. Returns it as that node's.
    pub(crate) fn on_hello(&mut self, id: StreamId, node: u32) -> Option<Peer> {
        let stranger = self.strangers.remove(&id)?;
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

    /// Those that have not said hello in time.
    pub(crate) fn late(&self, now: Instant, time: Duration) -> Vec<StreamId> {
        let late = |it: &Stranger| it.accepted + time <= now;
        let those = self.strangers.iter().filter(|(_, it)| late(it));
        those.map(|(&id, _)| id).collect()
    }

    /// When the first of them, or the predecessor's frame, is late.
    pub(crate) fn due(&self, hello: Duration, liveness: Duration) -> Option<Instant> {
        let strangers = self.strangers.values().map(|it| it.accepted + hello);
        let begun = self.predecessor.as_ref().and_then(Peer::begun);
        strangers.chain(begun.map(|begun| begun + liveness)).min()
    }

    /// Every connection.
    pub(crate) fn all(&self) -> Vec<StreamId> {
        let strangers = self.strangers.keys().copied();
        strangers
            .chain(self.predecessor.as_ref().map(Peer::stream))
            .collect()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
