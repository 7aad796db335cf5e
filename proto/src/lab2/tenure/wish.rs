//! An application's work for the token.

use std::hash::Hash;
use std::time::Duration;

use crate::lab2::machine::Writer;
use crate::time::Instant;

/// Whether there is work for the token.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Wish {
    #[default]
    Nothing,
    /// Since when this node asks for the token, or when it last asked the holder alone.
    Work { asked: Option<Instant> },
}

impl Wish {
    /// Whether there is work for the token.
    pub(crate) const fn is_work(&self) -> bool {
        matches!(self, Self::Work { .. })
    }

    pub(crate) fn begin(&mut self) {
        if !self.is_work() {
            *self = Self::Work { asked: None };
        }
    }

    /// The work is done. Returns whether there was any.
    pub(crate) fn end(&mut self) -> bool {
        std::mem::take(self).is_work()
    }

    /// The token is here.
    pub(crate) fn note_served(&mut self) {
        if let Self::Work { asked } = self {
            *asked = None;
        }
    }

    /// This node asks for the token. Returns whether the holder is to be asked alone as well, after so long without it.
    pub(crate) fn has_asked_for(&mut self, now: Instant, patience: Duration) -> bool {
        match self {
            Self::Work { asked } => now.since(*asked.get_or_insert(now)) >= patience,
            Self::Nothing => false,
        }
    }

    /// The holder is asked alone.
    pub(crate) fn note_asked_alone(&mut self, now: Instant) {
        if let Self::Work { asked } = self {
            *asked = Some(now);
        }
    }

    pub(crate) fn snapshot(&self, writer: &mut Writer, patience: Duration) {
        self.is_work().hash(writer);
        match self {
            Self::Nothing => {}
            Self::Work { asked } => writer.age_up_to(*asked, patience),
        }
    }
}
