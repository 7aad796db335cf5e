//! The envelope of a received frame: its addresses, the time of its arrival, and the backing that it announces.

use ring_codec::MacAddr;
use ring_codec::lab2::{Backing, LocksStanding};

use crate::time::Instant;

/// The properties of a valid frame that do not depend on its message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Envelope {
    pub(super) from: MacAddr,
    pub(super) broadcast: bool,
    /// The time at which the host received the frame. This time may be earlier than the present time, because the frame
    /// may have waited.
    pub(super) at: Instant,
    /// The backing of the author's tenure; `None` if the frame does not announce it.
    pub(super) backing: Option<Backing>,
    /// The author's knowledge of named locks; `None` if the frame does not announce it.
    pub(super) standing: Option<LocksStanding>,
}
