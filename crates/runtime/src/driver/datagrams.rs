//! Links that carry datagrams between peers with addresses.

use super::{Quota, ReceiveBatch, TransmitBatch};

/// The size of the longest datagram over IPv4, in bytes.
pub const MAX_DATAGRAM: usize = 65_507;
/// Maximum datagrams that one receive call returns.
pub const RECEIVE_BATCH: usize = 64;
/// Maximum datagrams that one send call takes.
pub const TRANSMIT_BATCH: usize = 32;
/// One batch per loop iteration. Before a timeout, more than a socket's buffer of tens of megabytes holds; messages
/// that came after the iteration began end it earlier.
pub const QUOTA: Quota = Quota::of_messages(RECEIVE_BATCH, 1 << 16);

/// Makes an empty batch to receive datagrams of at most `longest` bytes. The link drops longer ones.
pub fn receive_batch<P: Copy>(longest: usize) -> ReceiveBatch<P> {
    ReceiveBatch::new(RECEIVE_BATCH, longest)
}

/// Makes an empty batch to send datagrams of at most `longest` bytes.
pub fn transmit_batch<P: Copy>(longest: usize) -> TransmitBatch<P> {
    TransmitBatch::of(TRANSMIT_BATCH, longest)
}
