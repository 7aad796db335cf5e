//! Values as text: parsers for options, and formats for sentences.

#![forbid(unsafe_code)]

mod bytes;
mod duration;
pub mod hex;
mod macs;
mod names;
#[cfg(feature = "usage")]
pub mod usage;

pub use bytes::{format_bytes, parse_bytes, truncate_to_bytes};
pub use duration::{format_duration, parse_duration, parse_duration_or_seconds};
pub use macs::{has_mac, name_macs};
pub use names::{Names, parse_mac};
