//! The end and the reason of a pause, which members show to people (`docs/reference/lab2/membership.md E7`).

use std::fmt;
use std::time::Duration;

use ring_codec::lab2::{PAUSE_REASON_LEN_MAX, is_pause_reason};

use super::short_text::ShortText;
use crate::time::Instant;

const _: () = assert!(PAUSE_REASON_LEN_MAX == ShortText::LEN_MAX);

/// An operator's reason for a pause: at most 64 bytes without control characters. The reason may be empty.
#[derive(Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PauseReason(ShortText);

impl PauseReason {
    /// The empty reason.
    pub const NONE: Self = Self(ShortText::EMPTY);

    /// Parses a reason from a text. Returns `None` if the text is not a valid reason.
    pub fn new(text: &str) -> Option<Self> {
        is_pause_reason(text).then(|| ShortText::new(text).map(Self))?
    }

    /// Returns the reason as a text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for PauseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// The end and the reason of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pause {
    /// The time at which the pause ends by itself; `None` if it does not end by itself.
    pub until: Option<Instant>,
    /// The operator's reason.
    pub reason: PauseReason,
}

impl Default for Pause {
    fn default() -> Self {
        Self::PLAIN
    }
}

impl Pause {
    /// A pause without an end and without a reason.
    pub const PLAIN: Self = Self {
        until: None,
        reason: PauseReason::NONE,
    };

    /// Returns the time until the pause ends by itself.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        self.until.map(|until| until.since(now))
    }
}
