//! Links that carry Ethernet frames, which contain their addresses.

use super::{Quota, ReceiveBatch, TransmitBatch};

/// The size of a frame's buffer in bytes. Longer frames are truncated: no message is that long.
pub const MAX_FRAME: usize = 1536;
/// Maximum frames that one receive call returns.
pub const RECEIVE_BATCH: usize = 32;
/// Maximum frames that one send call takes.
pub const TRANSMIT_BATCH: usize = 8;

/// A few batches per loop iteration. Before a timeout, more than a packet socket's queue holds.
pub const QUOTA: Quota = Quota::of_messages(4 * RECEIVE_BATCH, 64 * RECEIVE_BATCH);

/// Makes an empty batch to receive frames.
pub fn receive_batch() -> ReceiveBatch {
    ReceiveBatch::new(RECEIVE_BATCH, MAX_FRAME)
}

/// Makes an empty batch to send frames.
pub fn transmit_batch() -> TransmitBatch {
    TransmitBatch::of(TRANSMIT_BATCH, MAX_FRAME)
}
