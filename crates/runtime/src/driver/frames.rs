//! Links that carry Ethernet frames. The frames contain the addresses.

use super::{Quota, ReceiveBatch, TransmitBatch};

/// The size of a frame's buffer in bytes. Longer frames are truncated. This is harmless, because no message of a
/// protocol is that long.
pub const MAX_FRAME: usize = 1536;
/// Maximum number of frames of one receive call.
pub const RECEIVE_BATCH: usize = 32;
/// Maximum number of frames of one send call.
pub const TRANSMIT_BATCH: usize = 8;

/// The quota of frame links: a few batches per loop iteration. If the machine's deadline has passed, one iteration
/// handles more frames than a packet socket's queue can hold.
pub const QUOTA: Quota = Quota::of_messages(4 * RECEIVE_BATCH, 64 * RECEIVE_BATCH);

/// Makes an empty batch to receive frames.
pub fn receive_batch() -> ReceiveBatch {
    ReceiveBatch::new(RECEIVE_BATCH, MAX_FRAME)
}

/// Makes an empty batch to send frames.
pub fn transmit_batch() -> TransmitBatch {
    TransmitBatch::of(TRANSMIT_BATCH, MAX_FRAME)
}
