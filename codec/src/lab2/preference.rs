//! The author's preference: how much an operator wants the idle token to rest with the author.
//!
//! A preference may follow the [profile](super::profile), as the last trailer. If the frame has a [card](super::card),
//! a [standing](super::locks_standing), a [host name](super::host_name) or a [pause notice](super::pause_notice), the
//! preference comes after them. A receiver that does not know preferences ignores a preference as padding. A receiver
//! that knows preferences ignores a preference of 0 as padding.
//!
//! ```text
//!   at  bytes  field
//!    0      4  mark        "RGD7"
//!    4      1  preference  u8, 1 to 255
//! ```
//!
//! # Example
//! ```
//! use ring_codec::lab2::{self, Frame};
//!
//! let bytes = hex_literal::hex!(
//!     "ffffffffffff 020000000001 88b5" // destination, source, EtherType
//!     "05 00 020000000001"             // kind, reserved, messageAuthorMAC
//!     "52474432 00 05dc"               // mark, flags, mtu: 1500
//!     "fedcba9876543210"               // constants
//!     "0000000017d78400"               // patience: 400 ms
//!     "0000000005f5e100"               // shortest: 100 ms
//!     "00000000004c4b40 00000003"      // take: 5 ms, expect: 3
//!     "52474437 64"                    // mark, preference: 100
//! );
//! let frame = Frame::decode(&bytes)?;
//! assert_eq!(frame.preference, 100);
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

const MARK: [u8; 4] = *b"RGD7";

layout! {
    struct PreferenceLayout {
        mark: [u8; 4] = Mark,
        preference: u8 = Preference,
    }
}

/// The length of the trailer, in bytes.
pub const LEN: usize = size_of::<PreferenceLayout>();

/// Returns 0 if there is no preference.
#[inline]
pub(super) fn read(reader: &mut Reader<'_>) -> u8 {
    let is_legal = |layout: &PreferenceLayout| layout.mark == MARK && layout.preference > 0;
    reader
        .trailer(is_legal)
        .map_or(0, |layout| layout.preference)
}

/// Writes a preference that is not 0.
#[inline]
pub(super) fn write(preference: u8, writer: &mut Writer<'_>) {
    writer.layout(&PreferenceLayout {
        mark: MARK,
        preference,
    });
}
