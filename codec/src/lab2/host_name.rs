//! The host name of the author's machine, for people.
//!
//! A host name may follow the [`card`](super::card). If the frame has a [standing](super::locks_standing), the host
//! name comes after the standing. A [pause notice](super::pause_notice) and a [preference](super::preference) may
//! follow the host name. A receiver that does not know host names ignores a host name as padding. A receiver that knows
//! host names ignores illegal host names as padding. So control characters never reach the terminal of a reader.
//!
//! ```text
//!   at  bytes  field
//!    0      4  mark         "RGD5"
//!    4      1  hostNameLen  u8, 1 to 64
//!    5      …  hostName     ASCII letters, digits, '-', '.' and '_', first a letter or a digit
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
//!     "52474433 000000010000"          // mark, version: 0.1.0
//!     "000000000000"                   // unheard: none
//!     "ffffffffffffffff 00"            // held: no program
//!     "52474435 03 646231"             // mark, host name: db1
//! );
//! let frame = Frame::decode(&bytes)?;
//! let card = frame.card.expect("a host name follows a card");
//! assert_eq!(card.host_name, Some("db1"));
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::Field;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

const MARK: [u8; 4] = *b"RGD5";
/// The longest host name, in bytes. This is also the longest host name of Linux.
pub const HOST_NAME_LEN_MAX: usize = 64;

layout! {
    /// The first 5 bytes of the trailer. The name follows after them.
    struct HostNameLayout {
        mark: [u8; 4] = Mark,
        len: u8 = HostNameLen,
    }
}

/// Whether a text is a legal host name: 1 to [`HOST_NAME_LEN_MAX`] ASCII letters, digits, `-`, `.` and `_`. The first
/// character is a letter or a digit, because a script could take another name for an option or a path.
pub fn is_host_name(text: &str) -> bool {
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphanumeric());
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    starts_well && text.len() <= HOST_NAME_LEN_MAX && text.bytes().all(is_legal)
}

/// Returns the length of the trailer with this host name, in bytes.
pub const fn encoded_len(name: &str) -> usize {
    size_of::<HostNameLayout>() + name.len()
}

#[inline]
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Option<&'a str> {
    // An illegal host name is padding, so the reader must not move behind a part of it.
    let mut ahead = reader.clone();
    let layout = ahead.trailer(|layout: &HostNameLayout| layout.mark == MARK)?;
    let name = ahead.bytes(Field::HostName, layout.len.into()).ok()?;
    let name = core::str::from_utf8(name)
        .ok()
        .filter(|name| is_host_name(name))?;
    *reader = ahead;
    Some(name)
}

#[inline]
pub(super) fn write(name: &str, writer: &mut Writer<'_>) {
    writer.require_len(Field::HostName, name.len(), HOST_NAME_LEN_MAX);
    writer.require(is_host_name(name), Field::HostName);
    writer.layout(&HostNameLayout {
        mark: MARK,
        len: u8::try_from(name.len()).unwrap_or(u8::MAX),
    });
    writer.bytes(name.as_bytes());
}
