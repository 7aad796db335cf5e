//! A retained event, and the message about the event for watchers.

use std::rc::Rc;

use ring_client::fencing::FencingToken;
use ring_codec::MacAddr;
use ring_control::lab2::RingEvent;
use ring_control::{EventHead, EventMessage};
use ring_host::announced_host_name;
use ring_proto::lab2::State;
use ring_proto::time::{Now, nanos};

use super::super::named_locks::ProgramLock;
use super::super::status::token_status;
use crate::system::lab2::observe::{Audience, Description, PauseNews, RingState};

/// An event, its time, and the node's state after the event.
#[derive(Debug, Clone)]
pub(crate) struct HistoryEntry {
    pub(super) time_ms: u64,
    pub(super) event: &'static str,
    pub(super) is_for_hooks: bool,
    /// The state before the event; `None` unless the event is a change of state.
    pub(super) from: Option<State>,
    pub(super) reason: Option<&'static str>,
    /// The reason as a text.
    pub(super) cause: Option<Rc<str>>,
    pub(super) member: Option<MacAddr>,
    /// The number of additional members to which the same event happened. The event does not list these members.
    pub(super) others: usize,
    pub(super) label: Option<Rc<str>>,
    /// The named lock; `None` for the token.
    pub(super) lock: Option<ProgramLock>,
    /// End and reason of the pause that the event is about.
    pub(super) pause: Option<PauseNews>,
    pub(super) ring_state: RingState,
}

impl HistoryEntry {
    /// Creates an event without details.
    pub(super) const fn new(now: Now, event: &'static str, ring_state: RingState) -> Self {
        Self {
            time_ms: now.wall / 1_000_000,
            event,
            is_for_hooks: false,
            from: None,
            reason: None,
            cause: None,
            member: None,
            others: 0,
            label: None,
            lock: None,
            pause: None,
            ring_state,
        }
    }

    pub(super) fn describing(
        now: Now,
        description: &Description<'_>,
        ring_state: RingState,
    ) -> Self {
        let keys = &description.keys;
        Self {
            is_for_hooks: description.audience == Audience::Hooks,
            from: keys.from,
            reason: keys.reason,
            cause: description.cause.map(|cause| cause.to_string().into()),
            member: keys.mac.or(keys.receiver),
            others: keys.others.unwrap_or_default(),
            pause: keys.pause,
            ..Self::new(now, description.event, ring_state)
        }
    }

    /// Returns the message that watchers get.
    pub(crate) fn message(&self, number: u64) -> EventMessage {
        let RingState {
            state,
            token,
            owner,
            grade,
            ..
        } = self.ring_state;
        let fence = self.lock.and_then(|lock| lock.fence);
        let ring = RingEvent {
            from: self.from.map(|from| from.name().to_owned()),
            state: state.name().to_owned(),
            reason: self.cause.as_deref().or(self.reason).map(str::to_owned),
            token: token.map(token_status),
            owner: owner.map(|owner| owner.to_string()),
            owner_name: owner.and_then(|owner| announced_host_name(owner.0)),
            grade: grade.name().to_owned(),
            member: self.member.map(|member| member.to_string()),
            member_name: self.member.and_then(|member| announced_host_name(member.0)),
            others: self.others,
            label: self.label.as_deref().map(str::to_owned),
            name: self.lock.map(|lock| lock.name.to_string()),
            mode: self.lock.map(|lock| lock.mode.name().to_owned()),
            require: self.lock.map(|lock| lock.grade.name().to_owned()),
            pause_left_ns: self.pause.and_then(|pause| pause.left).map(nanos),
            pause_reason: self.pause.and_then(|pause| pause.reason_text()),
            fencing: fence.map(|fence| FencingToken::from(fence).to_string()),
        };
        let head = EventHead {
            number,
            time_ms: self.time_ms,
            event: self.event.to_owned(),
            text: None,
        };
        EventMessage::new(&head, &ring)
    }
}
