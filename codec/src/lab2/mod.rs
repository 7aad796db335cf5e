//! Lab2: token and heartbeat messages in raw Ethernet frames (`docs/wire-formats.md`, "Lab2").
//!
//! A frame is an Ethernet II header, the 8 bytes of the message's head, and what its kind adds.
//! Integers are big-endian. Ethernet pads short payloads, so bytes after the message's own length
//! are ignored. Each kind has a module with its layout and a worked example; a [`profile`] and a [`card`] may
//! follow those that are mostly broadcast.
//!
//! # What is refused
//! The checks are made in this order, and the first that fails is reported. Field and problem
//! together tell the reasons apart:
//!
//! | [`field`](crate::DecodeError::field) | [`problem`](crate::DecodeError::problem) | reason |
//! |---|---|---|
//! | any | `Truncated` | the frame is shorter than its kind needs |
//! | `kind` | `Unknown` | none of 1 to 11 |
//! | `reserved` | `Reserved` | not 0 |
//! | `messageAuthorMAC` | `NotAStation` | all zero, or a group address (broadcast included) |
//! | `messageAuthorMAC` | `NotTheSource` | not the Ethernet source address |
//! | `progress` | `TooLarge` | 2^63 or more |
//! | `dataLen` | `TooLarge` | above [`MAX_DATA_LEN`] |
//! | `count` | `TooLarge` | above [`MAX_MEMBERS_PER_FRAME`], or [`MAX_FORGOTTEN_PER_FRAME`] in FORGET |
//! | `mac` | `NotAStation` | a member's address is not one of a single station |
//! | `purpose` | `Illegal` | above 4 |
//! | `stampCount` | `TooLarge` | above [`MAX_STAMPS_PER_FRAME`] |
//! | `name` | `Illegal` | no name of a job |
//! | `runnerMAC` | `NotAStation` | all zero, or a group address |
//! | `outcome` | `Illegal` | above 3 |
//!
//! Encoding refuses what decoding would refuse.

mod frame;
mod message;
mod parts;
mod token;

pub mod card;
pub mod forget;
pub mod generating_token;
pub mod leaving;
pub mod ping;
pub mod profile;
pub mod ring_members;
pub mod stamps;
pub mod take_token;
pub mod token_is_here;
pub mod token_was_here_recently;
pub mod want_token;
pub mod where_is_token;

pub use card::{Card, Version, Work};
pub use frame::Frame;
pub use message::{Kind, Message};
pub use parts::EthernetHeader;
pub use ping::Promise;
pub use profile::{Backing, Profile};
pub use ring_members::Member;
pub use stamps::{MAX_NAME_LEN, NO_AGE, Purpose, RunOutcome, Stamp};
pub use token::{Digest, Token};

/// The default EtherType: IEEE 802 local experimental 1.
pub const ETHERTYPE: u16 = 0x88b5;
/// Bytes of an Ethernet II header: destination, source, EtherType.
pub const ETHERNET_HEADER_LEN: usize = 14;
/// The longest data that a token carries, in bytes.
pub const MAX_DATA_LEN: usize = 1024;
/// The most members that one RING_MEMBERS frame carries: what fits an MTU of 1500.
pub const MAX_MEMBERS_PER_FRAME: usize = 66;
/// The most stamps that one STAMPS frame carries: what fits an MTU of 1500.
pub const MAX_STAMPS_PER_FRAME: usize = 19;
/// The most members that one FORGET frame carries.
pub const MAX_FORGOTTEN_PER_FRAME: usize = 64;
/// The largest legal progress: values of 2^63 and more are refused.
pub const MAX_PROGRESS: u64 = (1 << 63) - 1;
/// Payload bytes of the longest heartbeat beside its data, trailer and profile included.
pub const HEARTBEAT_LEN: usize = token_is_here::LEN_BESIDE_DATA + Profile::LEN;
/// Payload bytes of a PING without trailer and profile.
pub const PING_LEN: usize = ping::LEN;
/// Payload bytes of a PING that promises something, or says that its author is paused, without its profile.
pub const PROMISE_LEN: usize = ping::LEN_WITH_TRAILER;
/// The longest frame of this protocol, Ethernet header included, in bytes.
pub const MAX_FRAME_LEN: usize = ETHERNET_HEADER_LEN + 8 + 12 + 2 + 22 * MAX_MEMBERS_PER_FRAME;
/// The ip of a member that has none: `::`.
pub const NO_IP: [u8; 16] = [0; 16];
