//! The connection to the successor that the node's row names (`docs/board.md`, sections 3 and 6).

use super::peer::Peer;
use super::repeated_request::{ProcessEvidence, RepeatedRequest};
use crate::StreamId;
use crate::andrews::SuccessorLoss;
use crate::time::Instant;

/// The state of the connection to the successor.
#[derive(Debug, Default)]
pub(super) enum SuccessorLink {
    /// No connection was opened yet.
    #[default]
    None,
    /// The connection was lost. A look decides what follows.
    Lost(LostSuccessor),
    /// A ring of one connects to itself again at this time.
    BackingOff(Instant),
    /// A connection is being opened.
    Connecting(ConnectAttempt),
    /// The connection is up, and the hello was sent.
    Up(Peer),
    /// The successor has failed and is to be removed: the node is RECOVERING.
    Failed(u32, RepeatedRequest),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LostSuccessor {
    pub(super) to: u32,
    pub(super) why: SuccessorLoss,
    /// A look that began at this time or later decides what follows.
    pub(super) at: Instant,
    /// When the successor was lost first. Only messages since then prove that the network works.
    pub(super) since: Instant,
    pub(super) evidence: ProcessEvidence,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectAttempt {
    pub(super) to: u32,
    /// `None`: the driver has not opened the connection.
    pub(super) stream: Option<StreamId>,
    pub(super) until: Instant,
    /// When the previous connection was lost, if this is the second attempt.
    pub(super) lost_at: Option<Instant>,
    /// The evidence of the previous connection.
    pub(super) evidence: ProcessEvidence,
}

impl SuccessorLink {
    /// Returns the node at the other end.
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
