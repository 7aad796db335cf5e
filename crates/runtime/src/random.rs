//! Random numbers from the kernel.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Returns an unpredictable number.
///
/// # Errors
/// The kernel has no random source, or a filter of system calls blocks it.
pub fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    loop {
        // Up to 256 bytes come in one piece, unless a signal interrupts the wait for the source after the machine's
        // start.
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
        assert_ne!(first, second, "once in 2^64 times");
    }
}
