//! A member of the ring, and its way to its successor (`docs/board.md`, sections 3, 4 and 6).

use std::net::IpAddr;
use std::time::Duration;

use super::frames::FrameReader;
use super::link::{Attempt, Link, Lost};
use super::peer::Peer;
use super::plea::{Plea, Verdict};
use crate::andrews::Loss;
use crate::throttle::Throttle;
use crate::time::Instant;
use crate::{Closed, StreamId};

/// After which a ring of one is connected again.
const REST: Duration = Duration::from_millis(100);

/// What a member is.
#[derive(Debug, Default)]
pub(crate) struct Membership {
    link: Link,
    /// When a connection that had stood was tried again.
    second_try: Throttle,
    /// It has joined, and its connections have not been up together.
    is_new: bool,
}

/// The own row as it was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnRow {
    pub own: u32,
    pub successor: u32,
    pub read_at: Instant,
}

/// What follows from the own row.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Follow {
    /// Nothing: the way leads there, or is not to be changed now.
    Stay,
    /// It is connected to, for the first or the second time.
    Connect(Option<Instant>, Verdict),
    /// It has failed.
    Failed,
}

impl Membership {
    /// One that has just joined.
    pub(crate) fn new() -> Self {
        Self {
            is_new: true,
            ..Self::default()
        }
    }

    /// Whose connection it is about.
    pub(crate) const fn to(&self) -> Option<u32> {
        self.link.to()
    }

    pub(crate) const fn stream(&self) -> Option<StreamId> {
        self.link.stream()
    }

    /// The successor, while the connection to it stands.
    pub(crate) const fn successor(&self) -> Option<&Peer> {
        match &self.link {
            Link::Up(peer) => Some(peer),
            _ => None,
        }
    }

    pub(crate) const fn successor_mut(&mut self) -> Option<&mut Peer> {
        match &mut self.link {
            Link::Up(peer) => Some(peer),
            _ => None,
        }
    }

    pub(crate) const fn has_way(&self) -> bool {
        !matches!(self.link, Link::None)
    }

    pub(crate) const fn is_resting(&self) -> bool {
        matches!(self.link, Link::Resting(_))
    }

    /// The successor that has failed, and what is asked of the coordinator because of it.
    pub(super) const fn failed(&self) -> Option<(u32, &Plea)> {
        match &self.link {
            Link::Failed(id, plea) => Some((*id, plea)),
            _ => None,
        }
    }

    pub(super) const fn plea_mut(&mut self) -> Option<&mut Plea> {
        match &mut self.link {
            Link::Failed(_, plea) => Some(plea),
            _ => None,
        }
    }

    /// When the successor was lost, if it is not connected since.
    pub(crate) const fn lost_at(&self) -> Option<Instant> {
        match &self.link {
            Link::Lost(lost) => Some(lost.since),
            Link::Connecting(attempt) => attempt.lost_at,
            Link::Failed(_, plea) => Some(plea.since()),
            Link::None | Link::Resting(_) | Link::Up(_) => None,
        }
    }

    /// Whether both connections of a new member are up, for the first time.
    pub(crate) fn has_settled(&mut self, has_predecessor: bool) -> bool {
        let is_up = self.successor().is_some() && has_predecessor;
        is_up && std::mem::take(&mut self.is_new)
    }

    /// What follows from the own row.
    pub(crate) fn follow(
        &mut self,
        row: OwnRow,
        is_passing: bool,
        now: Instant,
        ack_timeout: Duration,
    ) -> Follow {
        let target = row.successor;
        match &self.link {
            Link::Resting(until) if target == row.own && *until > now => Follow::Stay,
            // The change waits while a token on the old connection is unacknowledged.
            Link::Up(_) if is_passing => Follow::Stay,
            Link::Connecting(_) | Link::Up(_) | Link::Failed(..)
                if self.link.to() == Some(target) =>
            {
                Follow::Stay
            }
            Link::Lost(lost) if lost.to == target && target == row.own => {
                self.link = Link::Resting(now + REST);
                Follow::Stay
            }
            Link::Lost(lost) if lost.to == target && row.read_at < lost.at => Follow::Stay,
            Link::Lost(lost) if lost.to == target => {
                let lost = *lost;
                if lost.why == Loss::Ended && self.second_try.allow(now, ack_timeout) {
                    return Follow::Connect(Some(lost.since), lost.verdict);
                }
                let plea = Plea::new(lost.since, row.read_at, lost.verdict);
                self.link = Link::Failed(target, plea);
                Follow::Failed
            }
            // There was none, or another, or its time to rest is over.
            _ => Follow::Connect(None, Verdict::None),
        }
    }

