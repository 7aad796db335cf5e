//! An event that is retained, and how watchers see it.

use std::rc::Rc;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_control::lab2::RingEvent;
use ring_control::{EventHead, EventMessage};
use ring_proto::lab2::{Grade, JobName, Reason, State};

use super::super::status::token_status;
use crate::system::lab2::observe::text;

/// A kind of event, with what belongs to it.
#[derive(Debug, Clone)]
pub(super) enum EventKind {
    State {
        from: State,
        reason: Reason,
    },
    Owner,
    Grade,
    Member {
        event: &'static str,
        mac: MacAddr,
    },
    /// How many others this has happened to, which are not named.
    Members {
        event: &'static str,
        mac: MacAddr,
        others: usize,
    },
    HandOverFailed {
        to: MacAddr,
    },
    Trouble {
        event: &'static str,
        member: Option<MacAddr>,
        text: Rc<str>,
    },
    Lock {
        event: &'static str,
        label: Rc<str>,
        why: Option<&'static str>,
    },
    Pause {
        event: &'static str,
        why: Option<&'static str>,
    },
    Run {
        event: &'static str,
        name: JobName,
        runner: MacAddr,
        text: Option<Rc<str>>,
    },
}

impl EventKind {
    /// Whether hooks get it.
    pub(super) const fn is_told(&self) -> bool {
        matches!(
            self,
            Self::State { .. } | Self::Grade | Self::Members { .. }
        )
    }
}

/// An event, its time, and the node's state after it.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(super) time_ms: u64,
    pub(super) kind: EventKind,
    pub(super) state: State,
    pub(super) token: Option<Token>,
    pub(super) owner: Option<MacAddr>,
    pub(super) grade: Grade,
}

impl Entry {
    /// Returns the event as watchers get it.
    pub(crate) fn message(&self, number: u64) -> EventMessage {
        let mut ring = RingEvent {
            from: None,
            state: self.state.name().to_owned(),
            reason: None,
            token: self.token.map(token_status),
            owner: self.owner.map(|owner| owner.to_string()),
            grade: self.grade.name().to_owned(),
            member: None,
            others: 0,
            label: None,
        };
        let event = match &self.kind {
            EventKind::State { from, reason } => {
                ring.from = Some(from.name().to_owned());
                ring.reason = Some(text::reason(*reason).0.to_owned());
                "state_changed"
            }
            EventKind::Owner => "owner_changed",
            EventKind::Grade => "grade_changed",
            EventKind::Member { event, mac } => {
                ring.member = Some(mac.to_string());
                event
            }
            EventKind::Members { event, mac, others } => {
                ring.member = Some(mac.to_string());
                ring.others = *others;
                event
            }
            EventKind::HandOverFailed { to } => {
                ring.member = Some(to.to_string());
                "hand_over_failed"
            }
            EventKind::Trouble {
                event,
                member,
                text,
            } => {
                ring.member = member.map(|member| member.to_string());
                ring.reason = Some(text.as_ref().to_owned());
                event
            }
            EventKind::Lock { event, label, why } => {
                ring.label = Some(label.as_ref().to_owned());
                ring.reason = why.map(str::to_owned);
                event
            }
            EventKind::Pause { event, why } => {
                ring.reason = why.map(str::to_owned);
                event
            }
            EventKind::Run {
                event,
                name,
                runner,
                text,
            } => {
                ring.label = Some(name.to_string());
                ring.member = Some(runner.to_string());
                ring.reason = text.as_ref().map(|text| text.as_ref().to_owned());
                event
            }
        };
        let head = EventHead {
            number,
            time_ms: self.time_ms,
            event: event.to_owned(),
            text: None,
        };
        EventMessage::new(&head, &ring)
    }
}
