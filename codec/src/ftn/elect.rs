//! ELECT, type 33, between servers: the sender looks for a leader (not in the FTN documents).
//!
//! The server with the largest `seq` becomes the leader. If several servers have the same largest `seq`, the server
//! with the lowest index becomes the leader.
//!
//! ```text
//!   seq     2 longs  seq of the latest STATE that the sender knows; 0 for none
//!   leader  int      index of the server for which the sender votes; -1 for none
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "21 02 01 84d2" // type, from, to, ssig
//!     "02 09" // seq: configuration, round
//!     "01" // leader
//! );
//! let header = Header { from: 2, to: 1, ssig: 1234 };
//! let message = Message::Elect { seq: 2 << 32 | 9, leader: 1 };
//! let datagram = Datagram::new(header, message);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::wire;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

pub(super) fn read(reader: &mut Reader<'_>) -> Result<(i128, i32), DecodeError> {
    Ok((wire::seq(reader)?, wire::int(reader, Field::Leader)?))
}

pub(super) fn write(writer: &mut Writer<'_>, seq: i128, leader: i32) {
    wire::put_seq(writer, seq);
    wire::put(writer, leader);
}
