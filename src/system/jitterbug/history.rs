//! The latest events, numbered, for watchers and for hooks.

use std::rc::Rc;

use ring_proto::jitterbug::State;
use ring_proto::time::Now;
use serde::Serialize;

use super::change::{Change, event};
use crate::control::{EventHead, EventMessage};
use crate::host::hooks::Changes;
use crate::host::{Priority, Recent};
use crate::observe::jitterbug::Told;

/// An event, its time, and the node's state after it.
#[derive(Debug, Clone)]
pub struct Entry {
    time_ms: u64,
    what: Rc<What>,
    /// The state before, if it is a change of that.
    from: Option<State>,
    state: State,
    token_id: u32,
}

#[derive(Debug)]
struct What {
    event: &'static str,
    text: String,
    node: Option<String>,
    label: Option<String>,
    reason: Option<&'static str>,
}

/// The keys of an event that are this system's own.
#[derive(Debug, Serialize)]
struct Own<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
    state: &'static str,
    token_id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl Entry {
    /// As watchers are told it.
    pub fn message(&self, number: u64) -> EventMessage {
        let what = &*self.what;
        let head = EventHead {
            number,
            time_ms: self.time_ms,
            event: what.event.to_owned(),
            text: Some(what.text.clone()),
        };
        let own = Own {
            from: self.from.map(State::name),
            state: self.state.name(),
            token_id: self.token_id,
            node: what.node.as_deref(),
            label: what.label.as_deref(),
            reason: what.reason,
        };
        EventMessage::new(&head, &own)
    }
}

/// Retains events and the node's state after the latest.
#[derive(Debug)]
pub struct History {
    recent: Recent<Entry>,
    state: State,
    token_id: u32,
}

impl History {
    /// No events yet.
    pub fn new(now: Now) -> Self {
        Self {
            recent: Recent::new(now),
            state: State::Orphan,
            token_id: 0,
        }
    }

    /// The events, by number.
    pub const fn recent(&self) -> &Recent<Entry> {
        &self.recent
    }

    /// The state after the latest event.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The node has entered a state.
    pub fn enter(&mut self, now: Now, to: (State, u32), told: Told, priority: Priority) {
        let from = std::mem::replace(&mut self.state, to.0);
        self.token_id = to.1;
        self.add(now, Some(from), what(told), priority);
    }

    /// Something else happened.
    pub fn remember(&mut self, now: Now, told: Told, priority: Priority) {
        self.add(now, None, what(told), priority);
    }

    /// A local lock was granted, refused or lost, for a reason.
    pub fn lock(
        &mut self,
        now: Now,
        event: &'static str,
        label: &str,
        reason: Option<&'static str>,
    ) {
        let text = match reason {
            None => format!("{event} {label:?}"),
            Some(reason) => format!("{event} {label:?}: {reason}"),
        };
        let priority = match event {
            "lock_lost" => Priority::News,
            // Thousands in a second would displace all news.
            _ => Priority::Passing,
        };
        let what = What {
            event,
            text,
            node: None,
            label: Some(label.to_owned()),
            reason,
        };
        self.add(now, None, what, priority);
    }

    /// Something is wrong with this machine, or no longer is.
    pub fn trouble(&mut self, now: Now, event: &'static str, text: String) {
        let what = What {
            event,
            text,
            node: None,
            label: None,
            reason: None,
        };
        self.add(now, None, what, Priority::News);
    }

    fn add(&mut self, now: Now, from: Option<State>, what: What, priority: Priority) {
        let entry = Entry {
            time_ms: now.wall / 1_000_000,
            what: Rc::new(what),
            from,
            state: self.state,
            token_id: self.token_id,
        };
        self.recent.remember(entry, priority);
    }

    /// The state as a change that changes nothing.
    fn standing(&self, now: Now) -> Change {
        Change {
            number: self.recent.latest(),
            time_ms: now.wall / 1_000_000,
            event: event::STATE,
            from: Some(self.state),
            state: Some(self.state),
            token_id: self.token_id,
            merged: 0,
        }
    }
}

fn what(told: Told) -> What {
    What {
        event: told.event,
        text: told.text,
        node: told.node.map(|node| node.to_string()),
        label: None,
        reason: None,
    }
}

impl Changes for History {
    type Change = Change;

    fn latest(&self) -> u64 {
        self.recent.latest()
    }

    fn change(&self, number: u64) -> Option<Change> {
        let entry = self.recent.get(number)?;
        Some(Change {
            number,
            time_ms: entry.time_ms,
            event: event::STATE,
            from: Some(entry.from?),
            state: Some(entry.state),
            token_id: entry.token_id,
            merged: 0,
        })
    }

    fn change_since(&self, number: u64) -> Option<Change> {
        use crate::host::hooks::Change as _;
        let changes = (number..=self.latest()).filter_map(|number| self.change(number));
        changes.reduce(|earlier, later| later.after(earlier))
    }

    fn started(&self, now: Now) -> Change {
        Change {
            event: event::STARTED,
            from: None,
            ..self.standing(now)
        }
    }

    fn stopped(&self, now: Now) -> Change {
        Change {
            number: self.latest() + 1,
            event: event::STOPPED,
            state: None,
            ..self.standing(now)
        }
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::jitterbug::{Event, State};
    use ring_proto::time::{Instant, Now};

    use super::History;
    use crate::host::Priority;
    use crate::host::hooks::Changes;
    use crate::observe::jitterbug::tell;

    const NOW: Now = Now {
        monotonic: Instant::from_nanos(0),
        wall: 5_000_000,
    };

    fn enter(history: &mut History, state: State) {
        let told = tell(&Event::StateChanged { state, token_id: 7 }, history.state());
        history.enter(NOW, (state, 7), told, Priority::News);
    }

    #[test]
    fn an_event_has_its_sentence_the_state_and_what_it_is_about() {
        let mut history = History::new(NOW);
        enter(&mut history, State::Waiter);
        history.lock(NOW, "lock_lost", "backup", Some("yield"));
        let number = history.recent().latest();
        let text = |number| {
            let entry = history.recent().get(number).unwrap();
            entry.message(number).json().text().to_owned()
        };
        let (first, second) = (text(number - 1), text(number));
        assert!(
            first.ends_with(r#""from":"orphan","state":"waiter","token_id":7}"#),
            "{first}"
        );
        assert!(
            second.ends_with(r#""state":"waiter","token_id":7,"label":"backup","reason":"yield"}"#),
            "{second}"
        );
    }

    #[test]
    fn hooks_are_told_of_changes_of_state_alone_and_of_many_as_one() {
        let mut history = History::new(NOW);
        let first = history.latest() + 1;
        enter(&mut history, State::Waiter);
        history.lock(NOW, "lock_granted", "backup", None);
        enter(&mut history, State::Leader);
        assert!(history.change(first + 1).is_none());
        let one = history.change_since(first).unwrap();
        assert_eq!(
            (one.from, one.state),
            (Some(State::Orphan), Some(State::Leader))
        );
        assert_eq!(one.merged, 1);
    }
}
