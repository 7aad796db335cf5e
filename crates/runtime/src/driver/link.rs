//! What the driver needs of a link.

use std::io;

use ring_proto::time::Now;
use thiserror::Error;

use super::{ReceiveBatch, Streams, TransmitBatch, frames, streams};

/// How much of a link's input one turn of a loop handles. Each kind of link says so itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Maximum messages, in whole batches.
    pub messages: usize,
    /// The same if the machine's deadline has passed: more than the link's queue holds.
    pub messages_before_timeout: usize,
    /// Maximum events of connections.
    pub events: usize,
    /// The same if the machine's deadline has passed.
    pub events_before_timeout: usize,
}

impl Quota {
    /// That of a kind of link with so many messages; of the connections beside them, if there are any, what is
    /// usual.
    pub const fn of_messages(messages: usize, before_timeout: usize) -> Self {
        Self {
            messages,
            messages_before_timeout: before_timeout,
            events: streams::EVENTS,
            events_before_timeout: streams::EVENTS_BEFORE_TIMEOUT,
        }
    }
}

/// A link that carries whole messages: [frames](super::frames), which contain their addresses (`P` is `()`), or
/// [datagrams](super::datagrams) between peers with addresses of type `P`.
pub trait Link<P = ()> {
    /// How much of its input one turn handles: as of frames, unless its kind says otherwise.
    const QUOTA: Quota = frames::QUOTA;

    /// Receives up to a batch of messages without waiting. The batch is empty if nothing has arrived. A message's
    /// age is as of `now`, or of a later time if it has come since: no message is handled at a time before it
    /// came.
    ///
    /// # Errors
    /// The link is gone or broken (`ENETDOWN`, `ENXIO`, …); never `EAGAIN` or `EINTR`.
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<P>) -> io::Result<()>;

    /// Sends the messages in order, without waiting, and returns how many the link accepted. If that is fewer
    /// than all, it refused the next one (queue full, …).
    ///
    /// # Errors
    /// Why the link refused the first message.
    fn send(&mut self, batch: &TransmitBatch<P>) -> Result<usize, Refused>;

    /// Returns the time after the last call of [`send`](Self::send): `now`, that of the turn, where time stands still
    /// in a turn.
    fn left_by(&self, now: Now) -> Now {
        now
    }

    /// Returns its connections, if it has any.
    fn streams(&mut self) -> Option<&mut dyn Streams<P>> {
        None
    }
}

/// A link that may be lost while another one beside it ([`Joined`](super::Joined)) is there: nothing comes of it, and nothing
/// can be sent.
impl<P: Copy, L: Link<P>> Link<P> for Option<L> {
    const QUOTA: Quota = L::QUOTA;

    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<P>) -> io::Result<()> {
        if let Some(link) = self {
            return link.receive(now, batch);
        }
        batch.clear();
        Ok(())
    }

    fn send(&mut self, batch: &TransmitBatch<P>) -> Result<usize, Refused> {
        match self {
            Some(link) => link.send(batch),
            None => Err(io::Error::from(io::ErrorKind::NotConnected).into()),
        }
    }

    fn left_by(&self, now: Now) -> Now {
        self.as_ref().map_or(now, |link| link.left_by(now))
    }

    fn streams(&mut self) -> Option<&mut dyn Streams<P>> {
        self.as_mut().and_then(Link::streams)
    }
}

/// Why a message was not accepted for sending.
#[derive(Debug, Error)]
pub enum Refused {
    /// It is longer than the link carries: another attempt will fail as well.
    #[error("a message is longer than the link carries")]
    TooLong,
    /// Something else (queue full, link down, …).
    #[error(transparent)]
    Other(#[from] io::Error),
}

impl Refused {
    /// Returns the reason as the system would say it.
    pub fn as_error(&self) -> io::Error {
        match self {
            Self::TooLong => io::Error::new(io::ErrorKind::InvalidInput, self.to_string()),
            Self::Other(error) => match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => error.kind().into(),
            },
        }
    }
}
