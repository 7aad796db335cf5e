//! The trailer at the end of a signed message.
//!
//! ```text
//!   at  bytes  field
//!    0      8  boot     random number of the sender's process and link
//!    8      8  counter  1, 2, … for each boot
//!   16      4  time     milliseconds of the sender's clock, modulo 2^32
//!   20      3  mark     "RKT"
//!   23      1  kind     0: message, 1: challenge, 2: answer, 3: message to all
//!   24      4  keyId
//!   28     16  mac      keyed BLAKE3 of all bytes before the mark, first 128 bits
//! ```

use std::time::Duration;

use zerocopy::byteorder::network_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::mac::MAC_LEN;

/// Length of a trailer in bytes.
pub const TRAILER_LEN: usize = size_of::<Trailer>();
/// Length of the random number in a challenge, in bytes.
pub const NONCE_LEN: usize = 16;
const MARK: [u8; 3] = *b"RKT";
/// Length of the fields that the MAC does not cover. The mark only distinguishes a trailer from padding. The kind and
/// the id select the key, so if an attacker changes them, the MAC is wrong.
const UNCOVERED_LEN: usize = MARK.len() + 1 + size_of::<U32>() + MAC_LEN;

/// The kind of a signed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Message of the protocol.
    Message,
    /// Question to the sender of a message: whether it is alive.
    Challenge,
    /// Answer to a challenge.
    Answer,
    /// Datagram of the protocol to all nodes.
    MessageToAll,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [
        Self::Message,
        Self::Challenge,
        Self::Answer,
        Self::MessageToAll,
    ];

    fn from_wire(value: u8) -> Option<Self> {
        Self::ALL.get(usize::from(value)).copied()
    }
}

/// Returns the length of a datagram without its trailer, for a node without keys. Returns `None` for a challenge or an
/// answer, because the node must not take their random bytes for a message.
pub fn len_without_trailer(datagram: &[u8]) -> Option<usize> {
    let Some((message, trailer)) = Trailer::split(datagram) else {
        return Some(datagram.len());
    };
    match trailer.kind()? {
        Kind::Message | Kind::MessageToAll => Some(message.len()),
        Kind::Challenge | Kind::Answer => None,
    }
}

/// Returns a time as milliseconds modulo 2^32.
#[expect(clippy::cast_possible_truncation, reason = "the field is modulo 2^32")]
pub(crate) fn wire_time(time: Duration) -> u32 {
    time.as_millis() as u32
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub(crate) struct Trailer {
    boot: U64,
    counter: U64,
    time: U32,
    mark: [u8; 3],
    kind: u8,
    key_id: U32,
    mac: [u8; MAC_LEN],
}

impl Trailer {
    /// Makes a trailer without a MAC.
    pub(crate) fn new(kind: Kind, key_id: u32, boot: u64, counter: u64, time: Duration) -> Self {
        Self {
            boot: boot.into(),
            counter: counter.into(),
            time: wire_time(time).into(),
            mark: MARK,
            kind: kind as u8,
            key_id: key_id.into(),
            mac: [0; MAC_LEN],
        }
    }

    /// Splits the trailer off a message; `None` if the message has no trailer.
    #[inline]
    pub(crate) fn split(bytes: &[u8]) -> Option<(&[u8], &Self)> {
        let (message, trailer) = Self::ref_from_suffix(bytes).ok()?;
        (trailer.mark == MARK).then_some((message, trailer))
    }

    /// Returns the bytes of a signed message that the MAC covers.
    #[inline]
    pub(crate) fn covered(signed: &[u8]) -> &[u8] {
        &signed[..signed.len().saturating_sub(UNCOVERED_LEN)]
    }

    /// Returns the kind; `None` if it is unknown.
    pub(crate) fn kind(&self) -> Option<Kind> {
        Kind::from_wire(self.kind)
    }

    pub(crate) fn boot(&self) -> u64 {
        self.boot.get()
    }

    pub(crate) fn counter(&self) -> u64 {
        self.counter.get()
    }

    pub(crate) fn time(&self) -> u32 {
        self.time.get()
    }

    pub(crate) fn key_id(&self) -> u32 {
        self.key_id.get()
    }

    pub(crate) fn mac(&self) -> &[u8; MAC_LEN] {
        &self.mac
    }
}
