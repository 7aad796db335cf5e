//! PING, kind 3: introduces the author and its table's digest.
//!
//! `ip` is the author's IPv6 address, or its IPv4 address mapped as `::ffff:a.b.c.d`. An author without an IP address
//! sends `::` ([`NO_IP`](super::NO_IP)). The author adds a trailer only if it makes a promise or is paused. A receiver
//! that does not know trailers ignores a trailer as padding. If the bytes at the place of a trailer are not a trailer,
//! a receiver that knows trailers ignores these bytes as padding.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 3
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      4  ringSize          u32
//!   26      8  ringMembersHash   u64
//!   34     16  ip
//!                             the trailer:
//!   50      4  mark              "RGD1"
//!   54      1  flags             1: a promise follows; 2: the author is paused
//!   55      8  progress          u64, below 2^63: the token that is promised
//!   63      6  authorMAC
//!   69      4  authorTokenNum    u32
//!   73      4  beat              u32, of the TOKEN_IS_HERE that this answers
//!   77      8  lasts             u64, nanoseconds
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
//! assert_eq!(frame.message, Message::Ping { digest, ip, promise: None, paused: false });
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! With a promise:
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Frame, Message, Promise, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "020000000002 020000000001 88b5" // destination, source, EtherType
//!     "03 00 020000000001"                      // kind, reserved, messageAuthorMAC
//!     "00000002 0123456789abcdef"                 // digest: ringSize, ringMembersHash
//!     "00000000000000000000ffff c0000201"         // ip: 192.0.2.1
//!     "52474431 01"                               // mark, flags: a promise
//!     "0000000000000007 020000000001 00000003"    // token: progress, authorMAC, authorTokenNum
//!     "00000005 0000000017d78400"                 // beat, lasts: 400 ms
//! );
//! let frame = Frame::decode(&bytes)?;
//! let token = Token { progress: 7, author: MacAddr([2, 0, 0, 0, 0, 1]), number: 3 };
//! let given = Promise { token, beat: 5, lasts: 400_000_000 };
//! assert!(matches!(
//!     frame.message,
//!     Message::Ping { promise: Some(promise), paused: false, .. } if promise == given
//! ));
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::{U32, U64};

use super::parts::{DigestLayout, HeaderLayout, MARK, TokenLayout};
use super::{Digest, Token};
use crate::DecodeError;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;

layout! {
    /// The body of PING, 28 bytes.
    struct PingLayout {
        digest: DigestLayout = Digest,
        ip: [u8; 16] = Ip,
    }
}

layout! {
    /// The optional trailer, 35 bytes.
    struct Trailer {
        mark: [u8; 4] = Mark,
        flags: u8 = Flags,
        token: TokenLayout = Token,
        beat: U32 = Beat,
        lasts: U64 = Lasts,
    }
}

/// Length of a PING from its kind on, in bytes.
pub(super) const LEN: usize = size_of::<HeaderLayout>() + size_of::<PingLayout>();
/// Length of a PING with its trailer, in bytes.
pub(super) const LEN_WITH_TRAILER: usize = LEN + size_of::<Trailer>();
/// Flag: the trailer contains a promise.
const PROMISE: u8 = 1;
/// Flag: the author is paused.
const PAUSED: u8 = 2;
/// Offset of the token in the trailer, in bytes.
const TOKEN_AT: usize = 5;

impl Trailer {
    /// Whether these bytes are a trailer. Otherwise they are padding.
    fn is_trailer(&self) -> bool {
        let nothing = [0; size_of::<Self>() - TOKEN_AT];
        let empty = zerocopy::IntoBytes::as_bytes(self)[TOKEN_AT..] == nothing;
        self.mark == MARK
            && matches!(self.flags, PROMISE..=3)
            && (self.flags & PROMISE != 0 || empty)
    }
}

/// A member's promise not to confirm any other tenure for some time (`docs/reference/lab2/grades.md G7`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Promise {
    /// The token of the promised tenure.
    pub token: Token,
    /// The number of the answered TOKEN_IS_HERE.
    pub beat: u32,
    /// Duration of the promise in nanoseconds, by its author's clock. The promise begins when the author has read the
    /// answered TOKEN_IS_HERE.
    pub lasts: u64,
}

#[inline]
pub(super) fn read(
    reader: &mut Reader<'_>,
) -> Result<(Digest, [u8; 16], Option<Promise>, bool), DecodeError> {
    let body: &PingLayout = reader.view()?;
    let at = reader.offset() + TOKEN_AT;
    let mut promise = None;
    let mut paused = false;
    if let Some(trailer) = reader.trailer(Trailer::is_trailer) {
        paused = trailer.flags & PAUSED != 0;
        if trailer.flags & PROMISE != 0 {
            promise = Some(Promise {
                token: trailer.token.validate(at)?,
                beat: trailer.beat.get(),
                lasts: trailer.lasts.get(),
            });
        }
    }
    Ok((body.digest.into(), body.ip, promise, paused))
}

#[inline]
pub(super) fn write(
    writer: &mut Writer<'_>,
    digest: Digest,
    ip: [u8; 16],
    promise: Option<Promise>,
    paused: bool,
) {
    let digest = digest.into();
    writer.layout(&PingLayout { digest, ip });
    if promise.is_none() && !paused {
        return;
    }
    let mut trailer = Trailer {
        mark: MARK,
        flags: u8::from(paused) * PAUSED,
        ..zerocopy::FromZeros::new_zeroed()
    };
    if let Some(promise) = promise {
        trailer.flags |= PROMISE;
        trailer.token = TokenLayout::checked(promise.token, writer);
        trailer.beat = promise.beat.into();
        trailer.lasts = promise.lasts.into();
    }
    writer.layout(&trailer);
}
