//! REPORT, kind 15: the answer to [SURVEY](super::survey), with the condition of the author's node.
//!
//! The text contains the worst troubles of the node as sentences, each on its own line. A node that does not know this
//! kind may ignore it.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 15
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//!   22      8  serial            u64, of the survey
//!   30      8  up                u64, nanoseconds since the author's start
//!   38      8  wall              u64, the author's wall clock in nanoseconds since 1970
//!   46      8  lateness          u64, nanoseconds: the longest delay of the author's event loop since its start
//!   54      8  held              u64, nanoseconds since a program got the author's token; 2^64-1: no program holds it
//!   62      1  nodeState         0 OWNER, 1 WAITER, 2 LOOSER, 3 GENERATING
//!   63      1  nodeGrade         0 alone, 1 all-heard, 2 quorum
//!   64      1  health            0 healthy, 1 degraded, 2 critical
//!   65      1  busy              1: the author refuses to measure, because it measured a short time ago; else 0
//!   66      1  requiredGrade     the lowest grade that the author grants: 0 alone, 1 all-heard, 2 quorum
//!   67      1  troubleCount      u8, the number of the author's troubles
//!   68      1  holderLen         u8, at most 64
//!   69      2  troublesLen       u16, at most 700
//!   71         holderName        the label of the program that holds the token, in UTF-8
//!              troubles          lines of UTF-8 without other control characters
//! ```
//!
//! # Example
//! ```
//! use ring_codec::lab2::{self, Frame, Message, Work};
//!
//! let bytes = hex_literal::hex!(
//!     "020000000001 020000000002 88b5"     // destination, source, EtherType
//!     "0f 00 020000000002"                 // kind, reserved, messageAuthorMAC
//!     "0000000000000007"                   // serial
//!     "000000df84758000 18b0a2c5a4f00000"  // up: 960 s, wall
//!     "00000000004c4b40"                   // lateness: 5 ms
//!     "000000003b9aca00"                   // held: 1 s
//!     "00 02 01 00 02 01"                  // OWNER, quorum, degraded, not busy, requires quorum, one trouble
//!     "06 0007"                            // holderLen, troublesLen
//!     "6261636b7570"                       // holderName: backup
//!     "70617573656421"                     // troubles: paused!
//! );
//! let frame = Frame::decode(&bytes)?;
//! let Message::Report { serial: 7, report } = frame.message else {
//!     panic!("{frame:?}");
//! };
//! assert_eq!((report.state, report.grade, report.health), (0, 2, 1));
//! assert_eq!(report.required_grade, 2);
//! assert_eq!(report.holder, Some(Work { held: 1_000_000_000, program: "backup" }));
//! assert_eq!(report.troubles, "paused!");
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use zerocopy::byteorder::network_endian::{U16, U64};

use super::card::{MAX_PROGRAM_LEN, Work};
use crate::layout::layout;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, Problem};

/// The longest text of the troubles, in bytes.
pub const TROUBLES_LEN_MAX: usize = 700;
/// The value of `held` if no program holds the token.
const NOT_HELD: u64 = u64::MAX;
/// The largest values of the five numbers in the order of their fields: state, grade, health, busy, required grade.
const CODES_MAX: [u8; 5] = [3, 2, 2, 1, 2];
const CODE_FIELDS: [Field; 5] = [
    Field::NodeState,
    Field::NodeGrade,
    Field::Health,
    Field::Busy,
    Field::RequiredGrade,
];
/// Offset of the first of the five numbers in the layout, in bytes.
const CODES_AT: usize = 40;

layout! {
    /// The part of REPORT before the texts, 49 bytes.
    struct ReportLayout {
        serial: U64 = Serial,
        up: U64 = Up,
        wall: U64 = Wall,
        lateness: U64 = Lateness,
        held: U64 = Held,
        state: u8 = NodeState,
        grade: u8 = NodeGrade,
        health: u8 = Health,
        busy: u8 = Busy,
        required_grade: u8 = RequiredGrade,
        trouble_count: u8 = TroubleCount,
        holder_len: u8 = HolderLen,
        troubles_len: U16 = TroublesLen,
    }
}

/// Length of the payload of a REPORT without its texts, in bytes.
pub const REPORT_LEN_BESIDE_TEXTS: usize =
    size_of::<super::parts::HeaderLayout>() + size_of::<ReportLayout>();

/// The condition of a node, as it describes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeReport<'a> {
    /// Nanoseconds since the start of the daemon.
    pub up: u64,
    /// The wall clock in nanoseconds since 1970.
    pub wall: u64,
    /// The longest delay of the event loop since its start, in nanoseconds.
    pub lateness: u64,
    /// The program that holds the node's token; `None` if no program holds it.
    pub holder: Option<Work<'a>>,
    /// The state: 0 OWNER, 1 WAITER, 2 LOOSER, 3 GENERATING.
    pub state: u8,
    /// The grade of the token: 0 `alone`, 1 `all-heard`, 2 `quorum`.
    pub grade: u8,
    /// The health: 0 healthy, 1 degraded, 2 critical.
    pub health: u8,
    /// Whether the node refuses to measure, because it measured a short time ago.
    pub busy: bool,
    /// The lowest grade that the node grants to its programs: 0 `alone`, 1 `all-heard`, 2 `quorum`.
    pub required_grade: u8,
    /// The number of troubles. The text may contain fewer troubles.
    pub trouble_count: u8,
    /// The worst troubles, each on its own line: at most [`TROUBLES_LEN_MAX`] bytes.
    pub troubles: &'a str,
}

