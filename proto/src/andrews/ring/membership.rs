//! A member of the ring, and its connection to its successor (`docs/board/protocol/members.md`, rules C and L;
//! `failures.md`, rules F).

use std::net::IpAddr;
use std::time::Duration;

use super::frame_reader::FrameReader;
use super::peer::Peer;
use super::repeated_request::{ProcessEvidence, RepeatedRequest};
use super::successor_link::{ConnectAttempt, LostSuccessor, SuccessorLink};
use crate::andrews::SuccessorLoss;
use crate::throttle::Throttle;
use crate::time::Instant;
use crate::{CloseReason, StreamId};

// In a ring of one, the node connects to itself. Without a pause it would connect in a tight loop.
const RECONNECT_DELAY: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(crate) struct Membership {
    link: SuccessorLink,
    /// Limits how often the node connects again after a working connection ended.
    second_try: Throttle,
    /// Whether the node is a new member. The node is no longer new when both its connections are up at the same time.
    is_new: bool,
}

/// The node's row in the last rows that the node read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnRow {
    pub own: u32,
    pub successor: u32,
    pub read_at: Instant,
}

/// The action that the node's row requires.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowAction {
    /// The connection already leads to the successor that the row names, or the connection must not change now.
    Stay,
    /// The node connects to the successor. This is a first or a second attempt.
    Connect(Option<Instant>, ProcessEvidence),
    /// The successor has failed.
    Failed,
}

impl Membership {
    /// Creates the state of a node that has just joined.
    pub(crate) fn new() -> Self {
        Self {
            is_new: true,
            ..Self::default()
        }
    }

    /// Returns the node at the other end of the present or last connection.
    pub(crate) const fn target(&self) -> Option<u32> {
        self.link.target()
    }

    pub(crate) const fn stream(&self) -> Option<StreamId> {
        self.link.stream()
    }

    /// Returns the successor; `None` if the connection to it is down.
    pub(crate) const fn successor(&self) -> Option<&Peer> {
        match &self.link {
            SuccessorLink::Up(peer) => Some(peer),
            _ => None,
        }
    }

    pub(crate) const fn successor_mut(&mut self) -> Option<&mut Peer> {
        match &mut self.link {
            SuccessorLink::Up(peer) => Some(peer),
            _ => None,
        }
    }

    pub(crate) const fn has_link(&self) -> bool {
        !matches!(self.link, SuccessorLink::None)
    }

    pub(crate) const fn is_backing_off(&self) -> bool {
        matches!(self.link, SuccessorLink::BackingOff(_))
    }

    /// Returns the failed successor, and the request to the coordinator to remove it.
    pub(super) const fn failure(&self) -> Option<(u32, &RepeatedRequest)> {
        match &self.link {
            SuccessorLink::Failed(id, request) => Some((*id, request)),
            _ => None,
        }
    }

    pub(super) const fn repeated_request_mut(&mut self) -> Option<&mut RepeatedRequest> {
        match &mut self.link {
            SuccessorLink::Failed(_, request) => Some(request),
            _ => None,
        }
    }

    /// Returns the time at which the successor was lost, or `None` if it is not lost or a new connection is up.
    pub(crate) const fn lost_at(&self) -> Option<Instant> {
        match &self.link {
            SuccessorLink::Lost(lost) => Some(lost.since),
            SuccessorLink::Connecting(attempt) => attempt.lost_at,
            SuccessorLink::Failed(_, request) => Some(request.since()),
            SuccessorLink::None | SuccessorLink::BackingOff(_) | SuccessorLink::Up(_) => None,
        }
    }

    /// Whether both connections of a new member are up for the first time. Returns `true` only once.
    pub(crate) fn take_settled(&mut self, has_predecessor: bool) -> bool {
        let is_up = self.successor().is_some() && has_predecessor;
        is_up && std::mem::take(&mut self.is_new)
    }

    /// Chooses the action that the node's row requires.
    pub(crate) fn follow_row(
        &mut self,
        row: OwnRow,
        is_passing: bool,
        now: Instant,
        ack_timeout: Duration,
    ) -> RowAction {
        let target = row.successor;
        match &self.link {
            // Another successor in the row ends the pause early.
            SuccessorLink::BackingOff(until) if target == row.own && *until > now => {
                RowAction::Stay
            }
            // A change would lose the acknowledgement of the token that is being passed.
            SuccessorLink::Up(_) if is_passing => RowAction::Stay,
            // A failed successor stays failed until the row changes. Another attempt would only delay its removal.
            SuccessorLink::Connecting(_) | SuccessorLink::Up(_) | SuccessorLink::Failed(..)
                if self.link.target() == Some(target) =>
            {
                RowAction::Stay
            }
            SuccessorLink::Lost(lost) if lost.to == target && target == row.own => {
                self.link = SuccessorLink::BackingOff(now + RECONNECT_DELAY);
                RowAction::Stay
            }
            // The look began before the loss, so its row may be out of date.
            SuccessorLink::Lost(lost) if lost.to == target && row.read_at < lost.at => {
                RowAction::Stay
            }
            SuccessorLink::Lost(lost) if lost.to == target => {
                let lost = *lost;
                // The successor may have restarted, or may have closed this connection for a newer hello. So the node
                // connects once more.
                if lost.why == SuccessorLoss::Ended && self.second_try.try_take(now, ack_timeout) {
                    return RowAction::Connect(Some(lost.since), lost.evidence);
                }
                let request = RepeatedRequest::new(lost.since, row.read_at, lost.evidence);
                self.link = SuccessorLink::Failed(target, request);
                RowAction::Failed
            }
            // There was no connection, the connection led to another node, or the pause is over.
            _ => RowAction::Connect(None, ProcessEvidence::None),
        }
    }

