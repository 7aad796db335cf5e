//! Layouts that several messages share.

use zerocopy::byteorder::network_endian::{U16, U32, U64};

use super::{Digest, PROGRESS_MAX, Token};
use crate::layout::layout;
use crate::writer::Writer;
use crate::{DecodeError, Field, MacAddr, Problem};

/// The first bytes of a trailer. Padding is mostly zero, so it does not look like a trailer.
pub(super) const MARK: [u8; 4] = *b"RGD1";

layout! {
    /// An Ethernet II header, 14 bytes.
    pub struct EthernetHeader {
        /// The receiver of the frame.
        pub destination: MacAddr = Destination,
        /// The sender of the frame.
        pub source: MacAddr = Source,
        /// The type of the frame's payload.
        pub ethertype: U16 = Ethertype,
    }
}

layout! {
    /// The header of every message, 8 bytes.
    pub(super) struct HeaderLayout {
        pub(super) kind: u8 = Kind,
        pub(super) reserved: u8 = Reserved,
        pub(super) author: MacAddr = MessageAuthorMAC,
    }
}

layout! {
    /// The first 22 bytes of every frame.
    pub(super) struct PreludeLayout {
        pub(super) ethernet: EthernetHeader = Ethernet,
        pub(super) header: HeaderLayout = Header,
    }
}

layout! {
    /// A token, 18 bytes.
    pub(super) struct TokenLayout {
        progress: U64 = Progress,
        author: MacAddr = AuthorMAC,
        number: U32 = AuthorTokenNum,
    }
}

impl TokenLayout {
    /// Returns the token, or an error if the token is not legal. `offset` is the offset of the token in the frame, in
    /// bytes.
    #[inline]
    pub(super) fn validate(&self, offset: usize) -> Result<Token, DecodeError> {
        let progress = self.progress.get();
        if progress > PROGRESS_MAX {
            let problem = Problem::TooLarge {
                value: progress,
                max: PROGRESS_MAX,
            };
            return Err(DecodeError::new(Field::Progress, offset, problem));
        }
        Ok(Token {
            progress,
            author: self.author,
            number: self.number.get(),
        })
    }

    /// Returns the layout of `token`. An illegal token makes `writer` refuse the message.
    #[inline]
    pub(super) fn checked(token: Token, writer: &mut Writer<'_>) -> Self {
        writer.require(token.progress <= PROGRESS_MAX, Field::Progress);
        Self {
            progress: token.progress.into(),
            author: token.author,
            number: token.number.into(),
        }
    }
}

layout! {
    /// A digest, 12 bytes.
    pub(super) struct DigestLayout {
        size: U32 = RingSize,
        hash: U64 = RingMembersHash,
    }
}

impl From<Digest> for DigestLayout {
    #[inline]
    fn from(d: Digest) -> Self {
        Self {
            size: d.size.into(),
            hash: d.hash.into(),
        }
    }
}

impl From<DigestLayout> for Digest {
    #[inline]
    fn from(d: DigestLayout) -> Self {
        Self {
            size: d.size.get(),
            hash: d.hash.get(),
        }
    }
}
