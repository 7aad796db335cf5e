//! Drives a [`Machine`](ring_proto::Machine) over a [`Link`]. The daemon, the simulator and the tests use the same
//! code. Start with [`Driver::turn`] in `pump.rs`.

#[cfg(feature = "signatures")]
mod addressing;
#[cfg(feature = "signatures")]
mod authenticated;
mod batch;
mod connection;
mod connections;
pub mod datagrams;
#[cfg(feature = "streams")]
mod encrypted;
pub mod frames;
mod joined;
mod link;
mod pump;
mod streams;

#[cfg(feature = "signatures")]
pub use addressing::{Addressing, DatagramAddressing, FrameAddressing};
#[cfg(feature = "signatures")]
pub use authenticated::{Authenticated, Signer};
pub use batch::{ReceiveBatch, TransmitBatch};
pub use connection::RECEIVE_BUFFER_MAX;
pub use connections::{Changed, Connection, Connections, Network};
#[cfg(feature = "streams")]
pub use encrypted::{DrawSeed, Encrypted, EncryptedConnection, LocalAddress};
pub use joined::JoinedLink;
pub use link::{Link, Quota, Refused};
pub use pump::{Driver, Environment, NoStore, Observe, Store};
pub use streams::{IoEvent, Streams};

#[cfg(all(test, feature = "signatures"))]
mod authenticated_tests;
#[cfg(all(test, feature = "streams"))]
mod encrypted_tests;
#[cfg(test)]
mod lateness_tests;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod stream_pump_tests;
#[cfg(test)]
mod stream_tests;
#[cfg(test)]
mod tests;
