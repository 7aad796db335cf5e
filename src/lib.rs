//! `ringd`: token passing and leader election on a LAN segment.

#![forbid(unsafe_code)]

pub mod cli;
pub mod system;
