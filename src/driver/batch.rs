//! Buffers for several frames, made once and used for ever.

use std::time::Duration;

use ring_proto::time::{Instant, Now};

/// Bytes of one frame's buffer. Longer frames are cut: no message is that long.
pub const MAX_FRAME: usize = 1536;
/// The most frames that one receive call brings.
pub const RECEIVE_BATCH: usize = 32;
/// The most frames that one send call takes.
pub const TRANSMIT_BATCH: usize = 8;

/// Frames that a link has received.
#[derive(Debug)]
pub struct ReceiveBatch {
    /// The frames' buffers: as many as one call may fill.
    pub buffers: Box<[[u8; MAX_FRAME]]>,
    /// Length in bytes of each frame received, and its age at the time that goes with it.
    pub frames: Vec<(usize, Now, Duration)>,
}

impl ReceiveBatch {
    /// An empty batch of [`RECEIVE_BATCH`] frames.
    #[must_use]
    pub fn new() -> Self {
        Self::of(RECEIVE_BATCH)
    }

    /// An empty batch of `frames` frames; the only allocation that it ever makes.
    #[must_use]
    pub fn of(frames: usize) -> Self {
        Self {
            buffers: vec![[0; MAX_FRAME]; frames].into_boxed_slice(),
            frames: Vec::with_capacity(frames),
        }
    }

    /// Whether there may be more to receive.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.frames.len() == self.buffers.len()
    }

    /// When the last frame came.
    #[must_use]
    pub fn newest(&self) -> Option<Instant> {
        let last = self.frames.last();
        last.map(|&(_, now, age)| now.monotonic.before(age))
    }

    /// The frames received, each with a time and its age then.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Now, Duration)> {
        self.buffers
            .iter()
            .zip(&self.frames)
            .map(|(buffer, &(len, now, age))| (&buffer[..len], now, age))
    }
}

impl Default for ReceiveBatch {
    fn default() -> Self {
        Self::new()
    }
}

/// Frames that a link is to send, in order.
#[derive(Debug)]
pub struct TransmitBatch {
    buffers: Box<[[u8; MAX_FRAME]]>,
    lens: Vec<usize>,
    /// So many of them are dealt with.
    done: usize,
}

impl TransmitBatch {
    /// An empty batch of [`TRANSMIT_BATCH`] frames.
    #[must_use]
    pub fn new() -> Self {
        Self::of(TRANSMIT_BATCH)
    }

    /// An empty batch of `frames` frames; the only allocation that it ever makes.
    #[must_use]
    pub fn of(frames: usize) -> Self {
        Self {
            buffers: vec![[0; MAX_FRAME]; frames].into_boxed_slice(),
            lens: Vec::with_capacity(frames),
            done: 0,
        }
    }

    /// The buffer for the next frame; `None` if the batch is full.
    pub fn next_buffer(&mut self) -> Option<&mut [u8]> {
        self.buffers
            .get_mut(self.lens.len())
            .map(<[u8; MAX_FRAME]>::as_mut_slice)
    }

    /// Takes the first `len` bytes of [`next_buffer`](Self::next_buffer) as a frame.
    pub fn push(&mut self, len: usize) {
        debug_assert!(self.lens.len() < self.buffers.len() && len <= MAX_FRAME);
        self.lens.push(len);
    }

    /// Forgets all frames.
    pub fn clear(&mut self) {
        self.lens.clear();
        self.done = 0;
    }

    /// Forgets the first `count` frames; the others are still to be sent.
    pub fn drop_first(&mut self, count: usize) {
        self.done = (self.done + count).min(self.lens.len());
    }

    /// How many frames there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lens.len() - self.done
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The frames in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let frames = self.buffers.iter().zip(&self.lens);
        frames.skip(self.done).map(|(buffer, &len)| &buffer[..len])
    }
}

impl Default for TransmitBatch {
    fn default() -> Self {
        Self::new()
    }
}
