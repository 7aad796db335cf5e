//! The connection to the successor that the node's row names (`docs/board/protocol/members.md`, rules C; `failures.md`,
//! rules F).

use super::peer::Peer;
use super::repeated_request::{ProcessEvidence, RepeatedRequest};
use crate::StreamId;
use crate::andrews::SuccessorLoss;
use crate::time::Instant;

/// The state of the connection to the successor.
#[derive(Debug, Default)]
pub(super) enum SuccessorLink {
    /// There is no connection, and none was lost.
    #[default]
    None,
    /// The connection was lost. The next look decides the next step.
    Lost(LostSuccessor),
    /// The only member of a ring waits until this time, and then connects to itself again.
    BackingOff(Instant),
    /// A connection is being opened.
    Connecting(ConnectAttempt),
    /// The connection is up, and the hello was sent.
    Up(Peer),
    /// The successor failed, and the coordinator must remove it: the node is RECOVERING.
    Failed(u32, RepeatedRequest),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LostSuccessor {
    pub(super) to: u32,
    pub(super) why: SuccessorLoss,
    /// The node takes the next step only after a look that began at this time or later.
    pub(super) at: Instant,
    /// The time of the first loss, even if a second attempt failed later. A message proves that the network works only
    /// if it arrived at this time or later.
    pub(super) since: Instant,
    pub(super) evidence: ProcessEvidence,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectAttempt {
    pub(super) to: u32,
    /// The stream of the connection; `None` until the driver opens the connection.
    pub(super) stream: Option<StreamId>,
    pub(super) until: Instant,
    /// If this is the second attempt: the time at which the previous connection was lost.
    pub(super) lost_at: Option<Instant>,
    /// The evidence of the previous connection.
    pub(super) evidence: ProcessEvidence,
}

impl SuccessorLink {
    /// Returns the node at the other end of the present or last connection.
    pub(super) const fn target(&self) -> Option<u32> {
        match self {
            Self::None | Self::BackingOff(_) => None,
            Self::Up(peer) => Some(peer.id()),
            Self::Lost(LostSuccessor { to, .. })
            | Self::Connecting(ConnectAttempt { to, .. })
            | Self::Failed(to, _) => Some(*to),
        }
    }

    pub(super) const fn stream(&self) -> Option<StreamId> {
        match self {
            Self::Connecting(attempt) => attempt.stream,
            Self::Up(peer) => Some(peer.stream()),
            _ => None,
        }
    }
}
