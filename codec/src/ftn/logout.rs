//! LOGOUT, type 15, from a client: ends its session.
//!
//! It has no fields but the head.
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "0f 83e8 00 84d2" // type, from, to, ssig
//! );
//! let header = Header { from: 1000, to: 0, ssig: 1234 };
//! let message = Message::Logout;
//! let datagram = Datagram::new(header, message);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Message;
use crate::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

// The table calls every message alike; this one has no fields that could be wrong.
#[expect(clippy::unnecessary_wraps)]
pub(super) fn read<'a>(_: &mut Reader<'a>) -> Result<Message<'a>, DecodeError> {
    Ok(Message::Logout)
}

pub(super) fn write(_: &mut Writer<'_>) {}
