//! The guardian: a process that sends the last frames of a node after the death of the daemon
//! (`docs/reference/lab2/faults.md Z10` to Z15).
//!
//! The daemon forks the guardian before it gives up its permissions. While the daemon waits for input, its last frames
//! are in memory that it shares with the guardian. Before the daemon sends a frame, stores its state or serves a
//! program, it withdraws them. So the guardian never sends a frame that contradicts an act of the daemon.
//!
//! If programs hold locks here, the daemon also passes their life lines to the guardian. The guardian sends the frames
//! only after each program has reported its end over its life line.

mod guarded;
mod passed_lines;
mod process;
mod shared_frames;

use std::io;
use std::mem;
use std::rc::Rc;
use std::thread;

use ring_process::{RECORD_LEN_MAX, RingLock, SharedRecord};
use ring_proto::lab2::{Lab2, LastFrames};
use ring_runtime::driver::frames::MAX_FRAME;

use super::attachment::Attachment;
use super::service::Service;
pub(super) use guarded::{GuardedSocket, GuardedStore};
use passed_lines::PassedLines;
use shared_frames::{Offer, SharedFrames};

/// Maximum length of a LEAVING.
const LEAVING_LEN_MAX: usize = 64;

/// The daemon's side of the guardian.
#[derive(Debug)]
pub(super) struct Guardian {
    record: Rc<SharedRecord>,
    offer: [u8; MAX_FRAME],
    leaving: [u8; LEAVING_LEN_MAX],
    encoded: [u8; RECORD_LEN_MAX],
    /// The interface and the length of the encoded record, if it has only an unsigned LEAVING.
    unsigned_leaving: Option<(u32, usize)>,
    /// The lock of the daemon; `None` only during the drop.
    lock: Option<RingLock>,
    lines: PassedLines,
}

impl Guardian {
    /// Starts the guardian. The daemon must have a single thread, and this thread must run the loop. While the guardian
    /// works, no other daemon can lock the ring.
    ///
    /// # Errors
    /// Fails if the process has too many files open, or if the system has too many processes.
    pub(super) fn start(
        record: Rc<SharedRecord>,
        lock: RingLock,
        ethertype: u16,
    ) -> io::Result<Self> {
        Ok(Self {
            lines: PassedLines::new(process::start(&record, &lock, ethertype)?),
            lock: Some(lock),
            record,
            offer: [0; MAX_FRAME],
            leaving: [0; LEAVING_LEN_MAX],
            encoded: [0; RECORD_LEN_MAX],
            unsigned_leaving: None,
        })
    }

    /// Withdraws the last frames, because the daemon may act now.
    pub(super) fn withdraw(&self) {
        self.record.clear();
    }

    /// Gives the guardian the last frames of the node. Call this function when the daemon has handled an input.
    pub(super) fn prepare(
        &mut self,
        machine: &Lab2,
        attachment: &Attachment,
        service: &Service,
        store: &mut GuardedStore,
    ) {
        self.withdraw();
        let lines = self.lines.update(service.holder_lines());
        if attachment.socket().is_none() {
            return;
        }
        let frames = machine.last_frames(lines.is_some(), &mut self.offer, &mut self.leaving);
        let Some(LastFrames {
            offer,
            leaving_len,
            after_programs,
        }) = frames
        else {
            return;
        };
        if !offer.is_none_or(|offer| store.store_offer(&offer.state)) {
            return;
        }
        let (interface, signer) = (attachment.interface().index, attachment.signer());
        let leaving = &self.leaving[..leaving_len];
        let is_unsigned_leaving = offer.is_none() && signer.is_none();
        // A member that does not own the token leaves the same frame after each hop.
        if let Some((_, len)) = self
            .unsigned_leaving
            .filter(|(before, _)| is_unsigned_leaving && *before == interface)
            && self.encoded[..len].ends_with(leaving)
        {
            return self.record.restore(len);
        }
        let frames = SharedFrames {
            interface,
            offer: offer.map(|it| Offer {
                until: it.until,
                attempts: it.attempts,
                interval: it.interval,
                frame: &self.offer[..it.len],
            }),
            leaving,
            signer: signer.and_then(|signer| signer.authenticator().last_signer()),
            work_lines: (lines.filter(|_| after_programs)).map_or(Vec::new(), <[u64]>::to_vec),
        };
        let len = frames.encode(&mut self.encoded);
        self.unsigned_leaving = is_unsigned_leaving.then_some((interface, len));
        self.record.write(&self.encoded[..len]);
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        if thread::panicking() {
            // The guardian acts for the daemon now, and keeps the lock until it ends. The drop of the lock would
            // unlock it.
            mem::forget(self.lock.take());
        } else {
            self.withdraw();
        }
    }
}
