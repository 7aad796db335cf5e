//! `ringd`: token passing and leader election on a LAN segment.

#![deny(unsafe_code)]

pub mod cli;
pub mod ctl;
pub mod fencing;
pub mod host;
pub mod observe;
pub mod system;
pub mod token;
