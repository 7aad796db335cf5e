//! The work of applications on this node. An application needs the token for this work.

use std::hash::Hash;
use std::time::Duration;

use crate::lab2::machine::Writer;
use crate::time::Instant;

/// The state of the work for which an application on this node needs the token.
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(crate) enum LocalWork {
    #[default]
    Nothing,
    /// An application has work. `asked` is the time of the first request for the token. If this node also asked the
    /// holder by unicast, `asked` is the time of the last such request.
    Work { asked: Option<Instant> },
}

impl LocalWork {
    pub(crate) const fn has_work(&self) -> bool {
        matches!(self, Self::Work { .. })
    }

    pub(crate) fn begin(&mut self) {
        // A second request must not restart the time after which the node asks by unicast.
        if !self.has_work() {
            *self = Self::Work { asked: None };
        }
    }

    /// Ends the work. Returns whether an application had work.
    pub(crate) fn end(&mut self) -> bool {
        std::mem::take(self).has_work()
    }

    /// Notes that this node has the token. So a later request counts as a new request.
    pub(crate) fn on_token_here(&mut self) {
        if let Self::Work { asked } = self {
            *asked = None;
        }
    }

    /// Notes a request for the token. Returns whether requests were unsuccessful for `waiter_timeout`. After
    /// `waiter_timeout` without success, this node must also ask the holder by unicast.
    pub(crate) fn note_request(&mut self, now: Instant, waiter_timeout: Duration) -> bool {
        match self {
            Self::Work { asked } => now.since(*asked.get_or_insert(now)) >= waiter_timeout,
            Self::Nothing => false,
        }
    }

    /// Notes a unicast request to the holder.
    pub(crate) fn note_unicast_request(&mut self, now: Instant) {
        if let Self::Work { asked } = self {
            *asked = Some(now);
        }
    }

    pub(crate) fn snapshot(&self, writer: &mut Writer, waiter_timeout: Duration) {
        self.has_work().hash(writer);
        match self {
            Self::Nothing => {}
            Self::Work { asked } => writer.age_up_to(*asked, waiter_timeout),
        }
    }
}
