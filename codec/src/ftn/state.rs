//! STATE, type 31, from the leader to the servers: the state of the group, and a sign of life (not in the FTN
//! documents).
//!
//! The leader takes a client's address from the source address of the client's datagrams. The other servers send their
//! questions to that address.
//!
//! ```text
//!   seq      2 longs   configuration and round; grows with every round, so that a late message changes nothing
//!   leader   long      number of the configuration, which names the leader
//!   sstates  int[]     state of every server: 0 DOWN, 1 BOOTING, 2 READY
//!   clients  client[]  all sessions; a client is id int, address string
//! ```
//!
//! # Example
//! ```
//! use ring_codec::ftn::{ListedSession, Datagram, Header, Message, ServerState};
//!
//! let bytes = hex_literal::hex!(
//!     "1f 00 01 84d2" // type, from, to, ssig
//!     "02 09" // seq: configuration, round
//!     "02" // leader
//!     "03 02 01 00" // sstates: 3 of them, READY, BOOTING, DOWN
//!     "01" // clients: 1 of them
//!     "83e8 0e 3139322e302e322e373a34313030" // id, address
//! );
//! let sstates = [ServerState::Ready, ServerState::Booting, ServerState::Down];
//! let clients = [ListedSession { id: 1000, address: b"192.0.2.7:4100" }];
//! let header = Header { from: 0, to: 1, ssig: 1234 };
//! let message = Message::State {
//!     seq: 2 << 32 | 9,
//!     leader: 2,
//!     sstates: sstates[..].into(),
//!     clients: clients[..].into(),
//! };
//! let datagram = Datagram::new(header, message);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::value::{array, put_array};
use super::{ListedSession, ServerState, wire};
use crate::list::List;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field};

pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
) -> Result<
    (
        i128,
        i64,
        List<'a, ServerState>,
        List<'a, ListedSession<'a>>,
    ),
    DecodeError,
> {
    Ok((
        wire::seq(reader)?,
        wire::long(reader, Field::Leader)?,
        array(reader, Field::Sstates)?,
        array(reader, Field::Clients)?,
    ))
}

pub(super) fn write(
    writer: &mut Writer<'_>,
    seq: i128,
    leader: i64,
    sstates: List<'_, ServerState>,
    clients: List<'_, ListedSession<'_>>,
) {
    wire::put_seq(writer, seq);
    wire::put(writer, leader);
    put_array(writer, Field::Sstates, sstates);
    put_array(writer, Field::Clients, clients);
}
