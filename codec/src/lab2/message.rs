//! The nine messages as values.

use super::{Digest, Member, Token};
use crate::MacAddr;

/// A message's kind: the first byte after the Ethernet header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The holder offers the token to a member.
    TakeToken = 1,
    /// Heartbeat, and acknowledgement of TAKE_TOKEN.
    TokenIsHere = 2,
    /// Introduces the author and its table's digest.
    Ping = 3,
    /// A waiter's answer: the token was heard of not long ago.
    TokenWasHereRecently = 4,
    /// A looser's question.
    WhereIsToken = 5,
    /// A candidate for the next token.
    GeneratingToken = 6,
    /// A part of the author's member table.
    RingMembers = 7,
    /// The author has work for the token.
    WantToken = 8,
    /// The author is shutting down.
    Leaving = 9,
}

impl Kind {
    /// Every kind, in the order of its number on the wire.
    pub const ALL: [Self; 9] = [
        Self::TakeToken,
        Self::TokenIsHere,
        Self::Ping,
        Self::TokenWasHereRecently,
        Self::WhereIsToken,
        Self::GeneratingToken,
        Self::RingMembers,
        Self::WantToken,
        Self::Leaving,
    ];

    /// The kind with this number on the wire.
    #[must_use]
    pub const fn from_wire(kind: u8) -> Option<Self> {
        match kind {
            1..=9 => Some(Self::ALL[kind as usize - 1]),
            _ => None,
        }
    }

    /// The name as the protocol's document spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TakeToken => "TAKE_TOKEN",
            Self::TokenIsHere => "TOKEN_IS_HERE",
            Self::Ping => "PING",
            Self::TokenWasHereRecently => "TOKEN_WAS_HERE_RECENTLY",
            Self::WhereIsToken => "WHERE_IS_TOKEN",
            Self::GeneratingToken => "GENERATING_TOKEN",
            Self::RingMembers => "RING_MEMBERS",
            Self::WantToken => "WANT_TOKEN",
            Self::Leaving => "LEAVING",
        }
    }
}

/// One message, its variable parts borrowed from the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// Kind 1.
    TakeToken {
        /// The token offered.
        token: Token,
        /// The author's table.
        digest: Digest,
        /// The application's data.
        data: &'a [u8],
    },
    /// Kind 2.
    TokenIsHere {
        /// The token held.
        token: Token,
        /// The author's table.
        digest: Digest,
        /// The application's data.
        data: &'a [u8],
    },
    /// Kind 3.
    Ping {
        /// The author's table.
        digest: Digest,
        /// The author's own ip.
        ip: [u8; 16],
    },
    /// Kind 4.
    TokenWasHereRecently {
        /// The strongest token that the author knows.
        token: Token,
        /// Who held it.
        holder: MacAddr,
    },
    /// Kind 5.
    WhereIsToken,
    /// Kind 6.
    GeneratingToken {
        /// The author's candidate.
        token: Token,
    },
    /// Kind 7.
    RingMembers {
        /// The author's whole table.
        digest: Digest,
        /// The part of it in this frame, at most
        /// [`MAX_MEMBERS_PER_FRAME`](super::MAX_MEMBERS_PER_FRAME).
        members: &'a [Member],
    },
    /// Kind 8.
    WantToken,
    /// Kind 9.
    Leaving,
}

impl Message<'_> {
    /// The message's kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::TakeToken { .. } => Kind::TakeToken,
            Self::TokenIsHere { .. } => Kind::TokenIsHere,
            Self::Ping { .. } => Kind::Ping,
            Self::TokenWasHereRecently { .. } => Kind::TokenWasHereRecently,
            Self::WhereIsToken => Kind::WhereIsToken,
            Self::GeneratingToken { .. } => Kind::GeneratingToken,
            Self::RingMembers { .. } => Kind::RingMembers,
            Self::WantToken => Kind::WantToken,
            Self::Leaving => Kind::Leaving,
        }
    }
}
