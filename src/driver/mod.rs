//! Pumps a [`Machine`](ring_proto::Machine) over a [`Link`]: the same code in the daemon and
//! wherever else the machines are run.

mod batch;
mod link;
mod pump;

pub use batch::{MAX_FRAME, RECEIVE_BATCH, ReceiveBatch, TRANSMIT_BATCH, TransmitBatch};
pub use link::{Link, Refused};
pub use pump::{Driver, Environment, Observe, Store};

#[cfg(test)]
mod tests;
