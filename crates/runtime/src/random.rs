//! Random numbers from the kernel.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Returns an unpredictable number.
///
/// # Errors
/// Fails if the kernel has no random source, or if a filter of system calls blocks it.
pub fn random() -> io::Result<u64> {
    random_bytes().map(u64::from_ne_bytes)
}

/// Returns up to 256 unpredictable bytes.
///
/// # Errors
/// Fails as [`random`] does.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    const {
        assert!(
            N <= 256,
            "the kernel returns at most 256 bytes in one piece"
        );
    };
    let mut bytes = [0; N];
    loop {
        // Shortly after the start of the machine, the call may wait for the random source, and then a signal may
        // interrupt it.
        match getrandom(&mut bytes, GetRandomFlags::empty()) {
            Ok(_) => return Ok(bytes),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::random;

    #[test]
    fn two_numbers_differ() {
        let [first, second] = [(); 2].map(|()| random().unwrap());
        assert_ne!(
            first, second,
            "two numbers are equal only once in 2^64 times"
        );
    }
}
