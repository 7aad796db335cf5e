//! What becomes of the successor of the own row (`docs/board.md`, sections 3 and 6).

use super::peer::Peer;
use super::plea::{Plea, Verdict};
use crate::StreamId;
use crate::andrews::Loss;
use crate::time::Instant;

#[derive(Debug, Default)]
pub(super) enum Link {
    /// There is none yet.
    #[default]
    None,
    /// It was lost: a look says what follows.
    Lost(Lost),
    /// A ring of one is connected again at this time.
    Resting(Instant),
    /// A connection is being opened.
    Connecting(Attempt),
    /// The connection stands, and the hello is sent.
    Up(Peer),
    /// It has failed, and is to be taken out: the node is RECOVERING.
    Failed(u32, Plea),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Lost {
    pub(super) to: u32,
    pub(super) why: Loss,
    /// A look that began then or later tells what follows.
    pub(super) at: Instant,
    /// When it was lost for the first time: what was heard since is proof of the network.
    pub(super) since: Instant,
    pub(super) verdict: Verdict,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    pub(super) to: u32,
    /// `None`: the driver has not opened it.
    pub(super) stream: Option<StreamId>,
    pub(super) until: Instant,
    /// When the connection was lost after which this is the second try.
    pub(super) lost_at: Option<Instant>,
    /// That of the connection before.
    pub(super) verdict: Verdict,
}

impl Link {
    /// Whose connection it is about.
    pub(super) const fn to(&self) -> Option<u32> {
        match self {
            Self::None | Self::Resting(_) => None,
            Self::Up(peer) => Some(peer.id()),
            Self::Lost(Lost { to, .. })
            | Self::Connecting(Attempt { to, .. })
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
