//! Links that carry Ethernet frames, which name their stations themselves.

use super::{ReceiveBatch, TransmitBatch};

/// Bytes of one frame's buffer. Longer frames are cut: no message is that long.
pub const MAX_FRAME: usize = 1536;
/// The most frames that one receive call brings.
pub const RECEIVE_BATCH: usize = 32;
/// The most frames that one send call takes.
pub const TRANSMIT_BATCH: usize = 8;

/// An empty batch for frames to receive.
#[must_use]
pub fn receive_batch() -> ReceiveBatch {
    ReceiveBatch::of(RECEIVE_BATCH, MAX_FRAME)
}

/// An empty batch for frames to send.
#[must_use]
pub fn transmit_batch() -> TransmitBatch {
    TransmitBatch::of(TRANSMIT_BATCH, MAX_FRAME)
}
