//! GRANT, type 22, from a server: assigns a token.
//!
//! A client may receive the same GRANT twice.
//!
//! ```text
//!   msgnum  long   msgnum of the REQUEST
//!   t       token  name string, data string
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "16 00 83e8 84d2" // type, from, to, ssig
//!     "911170" // msgnum
//!     "05 737761726d 01 78" // t: name, data
//! );
//! let token = Token { name: b"swarm", data: b"x" };
//! let header = Header { from: 0, to: 1000, ssig: 1234 };
//! let message = Message::Grant { msgnum: 70_000, token };
//! let datagram = Datagram::new(header, message);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Token, wire};
use crate::list::Item;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<(i64, Token<'a>), DecodeError> {
    Ok((wire::long(reader, Field::Msgnum)?, Token::read(reader)?))
}

pub(super) fn write(writer: &mut Writer<'_>, msgnum: i64, token: Token<'_>) {
    wire::put(writer, msgnum);
    token.write(writer);
}
