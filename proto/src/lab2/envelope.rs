//! A received frame's outside.

use ring_codec::MacAddr;
use ring_codec::lab2::Backing;

use crate::time::Instant;

/// A valid frame's addresses and time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Envelope {
    pub(super) from: MacAddr,
    pub(super) broadcast: bool,
    /// When it arrived, which is before now if it had to wait.
    pub(super) at: Instant,
    /// How its author's tenure is backed, if it tells.
    pub(super) backing: Option<Backing>,
}
