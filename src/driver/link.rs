//! What the driver asks of the thing that carries messages.

use std::io;

use ring_proto::time::Now;
use thiserror::Error;

use super::{ReceiveBatch, Streams, TransmitBatch};

/// A link that carries whole messages: [frames](super::frames), which say themselves who they are from
/// and for, or datagrams between peers that it knows by `P`.
pub trait Link<P = ()> {
    /// Receives what has arrived, up to a batch, without waiting. An empty batch: nothing has.
    /// The messages' ages are as of `now`, or, where one has come since, of a later time: no message is
    /// handled at a time before it came.
    ///
    /// # Errors
    /// The link is gone or broken (`ENETDOWN`, `ENXIO`, …); never `EAGAIN` or `EINTR`.
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<P>) -> io::Result<()>;

    /// Sends the messages in order, without waiting, and returns how many the link accepted.
    /// Fewer than all: the next one was refused (queue full, …).
    ///
    /// # Errors
    /// The first message was refused, and why.
    fn send(&mut self, batch: &TransmitBatch<P>) -> Result<usize, Refused>;

    /// Its connections, if it has any.
    fn streams(&mut self) -> Option<&mut dyn Streams<P>> {
        None
    }
}

/// Why a message was not accepted for sending.
#[derive(Debug, Error)]
pub enum Refused {
    /// It is longer than the link carries, and will be the next time.
    #[error("a message is longer than the link carries")]
    TooLong,
    /// Something else (queue full, link down, …).
    #[error(transparent)]
    Other(#[from] io::Error),
}
