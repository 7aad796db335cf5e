//! A small file in memory (tmpfs). A process can write to this file without system calls.
//!
//! The contents survive the end of the process, but not a restart of the machine.
#![allow(
    unsafe_code,
    reason = "the file is mapped into memory, and another process could change it"
)]

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::{self, NonNull};

use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};

/// Number of bytes of the file. Every architecture has pages of at least this size.
const LEN: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// A file of 4 KiB in memory, mapped for writing.
#[derive(Debug)]
pub struct MemoryFile {
    memory: NonNull<u8>,
}

// SAFETY: only this value uses the mapping, and any thread may use it.
unsafe impl Send for MemoryFile {}

impl MemoryFile {
    /// Maps the first 4 KiB of `file`; `None` if the file is not in memory. If the file were on a disk, a later write
    /// could fail or wait. After a failed write, the kernel would end this process.
    ///
    /// # Errors
    /// Fails if a system call fails. One reason is a lack of memory.
    pub fn map(file: &File) -> io::Result<Option<Self>> {
        if fstatfs(file)?.filesystem_type() != TMPFS_MAGIC {
            return Ok(None);
        }
        // Reserve the memory, so that no later write fails.
        let len = libc::off_t::try_from(LEN.get()).map_err(io::Error::other)?;
        fallocate(file, FallocateFlags::empty(), 0, len)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: this is a new mapping, at an address that the kernel chooses.
        let memory = unsafe { mmap(None, LEN, protection, MapFlags::MAP_SHARED, file, 0) }?;
        Ok(Some(Self {
            memory: memory.cast(),
        }))
    }

    /// Writes `bytes` at `offset`.
    ///
    /// # Panics
    /// If the bytes do not fit into the 4 KiB.
    pub fn write_at(&mut self, bytes: &[u8], offset: usize) {
        let end = offset.checked_add(bytes.len());
        assert!(
            end.is_some_and(|end| end <= LEN.get()),
            "the bytes must fit into the file"
        );
        // SAFETY: the target is within the mapping, which exists as long as this value. The source is not in the
        // mapping, because this value lends no reference to it.
        unsafe {
            ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.memory.as_ptr().add(offset),
                bytes.len(),
            );
        }
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and no pointer into the mapping is left. To unmap a whole mapping
        // cannot fail.
        let _ = unsafe { munmap(self.memory.cast(), LEN.get()) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::MemoryFile;

    #[test]
    fn written_bytes_are_in_the_file() {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = directory.path().join("file");
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(&path);
        let file = file.unwrap();
        let mut memory = MemoryFile::map(&file).unwrap().expect("it is in memory");
        memory.write_at(b"begin", 0);
        memory.write_at(b"end", 4093);
        let bytes = fs::read(&path).unwrap();
        assert_eq!((&bytes[..5], &bytes[4093..]), (&b"begin"[..], &b"end"[..]));
    }

    #[test]
    fn a_file_that_is_not_in_memory_is_not_mapped() {
        let file = File::open("/proc/self/status").unwrap();
        assert!(MemoryFile::map(&file).unwrap().is_none());
    }
}
