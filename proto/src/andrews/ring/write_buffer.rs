//! Bytes that wait to be written on a connection (`docs/board.md`, section 6).

/// A peer that leaves more than this many bytes unread counts as ended.
const UNREAD_BYTES_MAX: usize = 1 << 20;

/// Bytes in the order in which they are sent.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    bytes: Vec<u8>,
    /// How many of them are written.
    written: usize,
}

impl WriteBuffer {
    /// Adds a frame. Returns whether it fits.
    pub(super) fn push(&mut self, frame: &[u8]) -> bool {
        if self.bytes.len() - self.written + frame.len() > UNREAD_BYTES_MAX {
            return false;
        }
        self.bytes.drain(..self.written);
        self.written = 0;
        self.bytes.extend_from_slice(frame);
        true
    }

    /// Moves bytes into `room`. Returns how many.
    pub(super) fn write(&mut self, room: &mut [u8]) -> usize {
        let waiting = self.bytes.get(self.written..).unwrap_or_default();
        let count = waiting.len().min(room.len());
        for (to, from) in room.iter_mut().zip(waiting) {
            *to = *from;
        }
        self.written += count;
        if self.written == self.bytes.len() {
            *self = Self::default();
        }
        count
    }
}
