//! COORDINATOR_ELECTION, type 6: a message of an election.
//!
//! The payload starts with a header of 4 bytes. The method and the electionType determine the rest of the payload.
//!
//! ```text
//!   at  bytes  field
//!   12      1  method        RING_BASED 1, CHANG_ROBERTS 2, BULLY 3
//!   13      1  electionType  ELECTION 1, COORDINATOR 2, OK 3 (only BULLY)
//!   14      2  reserved      0
//!   16         rest
//! ```
//!
//! | | ELECTION | COORDINATOR | OK |
//! |---|---|---|---|
//! | RING_BASED | count `u32`, ids `u32`… | coordinatorId `u32` | |
//! | CHANG_ROBERTS | candidate `u32` | coordinatorId `u32` | |
//! | BULLY | empty | coordinatorId `u32` | empty |
//!
//! # Example: RING_BASED ELECTION
//! ```
//! use ring_codec::andrews::{Election, Frame, Message};
//! use ring_codec::U32;
//!
//! let bytes = hex_literal::hex!(
//!     "01 06 0000" // version, type, reserved
//!     "00000006 00000010" // srcId, payloadLen
//!     "01 01 0000" // method, electionType, reserved
//!     "00000002" // count
//!     "00000004 00000006" // ids
//! );
//! let ids = [U32::new(4), U32::new(6)];
//! let election = Election::RingBased { ids: &ids };
//! let message = Message::CoordinatorElection { election };
//! let frame = Frame { src_id: 6, message };
//! assert_eq!(Frame::decode_datagram(&bytes)?, frame);
//! # let mut buf = [0xaa; 64];
//! # let len = frame.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! # Example: RING_BASED COORDINATOR
//! ```
//! use ring_codec::andrews::{Election, Frame, Message, Method};
//!
//! let bytes = hex_literal::hex!(
//!     "01 06 0000" // version, type, reserved
//!     "00000004 00000008" // srcId, payloadLen
//!     "01 02 0000" // method, electionType, reserved
//!     "00000008" // coordinatorId
//! );
//! let election = Election::Coordinator { method: Method::RingBased, coordinator_id: 8 };
//! let message = Message::CoordinatorElection { election };
//! let frame = Frame { src_id: 4, message };
//! assert_eq!(Frame::decode_datagram(&bytes)?, frame);
//! # let mut buf = [0xaa; 64];
//! # let len = frame.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! # Example: CHANG_ROBERTS ELECTION
//! ```
//! use ring_codec::andrews::{Election, Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "01 06 0000" // version, type, reserved
//!     "00000007 00000008" // srcId, payloadLen
//!     "02 01 0000" // method, electionType, reserved
//!     "00000008" // candidate
//! );
//! let election = Election::ChangRoberts { candidate: 8 };
//! let message = Message::CoordinatorElection { election };
//! let frame = Frame { src_id: 7, message };
//! assert_eq!(Frame::decode_datagram(&bytes)?, frame);
//! # let mut buf = [0xaa; 64];
//! # let len = frame.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! # Example: CHANG_ROBERTS COORDINATOR
//! ```
//! use ring_codec::andrews::{Election, Frame, Message, Method};
//!
//! let bytes = hex_literal::hex!(
//!     "01 06 0000" // version, type, reserved
//!     "00000004 00000008" // srcId, payloadLen
//!     "02 02 0000" // method, electionType, reserved
//!     "00000008" // coordinatorId
//! );
//! let election = Election::Coordinator { method: Method::ChangRoberts, coordinator_id: 8 };
//! let message = Message::CoordinatorElection { election };
//! let frame = Frame { src_id: 4, message };
//! assert_eq!(Frame::decode_datagram(&bytes)?, frame);
//! # let mut buf = [0xaa; 64];
//! # let len = frame.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! # Example: BULLY ELECTION
//! ```
//! use ring_codec::andrews::{Election, Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "01 06 0000" // version, type, reserved
//!     "00000004 00000004" // srcId, payloadLen
//!     "03 01 0000" // method, electionType, reserved
//! );
//! let election = Election::Bully;
//! let message = Message::CoordinatorElection { election };
//! let frame = Frame { src_id: 4, message };
//! assert_eq!(Frame::decode_datagram(&bytes)?, frame);
//! # let mut buf = [0xaa; 64];
//! # let len = frame.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! # Example: BULLY COORDINATOR
//! ```
//! use ring_codec::andrews::{Election, Frame, Message, Method};
//!
//! let bytes = hex_literal::hex!(
//!     "01 06 0000" // version, type, reserved
//!     "00000007 00000008" // srcId, payloadLen
//!     "03 02 0000" // method, electionType, reserved
//!     "00000007" // coordinatorId
//! );
//! let election = Election::Coordinator { method: Method::Bully, coordinator_id: 7 };
//! let message = Message::CoordinatorElection { election };
//! let frame = Frame { src_id: 7, message };
//! assert_eq!(Frame::decode_datagram(&bytes)?, frame);
//! # let mut buf = [0xaa; 64];
//! # let len = frame.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! # Example: BULLY OK
//! ```
//! use ring_codec::andrews::{Election, Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "01 06 0000" // version, type, reserved
//!     "00000006 00000004" // srcId, payloadLen
//!     "03 03 0000" // method, electionType, reserved
//! );
//! let election = Election::BullyOk;
//! let message = Message::CoordinatorElection { election };
//! let frame = Frame { src_id: 6, message };
//! assert_eq!(Frame::decode_datagram(&bytes)?, frame);
//! # let mut buf = [0xaa; 64];
//! # let len = frame.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::U16;

