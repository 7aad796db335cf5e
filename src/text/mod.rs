//! Values as text: as people write them in options, and as sentences have them. It names no other room.

mod bytes;
mod duration;
mod macs;

pub use bytes::{first_bytes, format_bytes, parse_bytes};
pub use duration::{format_duration, parse_duration, parse_duration_or_seconds};
pub use macs::{has_mac, name_macs};
