//! CONFIG, type 12, from a server: the configuration of the group.
//!
//! The head's `to` is the id of the client's session, or 0 if the CONFIG is for no session.
//!
//! ```text
//!   leader   long   the configuration's number, which names the leading server
//!   sstates  int[]  state of every server: 0 DOWN, 1 BOOTING, 2 READY
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message, ServerState};
//!
//! let bytes = hex_literal::hex!(
//!     "0c 00 83e8 84d2" // type, from, to, ssig
//!     "00" // leader
//!     "03 02 01 00" // sstates: 3 of them, READY, BOOTING, DOWN
//! );
//! let sstates = [ServerState::Ready, ServerState::Booting, ServerState::Down];
//! let header = Header { from: 0, to: 1000, ssig: 1234 };
//! let message = Message::Config { leader: 0, sstates: sstates[..].into() };
//! let datagram = Datagram::new(header, message);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::value::{array, put_array};
use super::{ServerState, wire};
use crate::list::List;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
) -> Result<(i64, List<'a, ServerState>), DecodeError> {
    Ok((
        wire::long(reader, Field::Leader)?,
        array(reader, Field::Sstates)?,
    ))
}

pub(super) fn write(writer: &mut Writer<'_>, leader: i64, sstates: List<'_, ServerState>) {
    wire::put(writer, leader);
    put_array(writer, Field::Sstates, sstates);
}
