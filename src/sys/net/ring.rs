//! Frames that the kernel writes straight into this process's memory.
//!
//! Taking one costs no system call, and each carries the time of its arrival, which a socket
//! without a ring gives only at the price of stamping every packet of the host.
#![allow(
    unsafe_code,
    reason = "the ring is memory shared with the kernel, and nix knows no packet ring"
)]

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
const LEN: NonZeroUsize = NonZeroUsize::new(SLOT as usize * SLOTS as usize).unwrap();

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
    memory: NonNull<u8>,
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
            memory: memory.cast(),
            next: 0,
        })
    }

    /// Takes the oldest frame: its length in bytes in `buffer`, where longer ones are cut, and the
    /// time since 1970 at which it came. `None`: there is none.
    pub(super) fn take(&mut self, buffer: &mut [u8]) -> Option<(usize, Duration)> {
        // SAFETY: `next` is below `SLOTS`, so the slot lies within the mapping.
        let slot = unsafe { self.memory.add(self.next * SLOT as usize) };
        // SAFETY: a slot starts with its status, and is aligned for it. While the slot may be the
        // kernel's, it is accessed through this alone.
        let status = unsafe { AtomicU32::from_ptr(slot.cast().as_ptr()) };
        // Acquire: what the kernel wrote before it gave the slot away is seen from here on.
        if status.load(Ordering::Acquire) & TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: a slot that is this process's starts with a header, and is aligned for it; the
        // kernel leaves it alone until the status is set back.
        let header = unsafe { slot.cast::<tpacket2_hdr>().read() };
        let start = usize::from(header.tp_mac).min(SLOT as usize);
        let len = (header.tp_snaplen as usize)
            .min(SLOT as usize - start)
            .min(buffer.len());
        // SAFETY: `start + len` is within the slot, which is this process's, and `len` within the
        // buffer, which is not shared with anybody.
        unsafe { ptr::copy_nonoverlapping(slot.add(start).as_ptr(), buffer.as_mut_ptr(), len) };
        // Release: the slot was read before it goes back.
        status.store(TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % SLOTS as usize;
        let since = Duration::new(header.tp_sec.into(), header.tp_nsec);
        Some((len, since))
    }
}

impl Drop for ReceiveRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nothing points into it any more. It cannot
        // fail for a whole mapping.
        let _ = unsafe { munmap(self.memory.cast(), LEN.get()) };
    }
}
