//! What waits to be written on a connection (`docs/board.md`, section 6).

/// The most bytes that may wait: a peer that leaves more unread counts as ended.
const MOST: usize = 1 << 20;

/// Bytes in the order in which they are to be sent.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    bytes: Vec<u8>,
    /// How many of them are written.
    written: usize,
}

impl Unsent {
    /// Adds a frame; whether there was room for it.
    pub(super) fn push(&mut self, frame: &[u8]) -> bool {
        if self.bytes.len() - self.written + frame.len() > MOST {
            return false;
        }
        self.bytes.drain(..self.written);
        self.written = 0;
        self.bytes.extend_from_slice(frame);
        true
    }

    /// Moves what fits into `room`, and returns how many bytes.
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
