//! A record in memory that a process shares with its copies. The process writes the record, and a copy reads it after
//! the death of the process.
#![allow(
    unsafe_code,
    reason = "the record is memory that survives its process, and no library maps such memory for atomics"
)]

use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Number of bytes of the memory: one page of most architectures.
const MEMORY_LEN: NonZeroUsize = NonZeroUsize::new(4096).unwrap();
const WORD_LEN: usize = size_of::<u64>();
const WORDS: usize = MEMORY_LEN.get() / WORD_LEN;
/// Maximum length of a record in bytes. The first word has the length of the record.
pub const RECORD_LEN_MAX: usize = (WORDS - 1) * WORD_LEN;

/// Memory for one record.
#[derive(Debug)]
pub struct SharedRecord {
    words: NonNull<[AtomicU64; WORDS]>,
}

// SAFETY: all accesses to the memory are atomic.
unsafe impl Send for SharedRecord {}
// SAFETY: as above.
unsafe impl Sync for SharedRecord {}

impl SharedRecord {
    /// Makes an empty record. Copies of this process that are forked later share it.
    ///
    /// # Errors
    /// Fails if the system has too little memory.
    pub fn new() -> io::Result<Self> {
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: this is a new mapping, at an address that the kernel chooses.
        let memory = unsafe { mmap_anonymous(None, MEMORY_LEN, protection, MapFlags::MAP_SHARED) }?;
        Ok(Self {
            words: memory.cast(),
        })
    }

    /// Empties the record. If the process dies after this call, its copies find no record.
    #[inline]
    pub fn clear(&self) {
        self.words()[0].store(0, Ordering::Release);
    }

    /// Writes a record. A process that dies during this call leaves no record. A record that is too long is not
    /// written.
    pub fn write(&self, record: &[u8]) {
        self.clear();
        // The words below must not become visible before the record is empty.
        fence(Ordering::Release);
        let (length, rest) = (&self.words()[0], &self.words()[1..]);
        if record.len() > RECORD_LEN_MAX {
            return;
        }
        for (word, bytes) in rest.iter().zip(record.chunks(WORD_LEN)) {
            let mut whole = [0; WORD_LEN];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
        }
        length.store(record.len() as u64, Ordering::Release);
    }

    /// Undoes the last [`clear`](Self::clear) after the last [`write`](Self::write). `len` is the length of the record
    /// that was written.
    #[inline]
    pub fn restore(&self, len: usize) {
        self.words()[0].store(len as u64, Ordering::Release);
    }

    /// Returns the record; `None` if it is empty. Call this function after the death of the process that writes.
    pub fn read(&self) -> Option<Vec<u8>> {
        let len = self.words()[0].load(Ordering::Acquire);
        let len = usize::try_from(len).ok()?;
        if !(1..=RECORD_LEN_MAX).contains(&len) {
            return None;
        }
        let words = self.words()[1..].iter();
        let bytes = words.flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
        Some(bytes.take(len).collect())
    }

    fn words(&self) -> &[AtomicU64; WORDS] {
        // SAFETY: the mapping has this length and alignment, and exists as long as this value. All processes access it
        // only by atomics.
        unsafe { self.words.as_ref() }
    }
}

impl Drop for SharedRecord {
    fn drop(&mut self) {
        // SAFETY: no reference to the mapping outlives this value.
        let unmapped = unsafe { munmap(self.words.cast(), MEMORY_LEN.get()) };
        debug_assert!(unmapped.is_ok(), "this is the whole mapping");
    }
}

#[cfg(test)]
mod tests {
    use super::{RECORD_LEN_MAX, SharedRecord};

    #[test]
    fn the_last_record_is_read_until_it_is_cleared() {
        let record = SharedRecord::new().unwrap();
        assert_eq!(record.read(), None);
        for len in [1, 7, 8, 9, RECORD_LEN_MAX, 3] {
            let bytes: Vec<u8> = (0..len).map(|at| at.to_le_bytes()[0] | 1).collect();
            record.write(&bytes);
            assert_eq!(record.read(), Some(bytes));
        }
        record.clear();
        assert_eq!(record.read(), None);
        record.restore(3);
        assert_eq!(record.read(), Some(vec![1, 1, 3]));
    }

    #[test]
    fn a_record_that_is_too_long_is_not_written() {
        let record = SharedRecord::new().unwrap();
        record.write(b"before");
        record.write(&[1; RECORD_LEN_MAX + 1]);
        assert_eq!(record.read(), None);
    }
}
