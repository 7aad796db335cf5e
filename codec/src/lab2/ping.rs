//! PING, kind 3: introduces the author and its table's digest.
//!
//! `ip` is the author's own: an IPv6 address, an IPv4 address mapped as `::ffff:a.b.c.d`, or `::` for
//! none ([`NO_IP`](super::NO_IP)).
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 3
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      4  ringSize          u32
//!   26      8  ringMembersHash   u64
//!   34     16  ip
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Digest, Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "020000000002 020000000001 88b5" // destination, source, EtherType
//!     "03 00 020000000001"                 // kind, reserved, messageAuthorMAC
//!     "00000002 0123456789abcdef"          // digest: ringSize, ringMembersHash
//!     "00000000000000000000ffff c0000201"  // ip: 192.0.2.1
//! );
//! let frame = Frame::decode(&bytes)?;
//! assert_eq!(frame.destination, MacAddr([2, 0, 0, 0, 0, 2]));
//! assert_eq!(frame.author, MacAddr([2, 0, 0, 0, 0, 1]));
//! let ip = std::net::Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped().octets();
//! let digest = Digest { size: 2, hash: 0x0123_4567_89ab_cdef };
//! assert_eq!(frame.message, Message::Ping { digest, ip });
//! # let mut buf = [0xaa; lab2::MAX_FRAME_LEN];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::parts::DigestLayout;
use super::{Digest, Message};
use crate::DecodeError;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

layout! {
    /// The body of PING, 28 bytes.
    struct PingLayout {
        digest: DigestLayout = "digest",
        ip: [u8; 16] = "ip",
    }
}

#[inline]
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<Message<'a>, DecodeError> {
    let body: &PingLayout = reader.view()?;
    Ok(Message::Ping {
        digest: body.digest.into(),
        ip: body.ip,
    })
}

#[inline]
pub(super) fn write(writer: &mut Writer<'_>, digest: Digest, ip: [u8; 16]) {
    let digest = digest.into();
    writer.layout(&PingLayout { digest, ip });
}
