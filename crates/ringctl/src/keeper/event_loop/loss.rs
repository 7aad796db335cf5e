//! The loss of the lock, and the reason that the caller gets.

use std::time::Duration;

use ring_proto::time::Instant;

use super::super::{Granter, Note};
use super::EventLoop;

/// Maximum time to wait for the reason of a loss after the lease was not renewed in time.
const REASON_TIMEOUT: Duration = Duration::from_millis(100);

impl EventLoop {
    /// Begins to end the work, because the lease was not renewed in time. If the daemon still runs, it sends the reason
    /// at about the same time. So the keeper waits for this reason before it reports the loss.
    pub(super) fn on_overdue(&mut self, now: Instant) {
        let end = self.lock.lease().map_or(now, |lease| lease.until());
        if let Some(bound) = &self.bound {
            bound.signal_loss();
        }
        let wait = match &self.granter {
            Granter::Daemon(_) => REASON_TIMEOUT,
            Granter::Process { .. } => Duration::ZERO,
        };
        self.reason_due = Some(end.min(now + wait).max(now));
        self.begin_termination();
    }

    /// If the daemon has not sent a reason in time, reports the loss of the lock without the daemon's reason.
    pub(super) fn report_unknown_reason(&mut self, now: Instant) {
        if self.reason_due.take_if(|due| *due <= now).is_some() {
            self.send_note(&Note::Lost(self.granter.overdue_text()));
        }
    }

    pub(super) fn on_lock_lost(&mut self, text: String) {
        let is_awaited = self.reason_due.take().is_some();
        if let Some(bound) = self.bound.as_ref().filter(|_| self.termination.is_none()) {
            bound.signal_loss();
        }
        self.stop_waiting_for_backstop();
        if is_awaited || !self.command_ended || self.survivor_reported {
            self.send_note(&Note::Lost(text));
        }
        self.begin_termination();
    }
}
