//! Links that carry datagrams between peers with addresses.

use super::{Quota, ReceiveBatch, TransmitBatch};

/// The size of the longest datagram over IPv4, in bytes.
pub const MAX_DATAGRAM: usize = 65_507;
/// Maximum number of datagrams of one receive call.
pub const RECEIVE_BATCH: usize = 64;
/// Number of buffers for merged datagrams.
const MERGED_BATCH: usize = 32;
/// Maximum number of bytes that the kernel merges: the longest datagram over IPv6.
const MERGED_BYTES_MAX: usize = 65_527;
/// Maximum number of datagrams of one send call.
pub const TRANSMIT_BATCH: usize = 32;
/// The quota of datagram links: one batch per loop iteration. If the machine's deadline has passed, one iteration
/// handles up to 65,536 datagrams. This is more than a socket's buffer of tens of megabytes holds. The iteration
/// receives no further batch after a message that arrived later than the beginning of the iteration.
pub const QUOTA: Quota = Quota::of_messages(RECEIVE_BATCH, 1 << 16);

/// Makes an empty batch to receive datagrams of at most `longest` bytes. The link drops longer datagrams.
pub fn receive_batch<P: Copy>(longest: usize) -> ReceiveBatch<P> {
    ReceiveBatch::new(RECEIVE_BATCH, longest)
}

/// Makes an empty batch for a socket with [merged](crate::net::UdpOptions::merges) datagrams. The link drops datagrams
/// of more than `longest` bytes.
pub fn merged_receive_batch<P: Copy>(longest: usize) -> ReceiveBatch<P> {
    ReceiveBatch::with_buffers(MERGED_BATCH, MERGED_BYTES_MAX, longest)
}

/// Makes an empty batch to send datagrams of at most `longest` bytes.
pub fn transmit_batch<P: Copy>(longest: usize) -> TransmitBatch<P> {
    TransmitBatch::of(TRANSMIT_BATCH, longest)
}
