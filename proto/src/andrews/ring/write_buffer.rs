//! Bytes that wait to be written on a connection (`docs/board/protocol/members.md` C7).

/// If a peer leaves more than this number of bytes unread, the node treats the peer as ended.
const UNREAD_BYTES_MAX: usize = 1 << 20;

/// The bytes to send, in their order.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    bytes: Vec<u8>,
    /// The number of bytes at the front that are already written.
    written: usize,
}

impl WriteBuffer {
    /// Adds a frame. Returns whether the frame fits.
    pub(super) fn push(&mut self, frame: &[u8]) -> bool {
        // Written bytes do not count: only unwritten bytes show that the peer does not read.
        if self.bytes.len() - self.written + frame.len() > UNREAD_BYTES_MAX {
            return false;
        }
        // Written bytes are removed only here, so that not each write moves the rest.
        self.bytes.drain(..self.written);
        self.written = 0;
        self.bytes.extend_from_slice(frame);
        true
    }

    /// Moves queued bytes into `room`. Returns their number.
    pub(super) fn write(&mut self, room: &mut [u8]) -> usize {
        let waiting = self.bytes.get(self.written..).unwrap_or_default();
        let count = waiting.len().min(room.len());
        for (to, from) in room.iter_mut().zip(waiting) {
            *to = *from;
        }
        self.written += count;
        if self.written == self.bytes.len() {
            // An idle connection keeps no memory.
            *self = Self::default();
        }
        count
    }
}