    pub(crate) fn connect(
        &mut self,
        to: u32,
        until: Instant,
        lost_at: Option<Instant>,
        evidence: ProcessEvidence,
    ) {
        self.link = SuccessorLink::Connecting(ConnectAttempt {
            to,
            stream: None,
            until,
            lost_at,
            evidence,
        });
    }

    /// If the node wants to connect to its successor, assigns the vacant stream to this connection. Returns the node to
    /// which the driver must open the connection.
    pub(crate) const fn open(&mut self, vacant: StreamId) -> Option<u32> {
        match &mut self.link {
            SuccessorLink::Connecting(attempt) if attempt.stream.is_none() => {
                attempt.stream = Some(vacant);
                Some(attempt.to)
            }
            _ => None,
        }
    }

    /// Returns the destination of this connection while the connection is being opened.
    pub(crate) fn connect_target(&self, id: StreamId) -> Option<u32> {
        match &self.link {
            SuccessorLink::Connecting(attempt) if attempt.stream == Some(id) => Some(attempt.to),
            _ => None,
        }
    }

    pub(crate) fn on_connected(&mut self, to: u32, id: StreamId, from: IpAddr) {
        self.link = SuccessorLink::Up(Peer::new(to, id, from, FrameReader::default()));
    }

    /// Loses the successor. Returns the id of the lost successor, and the connection to close.
    pub(crate) fn lose(
        &mut self,
        why: SuccessorLoss,
        now: Instant,
    ) -> Option<(u32, Option<StreamId>)> {
        // A second attempt keeps the time of the first loss, so that proof since then still counts.
        let (to, since) = match &self.link {
            SuccessorLink::Connecting(attempt) => (attempt.to, attempt.lost_at.unwrap_or(now)),
            SuccessorLink::Up(peer) => (peer.id(), now),
            _ => return None,
        };
        let stream = self.link.stream();
        self.link = SuccessorLink::Lost(LostSuccessor {
            to,
            why,
            at: now,
            since,
            evidence: ProcessEvidence::None,
        });
        Some((to, stream))
    }

    /// Stores evidence about the process of a lost successor. The evidence comes from the successor's kernel.
    pub(crate) const fn set_evidence(&mut self, evidence: ProcessEvidence) {
        if let SuccessorLink::Lost(lost) = &mut self.link {
            lost.evidence = evidence;
        }
    }

    /// If the kernel closed this connection and the successor is therefore lost, returns the kind of loss and the
    /// evidence about the successor's process.
    pub(crate) fn loss_on_close(
        &self,
        why: CloseReason,
    ) -> Option<(SuccessorLoss, ProcessEvidence)> {
        match &self.link {
            // A reset comes from the successor's host. Other reasons, such as a timeout, are no evidence about its
            // process.
            SuccessorLink::Up(_) if why == CloseReason::Reset => {
                Some((SuccessorLoss::Ended, ProcessEvidence::Ended))
            }
            SuccessorLink::Up(_) => Some((SuccessorLoss::Ended, ProcessEvidence::None)),
            SuccessorLink::Connecting(attempt) => {
                let is_gone =
                    why == CloseReason::Refused && attempt.evidence == ProcessEvidence::Ended;
                // One refusal is no evidence: a firewall can refuse for a live host.
                let evidence = if is_gone {
                    ProcessEvidence::Gone
                } else {
                    ProcessEvidence::None
                };
                Some((SuccessorLoss::NotConnected, evidence))
            }
            _ => None,
        }
    }

    /// Gives up the connection. The successor does not count as lost. Returns the connection that the caller must
    /// close.
    pub(crate) fn close(&mut self) -> Option<StreamId> {
        let stream = self.link.stream();
        self.link = SuccessorLink::None;
        stream
    }

    /// If the connection exceeds a time limit, returns the resulting kind of loss.
    pub(crate) fn overdue_loss(&self, now: Instant, liveness: Duration) -> Option<SuccessorLoss> {
        self.due(liveness).filter(|due| *due <= now)?;
        match self.link {
            SuccessorLink::Connecting(_) => Some(SuccessorLoss::NotConnected),
            SuccessorLink::Up(_) => Some(SuccessorLoss::Ended),
            // After its pause a ring of one connects again.
            _ => None,
        }
    }

    /// Returns the time of the node's next action on the connection.
    pub(crate) fn due(&self, liveness: Duration) -> Option<Instant> {
        match &self.link {
            SuccessorLink::BackingOff(until) => Some(*until),
            SuccessorLink::Connecting(attempt) => Some(attempt.until),
            // Between frames there is no limit, because the kernel detects a dead peer.
            SuccessorLink::Up(peer) => Some(peer.begun_at()? + liveness),
            SuccessorLink::None | SuccessorLink::Lost(_) | SuccessorLink::Failed(..) => None,
        }
    }
}

#[cfg(test)]
impl Membership {
    pub(crate) fn back_off(&mut self) {
        self.link = SuccessorLink::BackingOff(Instant::from_nanos(0));
    }

    pub(crate) fn fail(&mut self, id: u32) {
        let at = Instant::from_nanos(0);
        self.link = SuccessorLink::Failed(id, RepeatedRequest::new(at, at, ProcessEvidence::None));
    }
}
