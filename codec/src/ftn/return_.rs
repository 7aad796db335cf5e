//! RETURN, type 24, from a client: sets the data of a token, gives the token up, or both.
//!
//! The client repeats the RETURN until it receives a CONFIRM.
//!
//! ```text
//!   msgnum  long   number of the message at the client
//!   t       token  name string, data string
//!   flags   int    1 UPDATE, 2 DEASSIGN, 3 both
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Flags, Header, Message, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "18 83e8 00 84d2" // type, from, to, ssig
//!     "911171" // msgnum
//!     "05 737761726d 01 78" // t: name, data
//!     "03" // flags
//! );
//! let token = Token { name: b"swarm", data: b"x" };
//! let header = Header { from: 1000, to: 0, ssig: 1234 };
//! let message = Message::Return { msgnum: 70_001, token, flags: Flags::Both };
//! let datagram = Datagram::new(header, message);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Flags, Token, wire};
use crate::list::Item;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<(i64, Token<'a>, Flags), DecodeError> {
    Ok((
        wire::long(reader, Field::Msgnum)?,
        Token::read(reader)?,
        Flags::read_field(reader, Field::Flags)?,
    ))
}

pub(super) fn write(writer: &mut Writer<'_>, msgnum: i64, token: Token<'_>, flags: Flags) {
    wire::put(writer, msgnum);
    token.write(writer);
    flags.put(writer);
}
