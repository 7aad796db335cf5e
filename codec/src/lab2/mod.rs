//! Lab2: token and heartbeat messages in raw Ethernet frames (`docs/reference/lab2/frames.md`).
//!
//! A frame consists of an Ethernet II header, the message's header of 8 bytes, and the fields of its kind. Integers are
//! big-endian. Ethernet pads short payloads, so the decoder ignores bytes after the message. Each kind has a module
//! with its layout and a worked example. A [`profile`] and a [`card`] may follow the kinds that are mostly broadcast.
//! The author's [standing](locks_standing) may follow TAKE_TOKEN, TOKEN_IS_HERE and PING. A [`host_name`], a
//! [`pause_notice`] and a [`preference`] may follow a card.
//!
//! # Refused frames
//! The decoder makes the checks in this order, and reports the first check that fails. The field and the problem
//! together determine the reason:
//!
//! | [`field`](crate::DecodeError::field) | [`problem`](crate::DecodeError::problem) | reason |
//! |---|---|---|
//! | any | `Truncated` | the frame is shorter than its kind needs |
//! | `kind` | `Unknown` | not a number from 1 to 17 |
//! | `reserved` | `Reserved` | a value other than 0 |
//! | `messageAuthorMAC` | `NotUnicast` | all zero, or a group address (broadcast included) |
//! | `messageAuthorMAC` | `NotTheSource` | an address other than the Ethernet source |
//! | `progress` | `TooLarge` | a number of 2^63 or more |
//! | `dataLen` | `TooLarge` | a length above [`DATA_LEN_MAX`] |
//! | `count` | `TooLarge` | a number above [`MEMBERS_PER_FRAME_MAX`], or in FORGET and SURVEY above 64 |
//! | `mac` | `NotUnicast` | a member's address is zero or a group address |
//! | `purpose` | `Illegal` | a number above 4 |
//! | `stampCount` | `TooLarge` | a number above [`STAMPS_PER_FRAME_MAX`] |
//! | `name` | `Illegal` | bytes that are no name of a job |
//! | `runnerMAC` | `NotUnicast` | all zero, or a group address |
//! | `outcome` | `Illegal` | a number above 3 |
//! | `locksPurpose` | `Illegal` | a number above 6 |
//! | `grade` | `Illegal` | a number above 2 |
//! | `lockCount` | `TooLarge` | a number above [`LOCKS_PER_FRAME_MAX`] |
//! | `lockName` | `Illegal` | bytes that are no name of a lock |
//! | `memberMAC` | `NotUnicast` | all zero, or a group address |
//! | `mode` | `Illegal` | a number above 1 |
//! | `state` | `Illegal` | a number above 3 |
//! | `program` | `Illegal` | bytes that are not UTF-8 followed by zeros |
//! | `surveyPurpose` | `Illegal` | a number above 1 |
//! | `probes`, `span` | `TooLarge` | a number above [`PROBES_MAX`] or [`SPAN_MAX`] |
//! | `nodeState`, `nodeGrade`, `health`, `busy`, `requiredGrade` | `Illegal` | a number above 3, 2, 2, 1 or 2 |
//! | `holderLen`, `troublesLen` | `TooLarge` | a number above 64 or [`TROUBLES_LEN_MAX`] |
//! | `holderLen` | `Illegal` | a label although no program holds the token |
//! | `holderName` | `Illegal` | bytes that are not UTF-8 |
//! | `troubles` | `Illegal` | bytes that are not UTF-8, or control characters except newlines |
//! | `surveyorMAC`, `peerMAC` | `NotUnicast` | all zero, or a group address |
//! | `number`, `isAnswer` | `Illegal` | a number above 63 or 1 |
//! | `paddingLen` | `TooLarge` | a length above [`PADDING_LEN_MAX`] |
//! | `rowCount` | `TooLarge` | a number above [`MEASURES_PER_FRAME_MAX`] |
//!
//! The encoder refuses the same values.

mod frame;
mod message;
mod parts;
mod token;

