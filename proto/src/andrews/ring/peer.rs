//! A connection that is up, and the node at its other end (`docs/board/protocol/members.md`, rules C; `failures.md`,
//! rules F).

use std::net::IpAddr;

use ring_codec::DecodeError;

use super::frame_reader::FrameReader;
use super::write_buffer::WriteBuffer;
use crate::StreamId;
use crate::andrews::message::OwnedMessage;
use crate::time::Instant;

#[derive(Debug)]
pub(crate) struct Peer {
    id: u32,
    stream: StreamId,
    from: IpAddr,
    reader: FrameReader,
    write_buffer: WriteBuffer,
}

impl Peer {
    pub(super) fn new(id: u32, stream: StreamId, from: IpAddr, reader: FrameReader) -> Self {
        Self {
            id,
            stream,
            from,
            reader,
            write_buffer: WriteBuffer::default(),
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

    /// Removes the next frame from the front of `bytes`. Returns `None` if all bytes are taken and the frame is still
    /// incomplete.
    pub(crate) fn read(
        &mut self,
        bytes: &mut &[u8],
        now: Instant,
    ) -> Result<Option<(u32, OwnedMessage)>, DecodeError> {
        self.reader.next(bytes, now)
    }

    /// Returns the arrival time of the incomplete frame's first byte.
    pub(crate) const fn begun_at(&self) -> Option<Instant> {
        self.reader.begun_at()
    }

    /// Queues a frame. Returns whether the frame fits into the buffer.
    pub(crate) fn push(&mut self, frame: &[u8]) -> bool {
        self.write_buffer.push(frame)
    }

    /// Moves queued bytes into `room`. Returns their number.
    pub(crate) fn write(&mut self, room: &mut [u8]) -> usize {
        self.write_buffer.write(room)
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
