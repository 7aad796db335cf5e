//! Frames that the kernel writes straight into this process's memory.
//!
//! Taking one costs no system call, and each carries the time of its arrival, which a socket
//! without a ring gives only at the price of stamping every packet of the host.
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
/// Bytes that the kernel puts before a frame: its header, an address, and room to align what follows
/// the Ethernet header.
const BEFORE: usize =
    (size_of::<tpacket2_hdr>() + size_of::<sockaddr_ll>() + 16).next_multiple_of(ALIGNMENT) - 14;
/// Bytes of a slot: no more than the longest frame needs, since all of the ring is in memory.
const SLOT: usize = (BEFORE + MAX_FRAME).next_multiple_of(ALIGNMENT);
/// Bytes that the kernel allocates in one piece: a multiple of every architecture's page.
const BLOCK: usize = 65536;
/// Slots of a block. What is left at its end stays unused.
const SLOTS_OF_A_BLOCK: usize = BLOCK / SLOT;
/// Frames that wait for a process that is late, at least; the kernel drops and counts those past it.
/// A thousand is some milliseconds of the worst storm: more would only make the frames behind a
/// storm wait longer.
const AT_LEAST: usize = 1024;
const BLOCKS: usize = AT_LEAST.div_ceil(SLOTS_OF_A_BLOCK);
const SLOTS: usize = BLOCKS * SLOTS_OF_A_BLOCK;
/// Bytes of the whole ring.
const LEN: NonZeroUsize = NonZeroUsize::new(BLOCKS * BLOCK).unwrap();

/// A slot, in words that the kernel may write meanwhile.
type Slot = [AtomicU32; SLOT_WORDS];
const SLOT_WORDS: usize = SLOT / size_of::<AtomicU32>();
type Block = [AtomicU32; BLOCK / size_of::<AtomicU32>()];
type Blocks = [Block; BLOCKS];

/// Options of packet sockets that nix does not know.
mod options {
    // The macro calls the other one by its bare name.
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
    /// The slot that the kernel fills next, or has filled first.
    next: usize,
}

// SAFETY: the memory belongs to this value alone and is bound to no thread.
unsafe impl Send for ReceiveRing {}

impl ReceiveRing {
    /// Gives `socket` a ring: from now on frames come through this alone.
    pub(super) fn new(socket: &OwnedFd) -> nix::Result<Self> {
        setsockopt(socket, options::Version, &tpacket_versions::TPACKET_V2)?;
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let size = tpacket_req {
            tp_block_size: count(BLOCK),
            tp_block_nr: count(BLOCKS),
            tp_frame_size: count(SLOT),
            tp_frame_nr: count(SLOTS),
        };
        setsockopt(socket, options::Ring, &size)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping, at an address of the kernel's choosing.
        let memory = unsafe { mmap(None, LEN, protection, MapFlags::MAP_SHARED, socket, 0) }?;
        Ok(Self {
            blocks: memory.cast(),
            next: 0,
        })
    }

    /// Takes the oldest frame: its length in bytes in `buffer`, where longer ones are cut, and the
    /// time since 1970 at which it came. `None`: there is none.
    pub(super) fn take(&mut self, buffer: &mut [u8]) -> Option<(usize, Duration)> {
        // SAFETY: the mapping is as long and as aligned as that, and there until this value goes. While
        // the kernel may write to it, it is accessed as atomics alone.
        let slot = slot(unsafe { self.blocks.as_ref() }, self.next);
        let word = |at: usize| &slot[at / size_of::<AtomicU32>()];
        let status = word(offset_of!(tpacket2_hdr, tp_status));
        // Acquire: what the kernel wrote before it gave the slot away is seen from here on.
        if status.load(Ordering::Acquire) & TP_STATUS_USER == 0 {
            return None;
        }
        let read = |at| word(at).load(Ordering::Relaxed);
        let [start, _] = halves(read(offset_of!(tpacket2_hdr, tp_mac)));
        let start = usize::from(start).min(SLOT);
        let len = (read(offset_of!(tpacket2_hdr, tp_snaplen)) as usize)
            .min(SLOT - start)
            .min(buffer.len());
        let frame = slot.as_ptr().cast::<u8>();
        // SAFETY: `start + len` is within the slot, which is this process's until its status is set
        // back, and `len` within the buffer, which is not shared with anybody.
        unsafe { ptr::copy_nonoverlapping(frame.add(start), buffer.as_mut_ptr(), len) };
        let seconds = read(offset_of!(tpacket2_hdr, tp_sec));
        let since = Duration::new(seconds.into(), read(offset_of!(tpacket2_hdr, tp_nsec)));
        // Release: the slot was read before it goes back.
        status.store(TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS;
        Some((len, since))
    }
}

/// The slot of this number: blocks follow one another, each with as many whole slots as it has room for.
fn slot(blocks: &Blocks, at: usize) -> &Slot {
    let (slots, _) = blocks[at / SLOTS_OF_A_BLOCK].as_chunks();
    &slots[at % SLOTS_OF_A_BLOCK]
}

/// The two numbers that lie one behind the other where one word does.
fn halves(word: u32) -> [u16; 2] {
    let [a, b, c, d] = word.to_ne_bytes();
    [[a, b], [c, d]].map(u16::from_ne_bytes)
}

impl Drop for ReceiveRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nothing points into it from here on. It cannot
        // fail for a whole mapping.
        let _ = unsafe { munmap(self.blocks.cast(), LEN.get()) };
    }
}
