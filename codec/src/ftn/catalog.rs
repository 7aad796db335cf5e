//! CATALOG, type 13, from a client: lists the client's tokens for which the recipient is responsible.
//!
//! A client that receives a CONFIG without having asked for it answers with a CATALOG.
//!
//! ```text
//!   holdings  token[]  the tokens; a token is two strings: name, data
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "0d 83e8 00 84d2" // type, from, to, ssig
//!     "01" // holdings: 1 of them
//!     "05 737761726d 01 78" // name, data
//! );
//! let holdings = [Token { name: b"swarm", data: b"x" }];
//! let header = Header { from: 1000, to: 0, ssig: 1234 };
//! let message = Message::Catalog { holdings: holdings[..].into() };
//! let datagram = Datagram::new(header, message);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Token;
use super::value::{array, put_array};
use crate::list::List;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<List<'a, Token<'a>>, DecodeError> {
    array(reader, Field::Holdings)
}

pub(super) fn write(writer: &mut Writer<'_>, holdings: List<'_, Token<'_>>) {
    put_array(writer, Field::Holdings, holdings);
}
