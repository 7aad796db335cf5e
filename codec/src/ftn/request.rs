//! REQUEST, type 21, from a client: asks for a token.
//!
//! The client repeats the REQUEST until it receives a GRANT.
//!
//! ```text
//!   msgnum  long   number of the message at the client
//!   t       token  name string, data string (ignored, or asks for a fencing number)
//!   access  int    1 shared, -1 exclusive
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Access, Datagram, Header, Message, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "15 83e8 00 84d2" // type, from, to, ssig
//!     "911170" // msgnum
//!     "05 737761726d 00" // t: name, data
//!     "7f" // access
//! );
//! let token = Token { name: b"swarm", data: b"" };
//! let header = Header { from: 1000, to: 0, ssig: 1234 };
//! let message = Message::Request { msgnum: 70_000, token, access: Access::Exclusive };
//! let datagram = Datagram::new(header, message);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Access, Token, wire};
use crate::list::Item;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<(i64, Token<'a>, Access), DecodeError> {
    Ok((
        wire::long(reader, Field::Msgnum)?,
        Token::read(reader)?,
        Access::read_field(reader, Field::Access)?,
    ))
}

pub(super) fn write(writer: &mut Writer<'_>, msgnum: i64, token: Token<'_>, access: Access) {
    wire::put(writer, msgnum);
    token.write(writer);
    access.put(writer);
}
