//! Several messages in one system call, without an allocation.
#![allow(
    unsafe_code,
    reason = "nix's recvmmsg does not give the control buffers their length back between calls"
)]

use std::array;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::Duration;

use libc::{iovec, mmsghdr};
use nix::errno::Errno;

use crate::driver::{MAX_FRAME, RECEIVE_BATCH, TRANSMIT_BATCH, TransmitBatch};

/// Room for one control message with a time stamp.
const CONTROL: usize = 64;

#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Receives what is there, each message into a buffer of its own; longer ones are cut. Tells
/// `each` the length in bytes and, if the socket stamps them, the arrival since 1970.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    buffers: &mut [[u8; MAX_FRAME]],
    mut each: impl FnMut(usize, Option<Duration>),
) -> nix::Result<()> {
    let mut controls = [Control([0; CONTROL]); RECEIVE_BATCH];
    let mut parts = [NO_PART; RECEIVE_BATCH];
    let mut headers: [mmsghdr; RECEIVE_BATCH] = array::from_fn(|_| no_header());
    let mut count = 0;
    for (((buffer, control), part), header) in buffers
        .iter_mut()
        .zip(&mut controls)
        .zip(&mut parts)
        .zip(&mut headers)
    {
        part.iov_base = buffer.as_mut_ptr().cast();
        part.iov_len = buffer.len();
        header.msg_hdr.msg_iov = part;
        header.msg_hdr.msg_iovlen = 1;
        header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
        header.msg_hdr.msg_controllen = CONTROL;
        count += 1;
    }
    // SAFETY: the first `count` headers each point to one live buffer, with its length, and to
    // live room for control messages, with its length; all outlive the call.
    let received = unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            count,
            libc::MSG_DONTWAIT,
            ptr::null_mut(),
        )
    };
    let received = usize::try_from(Errno::result(received)?).unwrap_or(0);
    for header in &headers[..received] {
        // SAFETY: the kernel has filled this header in.
        let stamp = unsafe { stamp(&header.msg_hdr) };
        each(header.msg_len as usize, stamp);
    }
    Ok(())
}

/// Sends the messages in order and returns how many were accepted: at least one.
pub(super) fn send(socket: BorrowedFd<'_>, batch: &TransmitBatch) -> nix::Result<usize> {
    let mut parts = [NO_PART; TRANSMIT_BATCH];
    let mut headers: [mmsghdr; TRANSMIT_BATCH] = array::from_fn(|_| no_header());
    let mut count = 0;
    for ((frame, part), header) in batch.iter().zip(&mut parts).zip(&mut headers) {
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

/// The time stamp among the control messages, if there is one.
///
/// # Safety
/// `header` was filled in by the kernel, and its control buffer lives.
unsafe fn stamp(header: &libc::msghdr) -> Option<Duration> {
    // SAFETY: as the caller promises.
    let control = unsafe { libc::CMSG_FIRSTHDR(header).as_ref() }?;
    // It is the only kind of control message that the socket asks for.
    if (control.cmsg_level, control.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
        return None;
    }
    // SAFETY: a control message of this type holds a `timespec`, perhaps unaligned.
    let stamp = unsafe {
        libc::CMSG_DATA(control)
            .cast::<libc::timespec>()
            .read_unaligned()
    };
    let seconds = u64::try_from(stamp.tv_sec).ok()?;
    let nanoseconds = u32::try_from(stamp.tv_nsec).ok()?;
    Some(Duration::new(seconds, nanoseconds))
}
