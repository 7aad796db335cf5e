//! A ring of received frames in memory. The kernel writes directly to this memory.
//!
//! This process takes a frame from the ring without a system call. Each frame has its time of arrival. Without a ring,
//! frames have a time of arrival only if the kernel stamps every packet of the host.
#![allow(
    unsafe_code,
    reason = "the ring is memory shared with the kernel, and no library maps a packet ring"
)]

use std::mem::offset_of;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use libc::{
    TP_STATUS_KERNEL, TP_STATUS_USER, sockaddr_ll, tpacket_req, tpacket_versions, tpacket2_hdr,
};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::socket::setsockopt;

use crate::driver::frames::MAX_FRAME;

/// The kernel's `TPACKET_ALIGNMENT`.
const ALIGNMENT: usize = 16;
/// Number of bytes that the kernel puts before a frame: a header, an address, and padding that aligns the data after
/// the Ethernet header.
const FRAME_OFFSET: usize =
    (size_of::<tpacket2_hdr>() + size_of::<sockaddr_ll>() + 16).next_multiple_of(ALIGNMENT) - 14;
/// Number of bytes of a slot. A slot is no larger than the longest frame needs, because the memory of the whole ring is
/// always in use.
const SLOT_LEN: usize = (FRAME_OFFSET + MAX_FRAME).next_multiple_of(ALIGNMENT);
/// Number of bytes that the kernel allocates in one piece. The number is a multiple of the page size of every
/// architecture.
const BLOCK_LEN: usize = 65536;
/// Number of slots per block. The rest of a block stays unused.
const SLOTS_PER_BLOCK: usize = BLOCK_LEN / SLOT_LEN;
/// Minimum number of slots of the ring. If the process is so late that the ring is full, the kernel drops and counts
/// further frames. In the worst storm, a thousand frames arrive within a few milliseconds. A larger ring would only
/// make the frames after a storm wait longer.
const SLOTS_MIN: usize = 1024;
const BLOCKS: usize = SLOTS_MIN.div_ceil(SLOTS_PER_BLOCK);
const SLOTS: usize = BLOCKS * SLOTS_PER_BLOCK;
/// Number of bytes of the whole ring.
const RING_LEN: NonZeroUsize = NonZeroUsize::new(BLOCKS * BLOCK_LEN).unwrap();

/// A slot: words to which the kernel may write while this process reads them.
type Slot = [AtomicU32; SLOT_WORDS];
const SLOT_WORDS: usize = SLOT_LEN / size_of::<AtomicU32>();
type Block = [AtomicU32; BLOCK_LEN / size_of::<AtomicU32>()];
type Blocks = [Block; BLOCKS];

/// Socket options that are missing in nix.
mod options {
    // `sockopt_impl` uses the other macro by its name without a path.
    use nix::{setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// The layout of the slots.
        Version, SetOnly, libc::SOL_PACKET, libc::PACKET_VERSION, libc::tpacket_versions
    );
    sockopt_impl!(
        /// The ring's size.
        Ring, SetOnly, libc::SOL_PACKET, libc::PACKET_RX_RING, libc::tpacket_req
    );
}

/// A socket's ring of received frames.
#[derive(Debug)]
pub(super) struct ReceiveRing {
    blocks: NonNull<Blocks>,
    /// Slot with the oldest frame. If the ring is empty, this is the slot that the kernel fills next.
    next: usize,
}

// SAFETY: only this value uses the memory, and any thread may use the memory.
unsafe impl Send for ReceiveRing {}

impl ReceiveRing {
    /// Gives `socket` a ring. After this call, the socket receives frames only through the ring.
    pub(super) fn new(socket: &OwnedFd) -> nix::Result<Self> {
        setsockopt(socket, options::Version, &tpacket_versions::TPACKET_V2)?;
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let size = tpacket_req {
            tp_block_size: count(BLOCK_LEN),
            tp_block_nr: count(BLOCKS),
            tp_frame_size: count(SLOT_LEN),
            tp_frame_nr: count(SLOTS),
        };
        setsockopt(socket, options::Ring, &size)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: this is a new mapping, at an address that the kernel chooses.
        let memory = unsafe { mmap(None, RING_LEN, protection, MapFlags::MAP_SHARED, socket, 0) }?;
        Ok(Self {
            blocks: memory.cast(),
            next: 0,
        })
    }

    /// Whether the ring has a frame.
    pub(super) fn has_frame(&self) -> bool {
        let status =
            &self.next_slot()[offset_of!(tpacket2_hdr, tp_status) / size_of::<AtomicU32>()];
        status.load(Ordering::Relaxed) & TP_STATUS_USER != 0
    }

    fn next_slot(&self) -> &Slot {
        // SAFETY: the mapping has this length and alignment, and exists as long as this value. While the kernel may
        // write to the mapping, this process accesses it only by atomics.
        slot(unsafe { self.blocks.as_ref() }, self.next)
    }

    /// Copies the oldest frame into `buffer`. If the frame is longer than the buffer, the copy is truncated. Returns
    /// the number of copied bytes and the frame's time of arrival since 1970; `None` if there is no frame.
    pub(super) fn take(&mut self, buffer: &mut [u8]) -> Option<(usize, Duration)> {
        let slot = self.next_slot();
        let word = |at: usize| &slot[at / size_of::<AtomicU32>()];
        let status = word(offset_of!(tpacket2_hdr, tp_status));
        // With the ordering `Acquire`, this process sees all data that the kernel wrote before it released the slot.
        if status.load(Ordering::Acquire) & TP_STATUS_USER == 0 {
            return None;
        }
        let read = |at| word(at).load(Ordering::Relaxed);
        let [start, _] = halves(read(offset_of!(tpacket2_hdr, tp_mac)));
        let start = usize::from(start).min(SLOT_LEN);
        let len = (read(offset_of!(tpacket2_hdr, tp_snaplen)) as usize)
            .min(SLOT_LEN - start)
            .min(buffer.len());
        let frame = slot.as_ptr().cast::<u8>();
        // SAFETY: `start + len` is within the slot, and the slot belongs to this process until its status is set back.
        // `len` is within the buffer, and no other code uses the buffer.
        unsafe { ptr::copy_nonoverlapping(frame.add(start), buffer.as_mut_ptr(), len) };
        let seconds = read(offset_of!(tpacket2_hdr, tp_sec));
        let since = Duration::new(seconds.into(), read(offset_of!(tpacket2_hdr, tp_nsec)));
        // With the ordering `Release`, this process has read the slot before the kernel gets it back.
        status.store(TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
        Some((len, since))
    }
}

/// Returns the slot with this number. No slot crosses the end of a block.
fn slot(blocks: &Blocks, at: usize) -> &Slot {
    let (slots, _) = blocks[at / SLOTS_PER_BLOCK].as_chunks();
    &slots[at % SLOTS_PER_BLOCK]
}

/// Splits a word into its two numbers of 16 bits, in their order in memory.
fn halves(word: u32) -> [u16; 2] {
    let [a, b, c, d] = word.to_ne_bytes();
    [[a, b], [c, d]].map(u16::from_ne_bytes)
}

impl Drop for ReceiveRing {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and no pointer into the mapping is left. To unmap a whole mapping
        // cannot fail.
        let _ = unsafe { munmap(self.blocks.cast(), RING_LEN.get()) };
    }
}
