//! The guardian of a node: it sends the last frames of the node after the death of the process.

use std::time::Duration;

use ring_proto::lab2::LastOffer;
use ring_proto::time::{Instant, nanos};
use ring_runtime::driver::frames::MAX_FRAME;
use ring_trust::LastSigner;

use super::Inspect;
use super::settings::FaultKind;
use super::system::{Lab2Event, Lab2System, World};
use crate::kernel::queue::id;
use crate::kernel::system::System;

/// The last frames of a dead process, without their signatures.
pub(super) struct LastFrames {
    offer: Option<Offer>,
    leaving: Vec<u8>,
    signer: Option<LastSigner>,
    /// Whether the guardian waits for the ends of the programs of the process.
    after_programs: bool,
}

struct Offer {
    frame: Vec<u8>,
    /// The end of the lease, by the node's clock.
    until: Instant,
    attempts: u32,
    interval: Duration,
}

impl<M: Inspect> World<M> {
    /// Kills a process. After `delay_ns`, its guardian sends the last frames of the node, unless the process was
    /// started again. After `ended_ns`, all programs of the process have ended, and the guardian knows it. Without this
    /// time, the guardian does not learn of their ends.
    pub(super) fn crash_with_guardian(&mut self, at: usize, delay_ns: u64, ended_ns: Option<u64>) {
        let frames = self.take_last_frames(at, ended_ns.is_some());
        // The guardian's frames leave after the frames of the last loop iteration.
        let died = self.now.max(self.nodes[at].busy_until);
        self.crash(at, FaultKind::Guardian);
        let waits = frames.as_ref().is_some_and(|it| it.after_programs);
        self.nodes[at].own.last_frames = frames;
        if let Some(ended) = ended_ns {
            self.later_in_life(at, died + ended, Lab2Event::ProgramsEnded(id(at)));
        }
        let delay = ended_ns.filter(|_| waits).unwrap_or_default().max(delay_ns);
        self.later_in_life(at, died + delay, Lab2Event::LastFrame(id(at)));
    }

    /// Ends all programs of a dead process that work under a lock.
    pub(super) fn end_programs(&mut self, at: usize) {
        let own = &mut self.nodes[at].own;
        (own.lease, own.claim) = (None, None);
        self.end_locks_of_dead(at);
    }

    /// Returns the last frames of a living process, and stores the state that belongs to them.
    fn take_last_frames(&mut self, at: usize, reports_ends: bool) -> Option<LastFrames> {
        let node = &mut self.nodes[at];
        let (mut offer, mut leaving) = ([0; MAX_FRAME], [0; MAX_FRAME]);
        let machine = node.driver.as_ref()?.machine();
        let frames = machine.last_frames(reports_ends, &mut offer, &mut leaving)?;
        if let Some(LastOffer { state, .. }) = frames.offer {
            if node.disk_full {
                return None;
            }
            <Lab2System<M> as System>::store(&mut node.own, &state);
        }
        let offered = |it: LastOffer| Offer {
            frame: offer[..it.len].to_vec(),
            until: it.until,
            attempts: it.attempts,
            interval: it.interval,
        };
        let signer = node.signer.as_ref();
        Some(LastFrames {
            offer: frames.offer.map(offered),
            leaving: leaving[..frames.leaving_len].to_vec(),
            signer: signer.and_then(|signer| signer.authenticator().last_signer()),
            after_programs: frames.after_programs,
        })
    }

    /// Sends the next of the last frames of a dead process.
    pub(super) fn send_last_frame(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        let now = node.clock.monotonic(self.now);
        let Some(frames) = &mut node.own.last_frames else {
            return;
        };
        let offer = frames.offer.as_mut();
        let offer = offer.filter(|offer| offer.attempts > 0 && now < offer.until);
        let mut frame = if let Some(offer) = offer {
            offer.attempts -= 1;
            let next = self.now + nanos(offer.interval);
            let frame = offer.frame.clone();
            self.later_in_life(at, next, Lab2Event::LastFrame(id(at)));
            frame
        } else {
            std::mem::take(&mut frames.leaving)
        };
        let len = frame.len();
        let frames = self.nodes[at].own.last_frames.as_mut();
        if let Some(signer) = frames.and_then(|frames| frames.signer.as_mut()) {
            signer.seal(Duration::from_nanos(now.as_nanos()), &mut frame);
        }
        self.send_for_dead(at, frame, len, ());
    }
}
