//! An orderly shutdown: for each token, the server that gets it (`docs/token-service/protocol/leaving.md` G2 to G6).

use std::collections::BTreeSet;

use crate::ftn::RETRY;
use crate::ftn::server::knowledge::Handover;
use crate::time::Instant;

/// A shutdown in progress. After its start, the server serves no token. So tokens that were handed over do not change.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Departure {
    until: Instant,
    /// Configuration of the handover, and the tokens that go to each server.
    handover: Option<(u64, Vec<Handover>)>,
    /// Tokens that other servers acknowledged in the configuration of the handover.
    taken: BTreeSet<u32>,
    /// Time of the next HEARTBEAT with DOWN, after all tokens are handed over.
    announcement_due: Option<Instant>,
}

impl Departure {
    pub(crate) const fn new(until: Instant) -> Self {
        Self {
            until,
            handover: None,
            taken: BTreeSet::new(),
            announcement_due: None,
        }
    }

    /// Whether the time for the handover is over.
    pub(crate) fn is_timed_out(&self, now: Instant) -> bool {
        self.until <= now
    }

    /// Whether the handover is planned for a configuration.
    pub(crate) fn is_planned_for(&self, configuration: u64) -> bool {
        let mut handover = self.handover.iter();
        handover.any(|(of, _)| *of == configuration)
    }

    pub(crate) fn begin(&mut self, configuration: u64, handovers: Vec<Handover>) {
        self.handover = Some((configuration, handovers));
        // Other servers may be responsible under the new configuration, so all tokens are sent again.
        self.taken.clear();
        // DOWN counts only under the present configuration, so it is announced again at once.
        self.announcement_due = None;
    }

    /// Whether the handover for a configuration is complete.
    pub(crate) fn has_handed_over(&self, configuration: u64) -> bool {
        self.is_planned_for(configuration) && self.handovers().next().is_none()
    }

    fn handovers(&self) -> impl Iterator<Item = &Handover> {
        self.handover.iter().flat_map(|(_, handovers)| handovers)
    }

    pub(crate) fn handovers_mut(&mut self) -> impl Iterator<Item = &mut Handover> {
        let handover = self.handover.iter_mut();
        handover.flat_map(|(_, handovers)| handovers)
    }

    /// Records tokens that another server acknowledged.
    pub(crate) fn record_taken(&mut self, ids: &[u32]) {
        self.taken.extend(ids);
    }

    /// Whether another server acknowledged a token for this configuration.
    pub(crate) fn has_taken(&self, configuration: u64, id: u32) -> bool {
        self.is_planned_for(configuration) && self.taken.contains(&id)
    }

    /// Stops the handover until the server has authority or a leader again. An incomplete handover starts again from
    /// the beginning.
    pub(crate) fn pause(&mut self) {
        self.announcement_due = None;
        self.handover
            .take_if(|(_, handovers)| !handovers.is_empty());
    }

    /// Removes the servers that acknowledged all their tokens.
    pub(crate) fn drop_finished(&mut self) {
        if let Some((_, handovers)) = &mut self.handover {
            // An empty list then means that all tokens are handed over.
            handovers.retain(|to| !to.is_complete());
        }
    }

    /// If HEARTBEAT with DOWN is due, returns `true`, and makes the next such HEARTBEAT due after RETRY.
    pub(crate) fn take_announcement(&mut self, now: Instant) -> bool {
        let is_due = self.announcement_due.is_none_or(|due| due <= now);
        if is_due {
            self.announcement_due = Some(now + RETRY);
        }
        is_due
    }

    /// Returns the time of the server's next action.
    pub(crate) fn due(&self) -> Instant {
        let parts = self.handovers().filter_map(Handover::due);
        parts
            .chain(self.announcement_due)
            .fold(self.until, Instant::min)
    }
}
