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

use libc::{TP_STATUS_KERNEL, TP_STATUS_USER, tpacket_req, tpacket_versions, tpacket2_hdr};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::socket::setsockopt;

/// Bytes of a slot: a header, room for the kernel to align the frame, and the frame.
const SLOT: u32 = 2048;
/// Frames that wait for a process that is late; the kernel drops and counts those past it. A
/// thousand is some milliseconds of the worst storm: more would only make the frames behind a
/// storm wait longer.
const SLOTS: u32 = 1024;
/// Bytes that the kernel allocates in one piece: a multiple of every architecture's page.
const BLOCK: u32 = 65536;
/// Bytes of the whole ring.
const LEN: NonZeroUsize = NonZeroUsize::new(size_of::<Slots>()).unwrap();

/// A slot, in words that the kernel may write meanwhile.
type Slot = [AtomicU32; SLOT as usize / size_of::<AtomicU32>()];
type Slots = [Slot; SLOTS as usize];

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
    slots: NonNull<Slots>,
    /// The slot that the kernel fills next, or has filled first.
    next: usize,
}

// SAFETY: the memory belongs to this value alone and is bound to no thread.
unsafe impl Send for ReceiveRing {}

impl ReceiveRing {
    /// Gives `socket` a ring: from now on frames come through this alone.
    pub(super) fn new(socket: &OwnedFd) -> nix::Result<Self> {
        setsockopt(socket, options::Version, &tpacket_versions::TPACKET_V2)?;
        let size = tpacket_req {
            tp_block_size: BLOCK,
            tp_block_nr: SLOT * SLOTS / BLOCK,
            tp_frame_size: SLOT,
            tp_frame_nr: SLOTS,
        };
        setsockopt(socket, options::Ring, &size)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping, at an address of the kernel's choosing.
        let memory = unsafe { mmap(None, LEN, protection, MapFlags::MAP_SHARED, socket, 0) }?;
        Ok(Self {
            slots: memory.cast(),
            next: 0,
        })
    }

    /// Takes the oldest frame: its length in bytes in `buffer`, where longer ones are cut, and the
    /// time since 1970 at which it came. `None`: there is none.
    pub(super) fn take(&mut self, buffer: &mut [u8]) -> Option<(usize, Duration)> {
        // SAFETY: the mapping is as long and as aligned as that, and there until this value goes. While
        // the kernel may write to it, it is accessed as atomics alone.
        let slot = &unsafe { self.slots.as_ref() }[self.next];
        let word = |at: usize| &slot[at / size_of::<AtomicU32>()];
        let status = word(offset_of!(tpacket2_hdr, tp_status));
        // Acquire: what the kernel wrote before it gave the slot away is seen from here on.
        if status.load(Ordering::Acquire) & TP_STATUS_USER == 0 {
            return None;
        }
        let read = |at| word(at).load(Ordering::Relaxed);
        let [start, _] = halves(read(offset_of!(tpacket2_hdr, tp_mac)));
        let start = usize::from(start).min(SLOT as usize);
        let len = (read(offset_of!(tpacket2_hdr, tp_snaplen)) as usize)
            .min(SLOT as usize - start)
            .min(buffer.len());
        let frame = slot.as_ptr().cast::<u8>();
        // SAFETY: `start + len` is within the slot, which is this process's until its status is set
        // back, and `len` within the buffer, which is not shared with anybody.
        unsafe { ptr::copy_nonoverlapping(frame.add(start), buffer.as_mut_ptr(), len) };
        let seconds = read(offset_of!(tpacket2_hdr, tp_sec));
        let since = Duration::new(seconds.into(), read(offset_of!(tpacket2_hdr, tp_nsec)));
        // Release: the slot was read before it goes back.
        status.store(TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS as usize;
        Some((len, since))
    }
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
        let _ = unsafe { munmap(self.slots.cast(), LEN.get()) };
    }
}
