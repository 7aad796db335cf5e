//! Options of the sender of CONFIG, STATE, HEARTBEAT or ELECT, after the message (not in the FTN documents).
//!
//! The options are the trailer of the datagram. An implementation that does not announce its options sends no trailer.
//!
//! ```text
//!   client_timeout  long  microseconds of silence after which the sender ends a session; after CONFIG the
//!                         shortest of all servers that it knows of
//!   quorum          int   servers that must acknowledge the sender to give it authority as the leader
//!   heartbeat       long  microseconds; this field and the next two are not sent after CONFIG
//!   server_timeout  long  microseconds
//!   grace           long  microseconds
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message, ServerTerms, ServerState, Terms};
//!
//! let bytes = hex_literal::hex!(
//!     "20 01 00 84d2" // type, from, to, ssig
//!     "02 09 01" // seq: configuration, round; sstate
//!     "a0e4e1c0 02" // client_timeout 15 s, quorum
//!     "a00f4240 a03d0900 00" // heartbeat 1 s, server_timeout 4 s, grace none
//! );
//! let pace = ServerTerms { heartbeat: 1_000_000, server_timeout: 4_000_000, grace: 0 };
//! let terms = Terms { client_timeout: 15_000_000, quorum: 2, pace: Some(pace) };
//! let header = Header { from: 1, to: 0, ssig: 1234 };
//! let message = Message::Heartbeat { seq: 2 << 32 | 9, sstate: ServerState::Booting };
//! let datagram = Datagram::new(header, message).with_terms(terms);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Kind, wire};
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

/// Options that a server announces. Times are in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Terms {
    /// Silence after which the server ends a session.
    pub client_timeout: i64,
    /// Number of servers that must acknowledge this server before it has authority as the leader.
    pub quorum: i32,
    /// Options that only servers receive.
    pub pace: Option<ServerTerms>,
}

/// Options that only servers receive. Times are in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServerTerms {
    /// Period of the leader's STATE.
    pub heartbeat: i64,
    /// Silence after which a server is DOWN.
    pub server_timeout: i64,
    /// Time during which a leader without a recent state (a cold leader) accepts sessions of an earlier run.
    pub grace: i64,
}

/// Returns whether the trailer of a message type contains the options that only servers receive (`pace`). Returns
/// `None` if the type has no trailer.
const fn has_pace(kind: Kind) -> Option<bool> {
    match kind {
        Kind::Config => Some(false),
        Kind::State | Kind::Heartbeat | Kind::Elect => Some(true),
        _ => None,
    }
}

impl Terms {
    /// Returns the options that belong to a message of this type, or `None` if messages of this type have no trailer.
    pub const fn for_kind(self, kind: Kind) -> Option<Self> {
        match has_pace(kind) {
            None => None,
            Some(true) => Some(self),
            Some(false) => Some(Self { pace: None, ..self }),
        }
    }

    pub(super) fn read(kind: Kind, reader: &mut Reader<'_>) -> Result<Option<Self>, DecodeError> {
        let Some(has_pace) = has_pace(kind).filter(|_| !reader.rest().is_empty()) else {
            return Ok(None);
        };
        let client_timeout = wire::long(reader, Field::ClientTimeout)?;
        let quorum = wire::int(reader, Field::Quorum)?;
        let pace = if has_pace {
            Some(ServerTerms {
                heartbeat: wire::long(reader, Field::Heartbeat)?,
                server_timeout: wire::long(reader, Field::ServerTimeout)?,
                grace: wire::long(reader, Field::Grace)?,
            })
        } else {
            None
        };
        Ok(Some(Self {
            client_timeout,
            quorum,
            pace,
        }))
    }

    pub(super) fn write(self, writer: &mut Writer<'_>) {
        wire::put(writer, self.client_timeout);
        wire::put(writer, self.quorum);
        if let Some(pace) = self.pace {
            wire::put(writer, pace.heartbeat);
            wire::put(writer, pace.server_timeout);
            wire::put(writer, pace.grace);
        }
    }
}