use super::election::{COORDINATOR, ELECTION, Election, Method, OK};
use super::{HEADER_LEN, MAX_IDS, payload};
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, Problem, U32};

layout! {
    /// The header inside the payload, 4 bytes.
    struct ElectionLayout {
        method: u8 = Method,
        election_type: u8 = ElectionType,
        reserved: U16 = Reserved,
    }
}

layout! {
    /// The count that precedes the ids in a RING_BASED ELECTION.
    struct CountLayout {
        count: U32 = Count,
    }
}

layout! {
    /// The part of a CHANG_ROBERTS ELECTION that follows the payload's header.
    struct CandidateLayout {
        candidate: U32 = Candidate,
    }
}

layout! {
    /// The part of a COORDINATOR message that follows the payload's header. All methods use this layout.
    struct CoordinatorLayout {
        coordinator_id: U32 = CoordinatorId,
    }
}

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<Election<'a>, DecodeError> {
    let header: &ElectionLayout = payload::view(reader)?;
    let unknown_value = |field, at, value: u8| {
        let value = value.into();
        DecodeError::new(field, HEADER_LEN + at, Problem::Unknown { value })
    };
    let Some(method) = Method::from_wire(header.method) else {
        return Err(unknown_value(Field::Method, 0, header.method));
    };
    let is_known = match header.election_type {
        ELECTION | COORDINATOR => true,
        other => other == OK && method == Method::Bully,
    };
    if !is_known {
        return Err(unknown_value(Field::ElectionType, 1, header.election_type));
    }
    if header.reserved != 0 {
        let value = header.reserved.get().into();
        let problem = Problem::Reserved { value };
        return Err(DecodeError::new(Field::Reserved, HEADER_LEN + 2, problem));
    }
    let election = match (header.election_type, method) {
        (ELECTION, Method::RingBased) => {
            let ids = read_ids(reader)?;
            Election::RingBased { ids }
        }
        (ELECTION, Method::ChangRoberts) => {
            let body: &CandidateLayout = payload::view(reader)?;
            let candidate = body.candidate.get();
            Election::ChangRoberts { candidate }
        }
        (ELECTION, Method::Bully) => Election::Bully,
        (COORDINATOR, method) => {
            let body: &CoordinatorLayout = payload::view(reader)?;
            let coordinator_id = body.coordinator_id.get();
            Election::Coordinator {
                method,
                coordinator_id,
            }
        }
        _ => Election::BullyOk,
    };
    Ok(election)
}

fn read_ids<'a>(reader: &mut Reader<'a>) -> Result<&'a [U32], DecodeError> {
    let offset = reader.offset();
    let count = payload::view::<CountLayout>(reader)?.count.get() as usize;
    if count > MAX_IDS {
        let (value, max) = (count as u64, MAX_IDS as u64);
        let problem = Problem::TooLarge { value, max };
        return Err(DecodeError::new(Field::Count, offset, problem));
    }
    let end = reader.offset() + count * size_of::<U32>();
    payload::require_end(reader, end as u64)?;
    reader.views(Field::Ids, count)
}

pub(super) fn write(writer: &mut Writer<'_>, election: Election<'_>) {
    writer.layout(&ElectionLayout {
        method: election.method() as u8,
        election_type: election.election_type(),
        reserved: 0.into(),
    });
    match election {
        Election::RingBased { ids } => {
            writer.require_len(Field::Ids, ids.len(), MAX_IDS);
            let count = u32::try_from(ids.len()).unwrap_or(u32::MAX).into();
            writer.layout(&CountLayout { count });
            writer.layout(ids);
        }
        Election::ChangRoberts { candidate } => {
            let candidate = candidate.into();
            writer.layout(&CandidateLayout { candidate });
        }
        Election::Coordinator { coordinator_id, .. } => {
            let coordinator_id = coordinator_id.into();
            writer.layout(&CoordinatorLayout { coordinator_id });
        }
        Election::Bully | Election::BullyOk => {}
    }
}
