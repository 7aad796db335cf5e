//! Following the own row, and losing who it names (`docs/board.md`, sections 3, 4 and 6).

use std::time::Duration;

use super::Andrews;
use crate::andrews::Event;
use crate::andrews::event::Loss;
use crate::andrews::message::Said;
use crate::andrews::ring::FrameReader;
use crate::andrews::ring::Plea;
use crate::andrews::ring::Unsent;
use crate::andrews::ring::{Link, Lost, Successor, Verdict};
use crate::time::Instant;
use crate::{Closed, StreamId, StreamOp};

/// After which a ring of one is connected again.
const REST: Duration = Duration::from_millis(100);

impl Andrews {
    /// Connects to the successor of the own row, if that is not done.
    pub(super) fn follow_row(&mut self) {
        let (now, own) = (self.now, self.options.id);
        let Some(view) = &self.view else {
            return;
        };
        let Some(target) = view.successor(own) else {
            return;
        };
        let is_passing = self.token.is_passing();
        let (read_at, ack_timeout) = (view.read_at, self.options.ack_timeout);
        let Some(member) = self.role.member_mut() else {
            return;
        };
        let (mut lost_at, mut verdict) = (None, Verdict::None);
        match &member.link {
            Link::Resting(until) if target == own && *until > now => return,
            // The change waits while a token on the old connection is unacknowledged.
            Link::Up(_) if is_passing => return,
            Link::Connecting(_) | Link::Up(_) | Link::Failed(..)
                if member.link.to() == Some(target) =>
            {
                return;
            }
            Link::Lost(lost) if lost.to == target && target == own => {
                member.link = Link::Resting(now + REST);
                return;
            }
            Link::Lost(lost) if lost.to == target && read_at < lost.at => return,
            Link::Lost(lost) if lost.to == target => {
                let lost = *lost;
                let is_tried = lost.why == Loss::Ended && member.second_try.allow(now, ack_timeout);
                if !is_tried {
                    let mut plea = Plea::new(lost.since, read_at);
                    plea.verdict = lost.verdict;
                    member.link = Link::Failed(target, plea);
                    self.out.event(Event::SuccessorFailed { id: target });
                    return self.step_plea();
                }
                (lost_at, verdict) = (Some(lost.since), lost.verdict);
            }
            // There was none, or another, or its time to rest is over.
            _ => {}
        }
        self.connect(target, lost_at, verdict);
    }

    pub(super) fn on_successor_connected(&mut self, id: StreamId) {
        let Some(member) = self.role.member_mut() else {
            return;
        };
        let Link::Connecting(attempt) = &member.link else {
            return;
        };
        if attempt.stream != Some(id) {
            return;
        }
        let to = attempt.to;
        member.link = Link::Up(Successor {
            to,
            stream: id,
            reader: FrameReader::default(),
            unsent: Unsent::default(),
        });
        self.out.event(Event::SuccessorUp { id: to });
        self.heard_from(to);
        self.send_on(&Said::Successor(to));
        self.elections.successor_changed();
        self.send_waiting();
    }

    /// The kernel says that the connection to the successor is gone, or cannot be.
    pub(super) fn on_successor_closed(&mut self, why: Closed) {
        let link = self.role.member().map(|member| &member.link);
        let is_refused = why == Closed::Refused;
        let (loss, to, verdict) = match link {
            Some(Link::Up(successor)) if why == Closed::Reset => {
                (Loss::Ended, successor.to, Verdict::Ended)
            }
            Some(Link::Up(successor)) => (Loss::Ended, successor.to, Verdict::None),
            Some(Link::Connecting(attempt)) => {
                let is_gone = is_refused && attempt.verdict == Verdict::Ended;
                let verdict = if is_gone {
                    Verdict::Gone
                } else {
                    Verdict::None
                };
                (Loss::NotConnected, attempt.to, verdict)
            }
            _ => return,
        };
        self.lose_successor(loss);
        self.judge_successor(verdict);
        if is_refused {
            // It counts as later than the loss: a host that refuses is there.
            self.heard_from(to);
        }
    }

    /// The successor that is lost was lost like this.
    pub(super) const fn judge_successor(&mut self, verdict: Verdict) {
        if let Some(member) = self.role.member_mut()
            && let Link::Lost(lost) = &mut member.link
        {
            lost.verdict = verdict;
        }
    }

    /// The successor is lost: it is closed, a token that was on the way is here again, and a look says what follows.
    pub(super) fn lose_successor(&mut self, why: Loss) {
        let now = self.now;
        let Some(member) = self.role.member_mut() else {
            return;
        };
        let (to, since) = match &member.link {
            Link::Connecting(attempt) => (attempt.to, attempt.lost_at.unwrap_or(now)),
            Link::Up(successor) => (successor.to, now),
            _ => return,
        };
        if let Some(stream) = member.link.stream() {
            self.out.operate(StreamOp::Close(stream));
        }
        member.link = Link::Lost(Lost {
            to,
            why,
            at: now,
            since,
            verdict: Verdict::None,
        });
        self.database.want_look();
        self.out.event(Event::SuccessorLost { id: to, why });
        if self.token.is_passing() {
            self.out.counters.passes_failed += 1;
            match self.token.take_back(now) {
                Some(sequence) => self.out.event(Event::TokenReturned { sequence }),
                None => self.lose_token(),
            }
        }
    }

    pub(super) fn on_link_due(&mut self) {
        let Some(due) = self.link_due().filter(|due| *due <= self.now) else {
            return;
        };
        let link = self.role.member().map(|member| &member.link);
        match link {
            Some(Link::Connecting(_)) => self.lose_successor(Loss::NotConnected),
            Some(Link::Up(_)) => self.lose_successor(Loss::Ended),
            // When its rest is over it is connected again.
            _ => debug_assert!(due <= self.now),
        }
    }

    /// When the way to the successor has something due.
    pub(super) fn link_due(&self) -> Option<Instant> {
        match &self.role.member()?.link {
            Link::Resting(until) => Some(*until),
            Link::Connecting(attempt) => Some(attempt.until),
            Link::Up(successor) => {
                let begun = successor.reader.begun()?;
                Some(begun + self.options.liveness)
            }
            Link::None | Link::Lost(_) | Link::Failed(..) => None,
        }
    }
}
