//! Lab2: token and heartbeat messages in raw Ethernet frames (`lab2.md`, section 1).

mod frame;
mod layout;
mod message;
mod token;

pub use frame::{EthernetHeader, Frame};
pub use layout::{Member, NO_IP};
pub use message::{Kind, Message};
pub use token::{Digest, Token};

/// The default EtherType: IEEE 802 local experimental 1.
pub const ETHERTYPE: u16 = 0x88b5;
/// Bytes of an Ethernet II header: destination, source, EtherType.
pub const ETHERNET_HEADER_LEN: usize = 14;
/// The longest data that a token carries, in bytes.
pub const MAX_DATA_LEN: usize = 1024;
/// The most members that one RING_MEMBERS frame carries: what fits an MTU of 1500.
pub const MAX_MEMBERS_PER_FRAME: usize = 66;
/// The largest legal progress: values of 2^63 and more are refused.
pub const MAX_PROGRESS: u64 = (1 << 63) - 1;
/// The longest frame of this protocol, Ethernet header included, in bytes.
pub const MAX_FRAME_LEN: usize = ETHERNET_HEADER_LEN + 8 + 12 + 2 + 22 * MAX_MEMBERS_PER_FRAME;
