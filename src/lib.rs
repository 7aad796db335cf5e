//! `ringd`: token passing and leader election on a LAN segment.

pub mod control;
pub mod driver;
pub mod proto;
