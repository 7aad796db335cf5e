//! The FTN token service: many named tokens, served to clients by a group of servers (`docs/ftn.md`).
//!
//! [`server`] and [`client`] are two machines that share what both must agree on: the [list of
//! servers](Servers), the [configuration](Configuration), what the entries of a CATALOG mean ([`catalog`]), and how
//! messages travel that are too long for a datagram ([`carrier`]).

use std::time::Duration;

pub mod carrier;
pub mod catalog;
pub mod client;
mod configuration;
pub mod server;
mod servers;
pub mod station;

pub use configuration::{Configuration, MAX_NUMBER, next_number};
pub use servers::Servers;

/// RETRY: whatever awaits an answer is repeated after so long, then after twice as long each time.
pub const RETRY: Duration = Duration::from_millis(100);
/// The longest time between two repetitions.
pub const RETRY_MAX: Duration = Duration::from_secs(1);
/// The shortest time after which servers may end a silent session: 2 RETRY. A client renews its lease of ¾ CT after CT / 5, and the
/// confirmation may wait RETRY for a round of STATE: with less no lease outlasts a renewal.
pub const MIN_CLIENT_TIMEOUT: Duration = Duration::from_millis(200);
/// PART: how many bytes of a message a PART carries, and how many a TRANSFER or a CATALOG of several has, unless its one entry is
/// longer.
pub const PART: usize = 1_200;
/// WINDOW: how many datagrams of several are on their way at a time.
pub const WINDOW: usize = 16;
/// The longest name of a token, in bytes.
pub const MAX_NAME: usize = 1_024;
/// The longest data of a token, in bytes.
pub const MAX_DATA: usize = 32 * 1_024;
/// The most bytes that a session may say of itself (section 6).
pub const MAX_INTRODUCTION: usize = 96;
/// The most servers that a list can have.
pub const MAX_SERVERS: usize = 32;
/// The longest datagram that is sent or received, in bytes: what every path of IPv6 carries whole, and so nearly every one of IPv4.
pub const LONGEST: usize = 1_232;
/// The least id of a session.
pub const MIN_SESSION: i32 = 1 << 20;
