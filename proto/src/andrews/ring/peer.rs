//! A connection that stands, with the node at its other end (`docs/board.md`, sections 3 and 6).

use std::net::IpAddr;

use ring_codec::DecodeError;

use super::frames::FrameReader;
use super::unsent::Unsent;
use crate::StreamId;
use crate::andrews::message::Said;
use crate::time::Instant;

#[derive(Debug)]
pub(crate) struct Peer {
    id: u32,
    stream: StreamId,
    from: IpAddr,
    reader: FrameReader,
    unsent: Unsent,
}

impl Peer {
    pub(super) fn new(id: u32, stream: StreamId, from: IpAddr, reader: FrameReader) -> Self {
        Self {
            id,
            stream,
            from,
            reader,
            unsent: Unsent::default(),
        }
    }

    pub(crate) const fn id(&self) -> u32 {
        self.id
    }

    pub(crate) const fn stream(&self) -> StreamId {
        self.stream
    }

    pub(crate) const fn from(&self) -> IpAddr {
        self.from
    }

    /// Takes the next frame off the front of `bytes`: its sender and what it says. `None`: all was taken, and more is needed.
    pub(crate) fn read(
        &mut self,
        bytes: &mut &[u8],
        now: Instant,
    ) -> Result<Option<(u32, Said)>, DecodeError> {
        self.reader.next(bytes, now)
    }

    /// When a frame was begun that is not complete.
    pub(crate) const fn begun(&self) -> Option<Instant> {
        self.reader.begun()
    }

    /// Adds a frame to what is to be written; whether there was room for it.
    pub(crate) fn push(&mut self, frame: &[u8]) -> bool {
        self.unsent.push(frame)
    }

    /// Moves what fits into `room`, and returns how many bytes.
    pub(crate) fn write(&mut self, room: &mut [u8]) -> usize {
        self.unsent.write(room)
    }
}

#[cfg(test)]
impl Peer {
    pub(crate) fn capacity(&self) -> usize {
        self.reader.capacity()
    }

    pub(crate) const fn set_id(&mut self, id: u32) {
        self.id = id;
    }
}
