//! Addresses and times of a received frame.

use ring_codec::MacAddr;
use ring_codec::lab2::Backing;

use crate::time::Instant;

/// Addresses and times of a valid frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Envelope {
    pub(super) from: MacAddr,
    pub(super) broadcast: bool,
    /// When it arrived, which may be earlier than now.
    pub(super) at: Instant,
    /// The announced backing of its author's tenure.
    pub(super) backing: Option<Backing>,
}