/// Whether a text has only printable characters and newlines.
fn is_lines(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() && c != '\n')
}

fn text<'a>(
    reader: &mut Reader<'a>,
    field: Field,
    len: usize,
    is_legal: impl Fn(&str) -> bool,
) -> Result<&'a str, DecodeError> {
    let at = reader.offset();
    let bytes = reader.bytes(field, len)?;
    let text = core::str::from_utf8(bytes).ok().filter(|it| is_legal(it));
    text.ok_or_else(|| {
        let value = bytes.first().copied().unwrap_or_default().into();
        DecodeError::new(field, at, Problem::Illegal { value })
    })
}

#[inline]
pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<(u64, NodeReport<'a>), DecodeError> {
    let start = reader.offset();
    let head: &ReportLayout = reader.view()?;
    let codes = [
        head.state,
        head.grade,
        head.health,
        head.busy,
        head.required_grade,
    ];
    for (at, (code, max)) in codes.into_iter().zip(CODES_MAX).enumerate() {
        if code > max {
            let value = code.into();
            let problem = Problem::Illegal { value };
            return Err(DecodeError::new(
                CODE_FIELDS[at],
                start + CODES_AT + at,
                problem,
            ));
        }
    }
    let lengths: [(_, _, usize, _); 2] = [
        (Field::HolderLen, 6, head.holder_len.into(), MAX_PROGRAM_LEN),
        (
            Field::TroublesLen,
            7,
            head.troubles_len.get().into(),
            TROUBLES_LEN_MAX,
        ),
    ];
    for (field, at, value, max) in lengths {
        if value > max {
            let (value, max) = (value as u64, max as u64);
            let problem = Problem::TooLarge { value, max };
            return Err(DecodeError::new(field, start + CODES_AT + at, problem));
        }
    }
    let held = head.held.get();
    // If no program holds the token, a label is illegal. So each message has only one encoding.
    if held == NOT_HELD && head.holder_len > 0 {
        let value = head.holder_len.into();
        let problem = Problem::Illegal { value };
        return Err(DecodeError::new(
            Field::HolderLen,
            start + CODES_AT + 6,
            problem,
        ));
    }
    let holder_len = head.holder_len.into();
    let holder = text(reader, Field::HolderName, holder_len, |_| true)?;
    let troubles_len = head.troubles_len.get().into();
    let troubles = text(reader, Field::Troubles, troubles_len, is_lines)?;
    let report = NodeReport {
        up: head.up.get(),
        wall: head.wall.get(),
        lateness: head.lateness.get(),
        holder: (held != NOT_HELD).then_some(Work {
            held,
            program: holder,
        }),
        state: head.state,
        grade: head.grade,
        health: head.health,
        busy: head.busy == 1,
        required_grade: head.required_grade,
        trouble_count: head.trouble_count,
        troubles,
    };
    Ok((head.serial.get(), report))
}

#[inline]
pub(super) fn write(writer: &mut Writer<'_>, serial: u64, report: NodeReport<'_>) {
    let codes = [
        report.state,
        report.grade,
        report.health,
        report.busy.into(),
        report.required_grade,
    ];
    for ((code, max), field) in codes.into_iter().zip(CODES_MAX).zip(CODE_FIELDS) {
        writer.require(code <= max, field);
    }
    let work = report.holder.map(|work| (work.held, work.program));
    let (held, holder) = work.unwrap_or((NOT_HELD, ""));
    writer.require(report.holder.is_none() || held != NOT_HELD, Field::Held);
    writer.require_len(Field::HolderName, holder.len(), MAX_PROGRAM_LEN);
    writer.require_len(Field::Troubles, report.troubles.len(), TROUBLES_LEN_MAX);
    writer.require(is_lines(report.troubles), Field::Troubles);
    writer.layout(&ReportLayout {
        serial: serial.into(),
        up: report.up.into(),
        wall: report.wall.into(),
        lateness: report.lateness.into(),
        held: held.into(),
        state: report.state,
        grade: report.grade,
        health: report.health,
        busy: report.busy.into(),
        required_grade: report.required_grade,
        trouble_count: report.trouble_count,
        holder_len: u8::try_from(holder.len()).unwrap_or(u8::MAX),
        troubles_len: u16::try_from(report.troubles.len())
            .unwrap_or(u16::MAX)
            .into(),
    });
    writer.bytes(holder.as_bytes());
    writer.bytes(report.troubles.as_bytes());
}
