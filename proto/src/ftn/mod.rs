//! The FTN token service: a group of servers keeps many named tokens for clients (`docs/ftn.md`).
//!
//! [`server`] and [`client`] are two state machines. They share the [list of servers](Servers), the
//! [configuration](Configuration), the entries of a CATALOG ([`catalog`]), and the parts of messages that are too long
//! for a datagram ([`carrier`]). No code here opens a socket or reads a clock. Start reading at [`client`].

use std::time::Duration;

pub mod carrier;
pub mod catalog;
pub mod client;
mod configuration;
pub mod endpoint;
pub mod server;
mod servers;

pub use configuration::{CONFIGURATION_NUMBER_MAX, Configuration, next_number};
pub use servers::Servers;

/// RETRY: the first interval after which an unanswered message is repeated; each later interval is twice as long.
pub const RETRY: Duration = Duration::from_millis(100);
/// Longest interval between two repetitions.
pub const RETRY_MAX: Duration = Duration::from_secs(1);
/// Shortest client timeout (CT): 2 RETRY. A client renews its lease of ¾ CT after CT / 5, and the confirmation may wait
/// RETRY for a round of STATE. With a shorter CT the lease ends before its renewal is confirmed.
pub const CLIENT_TIMEOUT_MIN: Duration = Duration::from_millis(200);
/// PART: bytes of a message in one PART, and the longest TRANSFER or CATALOG with several entries.
pub const PART: usize = 1_200;
/// WINDOW: number of parts on their way to one peer at the same time.
pub const WINDOW: usize = 16;
/// Longest name of a token, in bytes.
pub const NAME_BYTES_MAX: usize = 1_024;
/// Longest data of a token, in bytes.
pub const DATA_BYTES_MAX: usize = 32 * 1_024;
/// Longest introduction of a session, in bytes (section 6).
pub const INTRODUCTION_BYTES_MAX: usize = 96;
/// Most servers in a list.
pub const SERVERS_MAX: usize = 32;
/// LONGEST of `docs/ftn.md`: the longest datagram, in bytes. Every IPv6 path and nearly every IPv4 path carries it without fragments.
pub const DATAGRAM_BYTES_MAX: usize = 1_232;
/// Smallest id of a session.
pub const SESSION_ID_MIN: i32 = 1 << 20;
