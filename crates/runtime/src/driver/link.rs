//! The link on which a driver sends and receives.

use std::io;

use ring_proto::time::Now;
use thiserror::Error;

use super::{ReceiveBatch, Streams, TransmitBatch, frames, streams};

/// The amount of a link's input that one loop iteration handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Maximum number of messages, rounded up to whole batches.
    pub messages: usize,
    /// Maximum number of messages if the machine's deadline has passed. The number is larger than the number of
    /// messages that the link's queue can hold.
    pub messages_before_timeout: usize,
    /// Maximum number of events of connections.
    pub events: usize,
    /// Maximum number of events of connections if the machine's deadline has passed.
    pub events_before_timeout: usize,
}

impl Quota {
    /// Makes a quota with these maximum numbers of messages and the default numbers of events of connections.
    pub const fn of_messages(messages: usize, before_timeout: usize) -> Self {
        Self {
            messages,
            messages_before_timeout: before_timeout,
            events: streams::EVENTS_PER_TURN,
            events_before_timeout: streams::EVENTS_BEFORE_TIMEOUT_MAX,
        }
    }
}

/// A link that carries whole messages: [frames](super::frames), which contain their addresses (then `P` is `()`), or
/// [datagrams](super::datagrams) between peers with addresses of type `P`.
pub trait Link<P = ()> {
    /// The amount of the link's input that one loop iteration handles. The default is the quota of frames.
    const QUOTA: Quota = frames::QUOTA;

    /// Receives up to a batch of messages without waiting. If no message arrived, the batch is empty. Each message gets
    /// a time, and its age at this time. This time is usually `now`. If the message arrived after `now`, the time is
    /// later, so that the machine never handles a message at a time before its arrival.
    ///
    /// # Errors
    /// Fails if the link is broken (`ENETDOWN`, `ENXIO`, …). The error is never `EAGAIN` or `EINTR`.
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<P>) -> io::Result<()>;

    /// Sends the messages in order, without waiting. Returns the number of messages that the link accepted. If the link
    /// accepted only some of the messages, it refused the next message after them (queue full, …).
    ///
    /// # Errors
    /// Returns the reason why the link refused the first message.
    fn send(&mut self, batch: &TransmitBatch<P>) -> Result<usize, Refused>;

    /// Returns a time that is not before the moment at which the link sent the messages of the last
    /// [`send`](Self::send). The default is `now`, which is right only if no time passes within a loop iteration.
    fn sent_by(&self, now: Now) -> Now {
        now
    }

    /// Whether a message waits in memory that the kernel shares with this process. The default is `false`. Then only
    /// [`receive`](Self::receive) shows whether a message waits.
    fn has_message(&self) -> bool {
        false
    }

    /// Returns the link's connections, if the link supports them.
    fn streams(&mut self) -> Option<&mut dyn Streams<P>> {
        None
    }
}

/// One part of a [`JoinedLink`](super::JoinedLink) may be missing while the other part works. A missing link receives
/// no messages, and refuses to send.
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

    fn sent_by(&self, now: Now) -> Now {
        self.as_ref().map_or(now, |link| link.sent_by(now))
    }

    fn has_message(&self) -> bool {
        self.as_ref().is_some_and(Link::has_message)
    }

    fn streams(&mut self) -> Option<&mut dyn Streams<P>> {
        self.as_mut().and_then(Link::streams)
    }
}

/// The reason why a link refused a message.
#[derive(Debug, Error)]
pub enum Refused {
    /// The message is too long for the link. A second attempt would also fail.
    #[error("a message is longer than the link can carry")]
    TooLong,
    /// A different reason (queue full, link down, …).
    #[error(transparent)]
    Other(#[from] io::Error),
}

impl Refused {
    /// Converts the reason into an I/O error.
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
