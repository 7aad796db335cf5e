//! The pause of the author's node, for people.
//!
//! A pause notice may follow the [card](super::card). If the frame has a [standing](super::locks_standing) or a [host
//! name](super::host_name), the pause notice comes after them. A receiver that does not know pause notices ignores a
//! pause notice as padding. A receiver that knows pause notices ignores illegal pause notices as padding. So control
//! characters never reach the terminal of a reader.
//!
//! ```text
//!   at  bytes  field
//!    0      4  mark       "RGD6"
//!    4      8  left       u64, nanoseconds until the pause ends by itself; 2^64-1: it does not end by itself
//!   12      1  reasonLen  u8, at most 64; 0 if the operator gave no reason
//!   13      …  reason     the operator's reason, in UTF-8 without control characters
//! ```
//!
//! # Example
//! ```
//! use ring_codec::lab2::{self, Frame, PauseNotice};
//!
//! let bytes = hex_literal::hex!(
//!     "ffffffffffff 020000000001 88b5" // destination, source, EtherType
//!     "05 00 020000000001"             // kind, reserved, messageAuthorMAC
//!     "52474432 00 05dc"               // mark, flags, mtu: 1500
//!     "fedcba9876543210"               // constants
//!     "0000000017d78400"               // patience: 400 ms
//!     "0000000005f5e100"               // shortest: 100 ms
//!     "00000000004c4b40 00000003"      // take: 5 ms, expect: 3
//!     "52474433 000000010000"          // mark, version: 0.1.0
//!     "000000000000"                   // unheard: none
//!     "ffffffffffffffff 00"            // held: no program
//!     "52474436 000000df84758000"       // mark, left: 960 s
//!     "04 6469736b"                    // reason: disk
//! );
//! let frame = Frame::decode(&bytes)?;
//! let card = frame.card.expect("a pause notice follows a card");
//! let notice = PauseNotice { left: Some(960_000_000_000), reason: "disk" };
//! assert_eq!(card.pause, Some(notice));
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::U64;

use crate::Field;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

const MARK: [u8; 4] = *b"RGD6";
/// The longest reason of a pause, in bytes.
pub const PAUSE_REASON_LEN_MAX: usize = 64;
/// The value of `left` if the pause does not end by itself.
const NO_END: u64 = u64::MAX;

layout! {
    /// The first 13 bytes of the trailer. The reason follows after them.
    struct PauseNoticeLayout {
        mark: [u8; 4] = Mark,
        left: U64 = Left,
        reason_len: u8 = ReasonLen,
    }
}

/// The end and the reason of the author's pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PauseNotice<'a> {
    /// Nanoseconds until the pause ends by itself, less than 2^64 - 1. `None` if the pause does not end by itself.
    pub left: Option<u64>,
    /// A legal [reason](is_pause_reason); empty if the operator gave no reason.
    pub reason: &'a str,
}

/// Whether a text is a legal reason of a pause: at most [`PAUSE_REASON_LEN_MAX`] bytes without control characters.
pub fn is_pause_reason(text: &str) -> bool {
    text.len() <= PAUSE_REASON_LEN_MAX && !text.contains(char::is_control)
}

impl<'a> PauseNotice<'a> {
    /// Returns the length of the trailer, in bytes.
    pub const fn encoded_len(&self) -> usize {
        size_of::<PauseNoticeLayout>() + self.reason.len()
    }

    #[inline]
    pub(super) fn read(reader: &mut Reader<'a>) -> Option<Self> {
        // An illegal pause notice is padding, so the reader must not move behind a part of it.
        let mut ahead = reader.clone();
        let layout = ahead.trailer(|layout: &PauseNoticeLayout| layout.mark == MARK)?;
        let reason = ahead.bytes(Field::Reason, layout.reason_len.into()).ok()?;
        let reason = core::str::from_utf8(reason)
            .ok()
            .filter(|reason| is_pause_reason(reason))?;
        *reader = ahead;
        let left = layout.left.get();
        Some(Self {
            left: (left != NO_END).then_some(left),
            reason,
        })
    }

    #[inline]
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.require(self.left != Some(NO_END), Field::Left);
        writer.require_len(Field::Reason, self.reason.len(), PAUSE_REASON_LEN_MAX);
        writer.require(is_pause_reason(self.reason), Field::Reason);
        writer.layout(&PauseNoticeLayout {
            mark: MARK,
            left: self.left.unwrap_or(NO_END).into(),
            reason_len: u8::try_from(self.reason.len()).unwrap_or(u8::MAX),
        });
        writer.bytes(self.reason.as_bytes());
    }
}
