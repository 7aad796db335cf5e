//! RING_MEMBERS, kind 7: a part of the author's member table.
//!
//! The digest describes the whole table, not only the members in this frame. A table of more than 66 members is sent in
//! several frames. A node that does not know this kind may ignore it.
//!
//! A member is 22 bytes: `mac[6]`, a unicast address, and `ip[16]` as in PING.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 7
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      4  ringSize          u32
//!   26      8  ringMembersHash   u64
//!   34      2  count             u16, at most 66
//!   36  22 each  members           mac[6] ip[16], count times
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Digest, Frame, Member, Message, NO_IP};
//!
//! let bytes = hex_literal::hex!(
//!     "020000000002 020000000001 88b5" // destination, source, EtherType
//!     "07 00 020000000001"                                 // kind, reserved, messageAuthorMAC
//!     "00000002 0123456789abcdef"                          // digest: ringSize, ringMembersHash
//!     "0002"                                               // count
//!     "020000000001 00000000000000000000ffff c0000201"     // mac, ip: 192.0.2.1
//!     "020000000002 00000000000000000000000000000000"      // mac, ip: none
//! );
//! let frame = Frame::decode(&bytes)?;
//! assert_eq!(frame.destination, MacAddr([2, 0, 0, 0, 0, 2]));
//! assert_eq!(frame.author, MacAddr([2, 0, 0, 0, 0, 1]));
//! let ip = std::net::Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped().octets();
//! let members = [
//!     Member { mac: frame.author, ip },
//!     Member { mac: frame.destination, ip: NO_IP },
//! ];
//! let digest = Digest { size: 2, hash: 0x0123_4567_89ab_cdef };
//! assert_eq!(frame.message, Message::RingMembers { digest, members: &members });
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::U16;

use super::parts::DigestLayout;
use super::{Digest, MEMBERS_PER_FRAME_MAX};
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, MacAddr, Problem};

layout! {
    /// One entry of the member table, 22 bytes.
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct Member {
        /// The member's MAC address.
        pub mac: MacAddr = Mac,
        /// The member's IP address: IPv6, IPv4 mapped as `::ffff:a.b.c.d`, or [`NO_IP`](super::NO_IP).
        pub ip: [u8; 16] = Ip,
    }
}

layout! {
    /// The part of RING_MEMBERS before the members, 14 bytes.
    struct MembersLayout {
        digest: DigestLayout = Digest,
        count: U16 = Count,
    }
}

#[inline]
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<(Digest, &'a [Member]), DecodeError> {
    let head: &MembersLayout = reader.view()?;
    let first = reader.offset();
    let count = usize::from(head.count.get());
    if count > MEMBERS_PER_FRAME_MAX {
        let (value, max) = (count as u64, MEMBERS_PER_FRAME_MAX as u64);
        let problem = Problem::TooLarge { value, max };
        return Err(DecodeError::new(
            Field::Count,
            first - size_of::<U16>(),
            problem,
        ));
    }
    let members: &[Member] = reader.views(Field::Members, count)?;
    if let Some(bad) = members.iter().position(|m| !m.mac.is_unicast()) {
        let offset = first + bad * size_of::<Member>();
        return Err(DecodeError::new(Field::Mac, offset, Problem::NotUnicast));
    }
    Ok((head.digest.into(), members))
}

#[inline]
pub(super) fn write(writer: &mut Writer<'_>, digest: Digest, members: &[Member]) {
    writer.require_len(Field::Members, members.len(), MEMBERS_PER_FRAME_MAX);
    writer.require(members.iter().all(|m| m.mac.is_unicast()), Field::Mac);
    writer.layout(&MembersLayout {
        digest: digest.into(),
        count: u16::try_from(members.len()).unwrap_or(u16::MAX).into(),
    });
    writer.layout(members);
}
