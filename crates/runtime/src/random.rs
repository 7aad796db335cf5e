//! Chance.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Returns a number that nobody can guess.
///
/// # Errors
/// The kernel has no random source, or a filter of system calls keeps this process from it.
pub fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    loop {
        // Up to 256 bytes come whole, unless a signal ends the wait for the source at the machine's start.
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
    fn it_is_another_each_time() {
        let [first, second] = [(); 2].map(|()| random().unwrap());
        assert_ne!(first, second, "once in 2^64 times");
    }
}
