//! The connections that others have opened (`docs/board.md`, section 3): at most 16 without a hello, and one predecessor.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::frames::FrameReader;
use super::unsent::Unsent;
use crate::StreamId;
use crate::time::Instant;

/// The most connections that have not said hello.
const MOST: usize = 16;

/// A connection that has not said hello.
#[derive(Debug)]
pub(crate) struct Stranger {
    pub(crate) from: IpAddr,
    accepted: Instant,
    pub(crate) reader: FrameReader,
}

/// The node that has this one as its successor.
#[derive(Debug)]
pub(crate) struct Predecessor {
    pub(crate) id: u32,
    pub(crate) stream: StreamId,
    pub(crate) from: IpAddr,
    pub(crate) reader: FrameReader,
    pub(crate) unsent: Unsent,
}

#[derive(Debug, Default)]
pub(crate) struct Inbound {
    strangers: BTreeMap<StreamId, Stranger>,
    pub(crate) predecessor: Option<Predecessor>,
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
        if self.strangers.len() >= MOST {
            let oldest = self
                .strangers
                .iter()
                .min_by_key(|&(&id, it)| (it.accepted, id));
            let oldest = oldest.map(|(&id, _)| id);
            victim = oldest.and_then(|id| Some((id, self.strangers.remove(&id)?.from)));
        }
        let stranger = Stranger {
            from,
            accepted: now,
            reader: FrameReader::default(),
        };
        self.strangers.insert(id, stranger);
        victim
    }

    pub(crate) fn stranger(&mut self, id: StreamId) -> Option<&mut Stranger> {
        self.strangers.get_mut(&id)
    }

    pub(crate) fn remove_stranger(&mut self, id: StreamId) -> Option<Stranger> {
        self.strangers.remove(&id)
    }

    pub(crate) fn is_predecessor(&self, id: StreamId) -> bool {
        self.predecessor.as_ref().is_some_and(|it| it.stream == id)
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
        let begun = self.predecessor.as_ref().and_then(|it| it.reader.begun());
        strangers.chain(begun.map(|begun| begun + liveness)).min()
    }

    /// Every connection.
    pub(crate) fn all(&self) -> Vec<StreamId> {
        let strangers = self.strangers.keys().copied();
        strangers
            .chain(self.predecessor.as_ref().map(|it| it.stream))
            .collect()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
