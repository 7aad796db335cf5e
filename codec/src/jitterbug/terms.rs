//! A node's terms: the last fields of TR1 and TR2, and the body of TP6.
//!
//! ```text
//!   at  bytes  field
//!    0      4  lease        u32, microseconds
//!    4      4  shortest     u32, microseconds
//!    8      4  longest      u32, microseconds
//!   12      4  renew        u32, milliseconds
//!   16      4  pass         u32, milliseconds
//!   20      4  follows      u32, the random part of a token_id, or 0
//!   24      8  policy       u64
//!   32      1  flags        bit 0: followed, bit 1: asks; the others are 0
//! ```

use zerocopy::byteorder::network_endian::{U32, U64};

use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, Problem};

/// Bit 0 of `flags`: other nodes follow the sender's token.
const FOLLOWED: u8 = 1;
/// Bit 1 of `flags`: the sender asks the receiver for a TR1.
const ASKS: u8 = 2;

/// The options that must be equal on all nodes, and flags about the node's role in its ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Lease from the node's own options, in microseconds. The node leads for at most this time while its event loop is
    /// blocked.
    pub lease_us: u32,
    /// The shortest lease of all nodes that the sender knows, in microseconds. The sender uses this lease.
    pub shortest_us: u32,
    /// The longest lease of all nodes that the sender knows, in microseconds.
    pub longest_us: u32,
    /// The node's `renew_timeout`, in milliseconds.
    pub renew_ms: u32,
    /// The node's `token_pass_timeout`, in milliseconds.
    pub pass_ms: u32,
    /// The random part of the followed token's id, or 0 if the node follows no other node's token.
    pub follows: u32,
    /// The digest of the node's computation and of its decision between two versions of the data.
    pub policy: u64,
    /// Whether other nodes follow the sender's token.
    pub is_followed: bool,
    /// Whether the sender asks the receiver for a TR1.
    pub asks: bool,
}

layout! {
    /// The terms, 33 bytes.
    struct TermsLayout {
        lease: U32 = Lease,
        shortest: U32 = Shortest,
        longest: U32 = Longest,
        renew: U32 = Renew,
        pass: U32 = Pass,
        follows: U32 = Follows,
        policy: U64 = Policy,
        flags: u8 = Flags,
    }
}

impl Terms {
    /// The length of the terms in bytes.
    pub const LEN: usize = size_of::<TermsLayout>();

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let offset = reader.offset();
        let body: &TermsLayout = reader.view()?;
        if body.flags & !(FOLLOWED | ASKS) != 0 {
            let value = body.flags.into();
            let at = offset + Self::LEN - 1;
            return Err(DecodeError::new(
                Field::Flags,
                at,
                Problem::Reserved { value },
            ));
        }
        Ok(Self {
            lease_us: body.lease.get(),
            shortest_us: body.shortest.get(),
            longest_us: body.longest.get(),
            renew_ms: body.renew.get(),
            pass_ms: body.pass.get(),
            follows: body.follows.get(),
            policy: body.policy.get(),
            is_followed: body.flags & FOLLOWED != 0,
            asks: body.flags & ASKS != 0,
        })
    }

    /// Reads the optional terms at the end of a datagram.
    pub(super) fn read_trailer(reader: &mut Reader<'_>) -> Result<Option<Self>, DecodeError> {
        if reader.rest().is_empty() {
            return Ok(None);
        }
        Self::read(reader).map(Some)
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
        writer.layout(&TermsLayout {
            lease: self.lease_us.into(),
            shortest: self.shortest_us.into(),
            longest: self.longest_us.into(),
            renew: self.renew_ms.into(),
            pass: self.pass_ms.into(),
            follows: self.follows.into(),
            policy: self.policy.into(),
            flags: flag(self.is_followed, FOLLOWED) | flag(self.asks, ASKS),
        });
    }
}
