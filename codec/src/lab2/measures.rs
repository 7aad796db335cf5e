//! MEASURES, kind 17: results of a measurement, from one member to the surveyor.
//!
//! Each row describes the probes between the author and one other member. A member with many rows sends several frames.
//! A node that does not know this kind may ignore it.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 17
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      8  serial            u64, of the survey
//!   30      8  lateness          u64, nanoseconds: the longest delay of the author's probes
//!   38      2  largeLen          u16, the length of the author's large probes, in bytes
//!   40      1  broadcastsSent    u8, the number of the author's broadcasts
//!   41      1  rows              u8, the number of rows in all frames
//!   42      2  rowCount          u16, at most 48: the number of rows in this frame
//!   44 29 each peerMAC[6], a unicast address; sent, answered, arrived, largeSent, largeAnswered, largeArrived,
//!              broadcastsArrived, each a u8; shortest, mean, longest, jitter, each a u32 in nanoseconds
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "020000000001 020000000002 88b5"        // destination, source, EtherType
//!     "11 00 020000000002"                    // kind, reserved, messageAuthorMAC
//!     "0000000000000007 000000000016e360"     // serial, lateness: 1.5 ms
//!     "05d0 1e 01 0001"                       // largeLen: 1488, broadcastsSent: 30, rows, rowCount
//!     "020000000003"                          // peerMAC
//!     "1e 1d 1e 0a 0a 0a 1c"                  // the counts
//!     "0000c350 0000ea60 00030d40 00002710"   // shortest: 50 us, mean: 60 us, longest: 200 us, jitter: 10 us
//! );
//! let frame = Frame::decode(&bytes)?;
//! let Message::Measures { serial: 7, rows: 1, measures: [row], .. } = frame.message else {
//!     panic!("{frame:?}");
//! };
//! assert_eq!(row.peer, MacAddr([2, 0, 0, 0, 0, 3]));
//! assert_eq!((row.sent, row.answered, row.arrived), (30, 29, 30));
//! assert_eq!((row.shortest.get(), row.jitter.get()), (50_000, 10_000));
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::{U16, U32, U64};

use super::MEASURES_PER_FRAME_MAX;
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, MacAddr, Problem};

layout! {
    /// The part of MEASURES before the rows, 22 bytes.
    struct MeasuresLayout {
        serial: U64 = Serial,
        lateness: U64 = Lateness,
        large_len: U16 = LargeLen,
        broadcasts_sent: u8 = BroadcastsSent,
        rows: u8 = Rows,
        row_count: U16 = RowCount,
    }
}

layout! {
    /// The probes between the author of the frame and one other member. The times are nanoseconds, and 0 if no probe
    /// was answered. If a time is too long for its field, the field contains its largest number.
    #[derive(serde::Serialize, serde::Deserialize)]
    pub struct Measure {
        /// The other member, a unicast address.
        pub peer: MacAddr = PeerMAC,
        /// The number of small probes that the author sent to the other member.
        pub sent: u8 = Sent,
        /// The number of the author's small probes that the other member answered.
        pub answered: u8 = Answered,
        /// The number of small probes of the other member that arrived.
        pub arrived: u8 = Arrived,
        /// The number of large probes that the author sent to the other member.
        pub large_sent: u8 = LargeSent,
        /// The number of the author's large probes that the other member answered.
        pub large_answered: u8 = LargeAnswered,
        /// The number of large probes of the other member that arrived.
        pub large_arrived: u8 = LargeArrived,
        /// The number of broadcasts of the other member that arrived.
        pub broadcasts_arrived: u8 = BroadcastsArrived,
        /// The shortest time from a small probe to its answer.
        #[serde(with = "number")]
        pub shortest: U32 = Shortest,
        /// The mean time from a small probe to its answer.
        #[serde(with = "number")]
        pub mean: U32 = Mean,
        /// The longest time from a small probe to its answer.
        #[serde(with = "number")]
        pub longest: U32 = Longest,
        /// The mean difference between the times of successive small probes.
        #[serde(with = "number")]
        pub jitter: U32 = Jitter,
    }
}

/// Serializes a number of a layout. The type of the number has no serde support.
mod number {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::U32;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub(super) fn serialize<S: Serializer>(number: &U32, serializer: S) -> Result<S::Ok, S::Error> {
        number.get().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<U32, D::Error> {
        u32::deserialize(deserializer).map(U32::new)
    }
}

type Fields<'a> = (u64, u64, u16, u8, u8, &'a [Measure]);

#[inline]
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<Fields<'a>, DecodeError> {
    let head: &MeasuresLayout = reader.view()?;
    let first = reader.offset();
    let count = usize::from(head.row_count.get());
    if count > MEASURES_PER_FRAME_MAX {
        let (value, max) = (count as u64, MEASURES_PER_FRAME_MAX as u64);
        let problem = Problem::TooLarge { value, max };
        return Err(DecodeError::new(Field::RowCount, first - 2, problem));
    }
    let measures: &[Measure] = reader.views(Field::Measures, count)?;
    if let Some(bad) = measures.iter().position(|row| !row.peer.is_unicast()) {
        let offset = first + bad * size_of::<Measure>();
        return Err(DecodeError::new(
            Field::PeerMAC,
            offset,
            Problem::NotUnicast,
        ));
    }
    Ok((
        head.serial.get(),
        head.lateness.get(),
        head.large_len.get(),
        head.broadcasts_sent,
        head.rows,
        measures,
    ))
}

#[inline]
pub(super) fn write(
    writer: &mut Writer<'_>,
    serial: u64,
    lateness: u64,
    large_len: u16,
    broadcasts_sent: u8,
    rows: u8,
    measures: &[Measure],
) {
    writer.require_len(Field::Measures, measures.len(), MEASURES_PER_FRAME_MAX);
    writer.require(
        measures.iter().all(|row| row.peer.is_unicast()),
        Field::PeerMAC,
    );
    writer.layout(&MeasuresLayout {
        serial: serial.into(),
        lateness: lateness.into(),
        large_len: large_len.into(),
        broadcasts_sent,
        rows,
        row_count: u16::try_from(measures.len()).unwrap_or(u16::MAX).into(),
    });
    writer.layout(measures);
}
