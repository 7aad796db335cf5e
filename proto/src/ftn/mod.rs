//! The FTN token service: a group of servers keeps many named tokens for clients (`docs/token-service/README.md`).
//!
//! [`server`] and [`client`] are two state machines. The two state machines share the [list of servers](Servers), the
//! [configuration](Configuration) and the entries of a CATALOG ([`catalog`]). The two state machines also use the
//! [`carrier`], which sends long messages in parts. No code here opens a socket or reads a clock. Start reading at
//! [`client`].

use std::time::Duration;

pub mod carrier;
pub mod catalog;
pub mod client;
mod configuration;
pub mod endpoint;
mod names;
pub mod server;
mod servers;

pub use configuration::{CONFIGURATION_NUMBER_MAX, Configuration, next_number};
pub use names::find_denied_name;
pub use servers::Servers;

/// RETRY: the interval after which a message is repeated for the first time, if no answer arrives. Each later interval
/// is twice as long.
pub const RETRY: Duration = Duration::from_millis(100);
/// Longest interval between two repetitions.
pub const RETRY_MAX: Duration = Duration::from_secs(1);
/// Shortest client timeout (CT): 2 RETRY. A lease lasts ¾ CT, and a client renews its lease after CT / 5. The
/// confirmation may have to wait for a round of STATE. This wait lasts at most RETRY. With a shorter CT, a lease could
/// end before the confirmation of its renewal.
pub const CLIENT_TIMEOUT_MIN: Duration = Duration::from_millis(200);
/// PART: length of a piece of a long message, in bytes. A TRANSFER or CATALOG longer than PART has only one entry.
pub const PART: usize = 1_156;
/// WINDOW: maximum number of parts that are on their way to one peer at the same time.
pub const WINDOW: usize = 16;
/// Longest name of a token, in bytes.
pub const NAME_BYTES_MAX: usize = 1_024;
/// Longest data of a token, in bytes.
pub const DATA_BYTES_MAX: usize = 32 * 1_024;
/// Longest introduction of a session, in bytes (C4).
pub const INTRODUCTION_BYTES_MAX: usize = 96;
/// Largest number of servers in a list.
// A larger list would not fit `NumberLimits`, which has one bit of a `u32` for each server.
pub const SERVERS_MAX: usize = 32;
/// LONGEST of `docs/token-service/protocol/conventions.md`: the longest datagram, in bytes. Every IPv6 path and nearly
/// every IPv4 path carries a datagram of this length without fragmentation.
// The smallest MTU of IPv6 is 1,280 bytes. The headers take 48 of them, and a signature takes 44.
pub const DATAGRAM_BYTES_MAX: usize = 1_188;
/// Smallest id of a session.
// Ids are far above 0 and all indexes of servers, because both appear in the fields `from` and `to`.
pub const SESSION_ID_MIN: i32 = 1 << 20;
