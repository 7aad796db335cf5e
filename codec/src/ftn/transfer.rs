//! TRANSFER, type 34, between servers: tokens for which the recipient is responsible from now on (not in the FTN
//! documents).
//!
//! The sender no longer serves these tokens. A TRANSFER without tokens consists of one part without assignments. The
//! sender repeats each part until it is acknowledged.
//!
//! ```text
//!   msgnum       long          number of the transfer, the same in all its parts
//!   part         int           number of this part, from 0
//!   parts        int           number of parts
//!   assignments  assignment[]
//!
//!   assignment:
//!   t            token         name string, data string
//!   access       int           0 not held, 1 shared, -1 exclusive
//!   holders      int[]         ids of the sessions: none, at least one, exactly one
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Assignment, Datagram, Header, Holders, Message, Token};
//!
//! let bytes = hex_literal::hex!(
//!     "22 00 01 84d2" // type, from, to, ssig
//!     "05" // msgnum
//!     "00 01" // part, parts
//!     "02" // assignments: 2 of them
//!     "05 737761726d 01 78" // t: name, data
//!     "7f 01 83e8" // access: exclusive, holders: 1 of them
//!     "04 69646c65 00" // t: name, data
//!     "00 00" // access: nobody, holders: none
//! );
//! let assignments = [
//!     Assignment {
//!         token: Token { name: b"swarm", data: b"x" },
//!         holders: Holders::Exclusive(1000),
//!     },
//!     Assignment {
//!         token: Token { name: b"idle", data: b"" },
//!         holders: Holders::Nobody,
//!     },
//! ];
//! let header = Header { from: 0, to: 1, ssig: 1234 };
//! let message = Message::Transfer {
//!     msgnum: 5,
//!     part: 0,
//!     parts: 1,
//!     assignments: assignments[..].into(),
//! };
//! let datagram = Datagram::new(header, message);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::value::{array, put_array};
use super::{Assignment, wire};
use crate::list::List;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
) -> Result<(i64, i32, i32, List<'a, Assignment<'a>>), DecodeError> {
    let msgnum = wire::long(reader, Field::Msgnum)?;
    let (part, parts) = wire::part(reader)?;
    Ok((msgnum, part, parts, array(reader, Field::Assignments)?))
}

pub(super) fn write(
    writer: &mut Writer<'_>,
    msgnum: i64,
    part: i32,
    parts: i32,
    assignments: List<'_, Assignment<'_>>,
) {
    wire::put(writer, msgnum);
    wire::put_part(writer, part, parts);
    put_array(writer, Field::Assignments, assignments);
}
