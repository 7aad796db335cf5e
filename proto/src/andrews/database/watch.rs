//! Since when the rows say the same (`docs/board.md`, section 4).

use crate::time::Instant;

/// Since when the rows say what they say.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Since when the coordinator's beat stands still, as far as looks have shown.
    pub(crate) beat_since: Instant,
    /// Since when the coordinator and its term are the same.
    pub(crate) seat_since: Instant,
    /// It is time for another write that shows whether the database can be written.
    pub(crate) is_try_due: bool,
    /// The claim in hand is for want of a token.
    pub(crate) is_for_silence: bool,
    /// Such a claim was committed: a token is made at once.
    pub(crate) makes_token: bool,
}
