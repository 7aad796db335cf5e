//! Descriptors that a program was started with.
#![allow(
    unsafe_code,
    reason = "the standard library cannot know that a number is a descriptor which nobody else has"
)]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;

/// The first descriptors, which the standard library has: input, output and errors.
const STANDARD: RawFd = 2;

/// Takes over the descriptor that whoever started this program gave to it under a number, and closes it
/// when a command takes this program's place. To be called once for a number, before this program opens
/// anything by itself.
///
/// # Errors
/// There is no such descriptor.
pub fn take_over(descriptor: RawFd) -> io::Result<OwnedFd> {
    if descriptor <= STANDARD {
        return Err(Errno::EBADF.into());
    }
    // SAFETY: the call takes integers, and fails where there is no such descriptor.
    Errno::result(unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: it is open, as was just seen, and this program has opened nothing itself yet, which could be
    // what owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use super::take_over;

    #[test]
    fn what_is_not_there_or_belongs_to_everybody_is_not_taken() {
        for number in [-1, 0, 1, 2, 1 << 30] {
            assert!(take_over(number).is_err(), "{number}");
        }
    }
}
