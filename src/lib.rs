//! `ringd`: token passing and leader election on a LAN segment.

#![deny(unsafe_code)]

pub mod cli;
pub mod control;
pub mod ctl;
pub mod driver;
pub mod fencing;
pub mod host;
pub mod observe;
#[cfg(feature = "simulator")]
pub mod sim;
pub mod sys;
pub mod system;
pub mod text;
pub mod token;
mod usage;
