//! The last frames of a node: its guardian sends them if the process of the node dies.

use std::time::Duration;

use super::StoredState;
use crate::time::Instant;

/// The last frames of a node. The guardian first sends the offer, and finally LEAVING.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastFrames {
    /// Offer of an OWNER.
    pub offer: Option<LastOffer>,
    /// Length of the LEAVING.
    pub leaving_len: usize,
    /// Whether the guardian may send the frames only after all programs that have locks here have ended.
    pub after_programs: bool,
}

/// The offer that the guardian of an OWNER may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastOffer {
    /// Length of the TAKE_TOKEN.
    pub len: usize,
    /// End of the lease. The guardian must not send the TAKE_TOKEN later.
    pub until: Instant,
    /// Number of times that the guardian sends the TAKE_TOKEN. The guardian receives no answer.
    pub attempts: u32,
    /// Time between two attempts.
    pub interval: Duration,
    /// State that the node must store before its guardian may send the TAKE_TOKEN.
    pub state: StoredState,
}
