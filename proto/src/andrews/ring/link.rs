//! The way to the successor (`docs/board.md`, sections 3 and 6).

use super::frames::FrameReader;
use super::plea::Plea;
use super::unsent::Unsent;
use crate::StreamId;
use crate::andrews::event::Loss;
use crate::throttle::Throttle;
use crate::time::Instant;

/// What becomes of the successor of the own row.
#[derive(Debug, Default)]
pub(crate) enum Link {
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
    Up(Successor),
    /// It has failed, and is to be taken out: the node is RECOVERING.
    Failed(u32, Plea),
}

/// What the successor's kernel has said of its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Verdict {
    #[default]
    None,
    /// It has ended the connection.
    Ended,
    /// It has ended the connection, and nobody listens any longer.
    Gone,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Lost {
    pub(crate) to: u32,
    pub(crate) why: Loss,
    /// A look that began then or later tells what follows.
    pub(crate) at: Instant,
    /// When it was lost for the first time: what was heard since is proof of the network.
    pub(crate) since: Instant,
    pub(crate) verdict: Verdict,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) to: u32,
    /// `None`: the driver has not opened it.
    pub(crate) stream: Option<StreamId>,
    pub(crate) until: Instant,
    /// When the connection was lost after which this is the second try.
    pub(crate) lost_at: Option<Instant>,
    /// That of the connection before.
    pub(crate) verdict: Verdict,
}

#[derive(Debug)]
pub(crate) struct Successor {
    pub(crate) to: u32,
    pub(crate) stream: StreamId,
    pub(crate) reader: FrameReader,
    pub(crate) unsent: Unsent,
}

impl Link {
    /// Whose connection it is about.
    pub(crate) const fn to(&self) -> Option<u32> {
        match self {
            Self::None | Self::Resting(_) => None,
            Self::Lost(Lost { to, .. })
            | Self::Connecting(Attempt { to, .. })
            | Self::Up(Successor { to, .. })
            | Self::Failed(to, _) => Some(*to),
        }
    }

    pub(crate) const fn stream(&self) -> Option<StreamId> {
        match self {
            Self::Connecting(attempt) => attempt.stream,
            Self::Up(successor) => Some(successor.stream),
            _ => None,
        }
    }

    pub(crate) const fn up_mut(&mut self) -> Option<&mut Successor> {
        match self {
            Self::Up(successor) => Some(successor),
            _ => None,
        }
    }
}

impl Membership {
    /// When the successor was lost, if it is not connected since.
    pub(crate) const fn lost_at(&self) -> Option<Instant> {
        match &self.link {
            Link::Lost(lost) => Some(lost.since),
            Link::Connecting(attempt) => attempt.lost_at,
            Link::Failed(_, plea) => Some(plea.since),
            Link::None | Link::Resting(_) | Link::Up(_) => None,
        }
    }
}

/// What a member is.
#[derive(Debug, Default)]
pub(crate) struct Membership {
    pub(crate) link: Link,
    /// When a connection that had stood was tried again.
    pub(crate) second_try: Throttle,
    /// It has joined, and its connections have not been up together.
    pub(crate) is_new: bool,
}
