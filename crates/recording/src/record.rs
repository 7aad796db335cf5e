//! The records of a recording.

use std::time::Duration;

use ring_proto::time::{Instant, Now};
use ring_proto::{Machine, SendOutcome, StoreOutcome};
use serde::{Deserialize, Serialize};

/// One call of a state machine: an input, or an output that the state machine returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record<C, N, E, D> {
    /// A frame arrived `age` before `now`. The bytes of the frame are separate.
    Received {
        /// The time.
        now: Now,
        /// The age of the frame.
        age: Duration,
        /// The length of the frame.
        len: u32,
    },
    /// A command.
    Command {
        /// The time.
        now: Now,
        /// The command.
        command: C,
    },
    /// A change of the network.
    Link {
        /// The time.
        now: Now,
        /// The new state of the network.
        net: N,
    },
    /// A timeout.
    Timeout {
        /// The time.
        now: Now,
    },
    /// The outcome of sending a frame.
    Sent {
        /// The time.
        now: Now,
        /// The ticket of the frame.
        ticket: u64,
        /// The outcome.
        outcome: SendOutcome,
    },
    /// The link has sent all accepted frames before this time.
    Flushed {
        /// The time.
        by: Now,
    },
    /// The outcome of storing a durable value.
    Stored {
        /// The time.
        now: Now,
        /// The outcome.
        outcome: StoreOutcome,
    },
    /// Output: a value that must be stored.
    Durable(D),
    /// Output: a frame to send. The bytes of the frame are separate.
    Frame {
        /// The ticket of the frame.
        ticket: u64,
        /// The length of the frame.
        len: u32,
    },
    /// Output: an event.
    Event(E),
    /// Output: the time of the next timeout, if it changed.
    Deadline(Option<Instant>),
}

/// The records of a state machine.
pub type RecordOf<M> = Record<
    <M as Machine>::Command,
    <M as Machine>::Net,
    <M as Machine>::Event,
    <M as Machine>::Durable,
>;

impl<C, N, E, D> Record<C, N, E, D> {
    /// Returns the length of the frame of this record; 0 if the record has no frame.
    pub fn frame_len(&self) -> usize {
        match self {
            Self::Received { len, .. } | Self::Frame { len, .. } => {
                usize::try_from(*len).unwrap_or(usize::MAX)
            }
            _ => 0,
        }
    }

    /// Returns the time of an input; `None` for an output.
    pub const fn time(&self) -> Option<Now> {
        match self {
            Self::Received { now, .. }
            | Self::Command { now, .. }
            | Self::Link { now, .. }
            | Self::Timeout { now }
            | Self::Sent { now, .. }
            | Self::Flushed { by: now }
            | Self::Stored { now, .. } => Some(*now),
            Self::Durable(_) | Self::Frame { .. } | Self::Event(_) | Self::Deadline(_) => None,
        }
    }
}
