//! Random numbers from the kernel.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Returns an unpredictable number.
///
/// # Errors
/// Fails if the kernel has no random source, or if a filter of system calls blocks it.
pub fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    loop {
        // The kernel returns up to 256 bytes in one piece. Only shortly after the machine's start, the call waits for
        // the random source, and a signal may interrupt it.
        match getrandom(&mut bytes, GetRandomFlags::empty()) {
            Ok(_) => return Ok(u64::from_ne_bytes(bytes)),
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
