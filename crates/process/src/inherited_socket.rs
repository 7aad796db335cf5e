//! A socket that a program inherits as a descriptor with a known number.
#![allow(
    unsafe_code,
    reason = "the standard library cannot know that no other value owns the descriptor with this number"
)]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{UnixAddr, getsockname};
use rustix::io::{FdFlags, fcntl_setfd};

/// The largest number of a standard descriptor: standard error.
const LAST_STANDARD: RawFd = 2;

/// Takes ownership of the Unix socket that the parent passed as the descriptor with this number. The socket closes when
/// this process executes a command. Call this function once for each number, before the program opens any descriptor.
///
/// # Errors
/// Fails if there is no descriptor with this number, or if the descriptor is not a Unix socket.
pub fn take_over(descriptor: RawFd) -> io::Result<OwnedFd> {
    if descriptor <= LAST_STANDARD {
        return Err(Errno::EBADF.into());
    }
    getsockname::<UnixAddr>(descriptor)?;
    // SAFETY: the call above has shown that the descriptor is open. This program has not opened any descriptor yet, so
    // the descriptor has no other owner.
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
    fn missing_and_standard_descriptors_are_refused() {
        for number in [-1, 0, 1, 2, 1 << 30] {
            assert!(take_over(number).is_err(), "{number}");
        }
    }

    #[test]
    fn another_descriptor_is_refused_and_stays_open() {
        let file = File::open("/dev/null").expect("it is there");
        assert!(take_over(file.as_raw_fd()).is_err());
        assert!(file.metadata().is_ok());
    }
}
