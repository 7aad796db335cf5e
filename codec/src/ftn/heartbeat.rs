//! HEARTBEAT, type 32, from a server to the leader: a sign of life (not in the FTN documents).
//!
//! A HEARTBEAT announces the server's state, for example BOOTING after a start and then READY.
//!
//! ```text
//!   seq     2 longs  seq of the latest STATE that the sender has followed; 0 for none
//!   sstate  int      0 DOWN, 1 BOOTING, 2 READY
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message, ServerState};
//!
//! let bytes = hex_literal::hex!(
//!     "20 01 00 84d2" // type, from, to, ssig
//!     "02 09" // seq: configuration, round
//!     "01" // sstate: BOOTING
//! );
//! let header = Header { from: 1, to: 0, ssig: 1234 };
//! let message = Message::Heartbeat { seq: 2 << 32 | 9, sstate: ServerState::Booting };
//! let datagram = Datagram::new(header, message);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{ServerState, wire};
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

pub(super) fn read(reader: &mut Reader<'_>) -> Result<(i128, ServerState), DecodeError> {
    Ok((
        wire::seq(reader)?,
        ServerState::read_field(reader, Field::Sstate)?,
    ))
}

pub(super) fn write(writer: &mut Writer<'_>, seq: i128, sstate: ServerState) {
    wire::put_seq(writer, seq);
    sstate.put(writer);
}
