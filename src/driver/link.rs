//! What the driver asks of the thing that carries frames.

use std::io;

use ring_proto::time::Now;
use thiserror::Error;

use super::{ReceiveBatch, TransmitBatch};

/// A link that carries whole Ethernet frames.
pub trait Link {
    /// Receives what has arrived, up to a batch, without waiting. An empty batch: nothing has.
    /// The frames' ages are as of `now`, or, where one has come since, of a later time: no frame is
    /// handled at a time before it came.
    ///
    /// # Errors
    /// The link is gone or broken (`ENETDOWN`, `ENXIO`, …); never `EAGAIN` or `EINTR`.
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch) -> io::Result<()>;

    /// Sends the frames in order, without waiting, and returns how many the link accepted.
    /// Fewer than all: the next one was refused (queue full, …).
    ///
    /// # Errors
    /// The first frame was refused, and why.
    fn send(&mut self, batch: &TransmitBatch) -> Result<usize, Refused>;
}

/// Why a frame was not accepted for sending.
#[derive(Debug, Error)]
pub enum Refused {
    /// It is longer than the link carries, and will be the next time.
    #[error("a frame is longer than the link carries")]
    TooLong,
    /// Something else (queue full, link down, …).
    #[error(transparent)]
    Other(#[from] io::Error),
}