    /// Begins to connect to a node.
    pub(crate) fn connect(
        &mut self,
        to: u32,
        until: Instant,
        lost_at: Option<Instant>,
        verdict: Verdict,
    ) {
        self.link = Link::Connecting(Attempt {
            to,
            stream: None,
            until,
            lost_at,
            verdict,
        });
    }

    /// The driver opens the connection, if there is one to open. Returns whose it is.
    pub(crate) const fn open(&mut self, vacant: StreamId) -> Option<u32> {
        match &mut self.link {
            Link::Connecting(attempt) if attempt.stream.is_none() => {
                attempt.stream = Some(vacant);
                Some(attempt.to)
            }
            _ => None,
        }
    }

    /// The node that a connection is being opened to.
    pub(crate) fn connecting_to(&self, id: StreamId) -> Option<u32> {
        match &self.link {
            Link::Connecting(attempt) if attempt.stream == Some(id) => Some(attempt.to),
            _ => None,
        }
    }

    /// The connection to a node stands.
    pub(crate) fn on_connected(&mut self, to: u32, id: StreamId, from: IpAddr) {
        self.link = Link::Up(Peer::new(to, id, from, FrameReader::default()));
    }

    /// The successor is lost. Returns who it was, and the connection that is to be closed.
    pub(crate) fn lose(&mut self, why: Loss, now: Instant) -> Option<(u32, Option<StreamId>)> {
        let (to, since) = match &self.link {
            Link::Connecting(attempt) => (attempt.to, attempt.lost_at.unwrap_or(now)),
            Link::Up(peer) => (peer.id(), now),
            _ => return None,
        };
        let stream = self.link.stream();
        self.link = Link::Lost(Lost {
            to,
            why,
            at: now,
            since,
            verdict: Verdict::None,
        });
        Some((to, stream))
    }

    /// The successor that is lost was lost like this.
    pub(crate) const fn judge(&mut self, verdict: Verdict) {
        if let Link::Lost(lost) = &mut self.link {
            lost.verdict = verdict;
        }
    }

    /// What it says of the successor that the kernel has closed its connection.
    pub(crate) fn judgement(&self, why: Closed) -> Option<(Loss, Verdict)> {
        match &self.link {
            Link::Up(_) if why == Closed::Reset => Some((Loss::Ended, Verdict::Ended)),
            Link::Up(_) => Some((Loss::Ended, Verdict::None)),
            Link::Connecting(attempt) => {
                let is_gone = why == Closed::Refused && attempt.verdict == Verdict::Ended;
                let verdict = if is_gone {
                    Verdict::Gone
                } else {
                    Verdict::None
                };
                Some((Loss::NotConnected, verdict))
            }
            _ => None,
        }
    }

    /// Gives up the way to the successor, without a judgement. Returns the connection that is to be closed.
    pub(crate) fn close(&mut self) -> Option<StreamId> {
        let stream = self.link.stream();
        self.link = Link::None;
        stream
    }

    /// How the successor is lost, if that is due.
    pub(crate) fn late(&self, now: Instant, liveness: Duration) -> Option<Loss> {
        self.due(liveness).filter(|due| *due <= now)?;
        match self.link {
            Link::Connecting(_) => Some(Loss::NotConnected),
            Link::Up(_) => Some(Loss::Ended),
            // When its rest is over it is connected again.
            _ => None,
        }
    }

    /// When the way to the successor has something due.
    pub(crate) fn due(&self, liveness: Duration) -> Option<Instant> {
        match &self.link {
            Link::Resting(until) => Some(*until),
            Link::Connecting(attempt) => Some(attempt.until),
            Link::Up(peer) => Some(peer.begun()? + liveness),
            Link::None | Link::Lost(_) | Link::Failed(..) => None,
        }
    }
}

#[cfg(test)]
impl Membership {
    pub(crate) fn rest(&mut self) {
        self.link = Link::Resting(Instant::from_nanos(0));
    }

    pub(crate) fn fail(&mut self, id: u32) {
        let at = Instant::from_nanos(0);
        self.link = Link::Failed(id, Plea::new(at, at, Verdict::None));
    }
}
