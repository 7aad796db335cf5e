//! Work of applications here that needs the token.

use std::hash::Hash;
use std::time::Duration;

use crate::lab2::machine::Writer;
use crate::time::Instant;

/// Whether an application here has work for the token.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum LocalWork {
    #[default]
    Nothing,
    /// Holds the time of the first request, or of the last unicast request to the holder.
    Work { asked: Option<Instant> },
}

impl LocalWork {
    pub(crate) const fn has_work(&self) -> bool {
        matches!(self, Self::Work { .. })
    }

    pub(crate) fn begin(&mut self) {
        if !self.has_work() {
            *self = Self::Work { asked: None };
        }
    }

    /// Ends the work. Returns whether there was any.
    pub(crate) fn end(&mut self) -> bool {
        std::mem::take(self).has_work()
    }

    /// Notes that the token has come.
    pub(crate) fn on_token_here(&mut self) {
        if let Self::Work { asked } = self {
            *asked = None;
        }
    }

    /// Notes a request. Returns whether it has lasted for `waiter_timeout`, so that the holder must get it by unicast
    /// too.
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
