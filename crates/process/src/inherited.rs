//! Descriptors that a program was started with.
#![allow(
    unsafe_code,
    reason = "the standard library cannot know that a number is a descriptor which nobody else has"
)]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{UnixAddr, getsockname};
use rustix::io::{FdFlags, fcntl_setfd};

/// The first descriptors, which the standard library has: input, output and errors.
const STANDARD: RawFd = 2;

/// Takes over the Unix socket that whoever started this program gave to it under a number, and closes it
/// when a command takes this program's place. To be called once for a number, before this program opens
/// anything by itself.
///
/// # Errors
/// There is no such descriptor, or it is something else.
pub fn take_over(descriptor: RawFd) -> io::Result<OwnedFd> {
    if descriptor <= STANDARD {
        return Err(Errno::EBADF.into());
    }
    getsockname::<UnixAddr>(descriptor)?;
    // SAFETY: it is open, as was just seen, and this program has opened nothing itself yet, which could be
    // what owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use super::take_over;

    #[test]
    fn what_is_not_there_or_belongs_to_everybody_is_not_taken() {
        for number in [-1, 0, 1, 2, 1 << 30] {
            assert!(take_over(number).is_err(), "{number}");
        }
    }

    #[test]
    fn what_is_no_socket_is_not_taken_and_stays_open() {
        let file = File::open("/dev/null").expect("it is there");
        assert!(take_over(file.as_raw_fd()).is_err());
        assert!(file.metadata().is_ok());
    }
}
