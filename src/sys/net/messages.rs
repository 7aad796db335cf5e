//! Several frames sent in one system call, without an allocation.
#![allow(
    unsafe_code,
    reason = "nix's sendmmsg needs headers that cannot be kept without binding the socket to a thread"
)]

use std::array;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use libc::{iovec, mmsghdr};
use nix::errno::Errno;

use crate::driver::TransmitBatch;
use crate::driver::frames::TRANSMIT_BATCH;

/// Sends the messages in order and returns how many were accepted: at least one.
pub(super) fn send(socket: BorrowedFd<'_>, batch: &TransmitBatch) -> nix::Result<usize> {
    let mut parts = [NO_PART; TRANSMIT_BATCH];
    let mut headers: [mmsghdr; TRANSMIT_BATCH] = array::from_fn(|_| no_header());
    let mut count = 0;
    for (((frame, ()), part), header) in batch.iter().zip(&mut parts).zip(&mut headers) {
        part.iov_base = frame.as_ptr().cast_mut().cast();
        part.iov_len = frame.len();
        header.msg_hdr.msg_iov = part;
        header.msg_hdr.msg_iovlen = 1;
        count += 1;
    }
    // SAFETY: the first `count` headers each point to one live frame, with its length, which the
    // kernel only reads.
    let sent = unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            count,
            libc::MSG_DONTWAIT,
        )
    };
    Ok(usize::try_from(Errno::result(sent)?).unwrap_or(0))
}

const NO_PART: iovec = iovec {
    iov_base: ptr::null_mut(),
    iov_len: 0,
};

fn no_header() -> mmsghdr {
    // SAFETY: `mmsghdr` is integers and pointers: all zeroes is a value of it. (It may have
    // private padding, so it cannot be written out.)
    unsafe { mem::zeroed() }
}
