//! Sends several frames in one system call, without allocating memory.

use std::io::IoSlice;
use std::os::fd::BorrowedFd;

use rustix::io;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};

use crate::driver::TransmitBatch;
use crate::driver::frames::TRANSMIT_BATCH;

/// Sends the messages in order. Returns the number of messages that the kernel accepted. On success, the number is at
/// least one.
pub(super) fn send(socket: BorrowedFd<'_>, batch: &TransmitBatch) -> io::Result<usize> {
    let mut parts = [IoSlice::new(&[]); TRANSMIT_BATCH];
    let mut count = 0;
    for ((frame, ()), part) in batch.iter().zip(&mut parts) {
        *part = IoSlice::new(frame);
        count += 1;
    }
    let mut parts = parts.chunks(1);
    // A frame has no control messages, but each header needs space for them.
    let mut nothing: [_; TRANSMIT_BATCH] = std::array::from_fn(|_| SendAncillaryBuffer::default());
    let mut headers = nothing
        .each_mut()
        .map(|nothing| MMsgHdr::new(parts.next().unwrap_or_default(), nothing));
    sendmmsg(socket, &mut headers[..count], SendFlags::DONTWAIT)
}