pub mod card;
pub mod forget;
pub mod generating_token;
pub mod host_name;
pub mod leaving;
pub mod locks;
pub mod locks_question;
pub mod locks_standing;
pub mod measures;
pub mod pause_notice;
pub mod ping;
pub mod preference;
pub mod probe;
pub mod profile;
pub mod report;
pub mod ring_members;
pub mod stamps;
pub mod survey;
pub mod take_token;
pub mod token_is_here;
pub mod token_was_here_recently;
pub mod want_token;
pub mod where_is_token;

pub use card::{Card, Version, Work};
pub use frame::Frame;
pub use host_name::{HOST_NAME_LEN_MAX, is_host_name};
pub use locks::{
    LockMode, LockRecord, LockState, LocksPurpose, MAX_LOCK_NAME_LEN, MAX_LOCK_PROGRAM_LEN,
};
pub use locks_standing::LocksStanding;
pub use measures::Measure;
pub use message::{Kind, Message};
pub use parts::EthernetHeader;
pub use pause_notice::{PAUSE_REASON_LEN_MAX, PauseNotice, is_pause_reason};
pub use ping::Promise;
pub use probe::PADDING_LEN_MAX;
pub use profile::{Backing, Profile};
pub use report::{NodeReport, REPORT_LEN_BESIDE_TEXTS, TROUBLES_LEN_MAX};
pub use ring_members::Member;
pub use stamps::{MAX_NAME_LEN, NO_AGE, Purpose, RunOutcome, Stamp};
pub use survey::SurveyPurpose;
pub use token::{Digest, Token};

/// The default EtherType: the first EtherType that IEEE 802 reserves for local experiments.
pub const ETHERTYPE: u16 = 0x88b5;
/// Length of an Ethernet II header (destination, source, EtherType) in bytes.
pub const ETHERNET_HEADER_LEN: usize = 14;
/// The longest data that a token carries, in bytes.
pub const DATA_LEN_MAX: usize = 1024;
/// Largest number of members in one RING_MEMBERS frame, so that the frame fits an MTU of 1500.
pub const MEMBERS_PER_FRAME_MAX: usize = 66;
/// Largest number of stamps in one STAMPS frame, so that the frame fits an MTU of 1500.
pub const STAMPS_PER_FRAME_MAX: usize = 19;
/// Largest number of records in one LOCKS frame, so that the frame fits an MTU of 1500.
pub const LOCKS_PER_FRAME_MAX: usize = 9;
/// Number of sums in a LOCKS_QUESTION frame.
pub const LOCK_SUMS: usize = 64;
/// Largest number of members in one FORGET frame.
pub const FORGOTTEN_PER_FRAME_MAX: usize = 64;
/// Largest number of members in one SURVEY frame. A measurement of 64 members causes a bounded number of frames.
pub const SURVEYED_PER_FRAME_MAX: usize = 64;
/// Largest number of probes for an ordered pair of members.
pub const PROBES_MAX: u8 = 64;
/// The longest time over which a member spreads its probes, in milliseconds.
pub const SPAN_MAX: u16 = 8000;
/// Largest number of rows in one MEASURES frame, so that the frame fits an MTU of 1500.
pub const MEASURES_PER_FRAME_MAX: usize = 48;
/// The largest legal progress. The codec refuses larger values.
pub const PROGRESS_MAX: u64 = (1 << 63) - 1;
/// Length of the payload of the longest heartbeat without its data, in bytes. Trailer and profile are included.
pub const HEARTBEAT_LEN: usize = token_is_here::LEN_BESIDE_DATA + Profile::LEN;
/// Length of the payload of a PING without trailer and profile, in bytes.
pub const PING_LEN: usize = ping::LEN;
/// Length of the payload of a PING with a trailer and without a profile, in bytes.
pub const PROMISE_LEN: usize = ping::LEN_WITH_TRAILER;
/// Length of the longest frame of this protocol with its Ethernet header, in bytes.
pub const FRAME_LEN_MAX: usize = ETHERNET_HEADER_LEN + 8 + 12 + 2 + 22 * MEMBERS_PER_FRAME_MAX;
/// The address `::`. It means a member without an IP address.
pub const NO_IP: [u8; 16] = [0; 16];
