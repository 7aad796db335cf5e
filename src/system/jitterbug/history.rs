//! The latest events with their numbers, for watchers and hooks.

use std::net::IpAddr;

use ring_host::hooks::{Changes, event};
use ring_host::observe::Line;
use ring_host::{HistoryEntry, Priority, Recent};
use ring_proto::jitterbug::State;
use ring_proto::time::Now;
use serde::Serialize;

use super::hook_change::Change;
use super::observe::Keys as LineKeys;

/// The keys that exist only in events of Jitterbug. The keys include the node's state after the event.
#[derive(Debug, Serialize)]
pub(super) struct HistoryKeys {
    /// The state before the event; `None` unless the event is a change of state.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
    state: &'static str,
    token_id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

/// The retained events, and the node's state after the latest event.
#[derive(Debug)]
pub(super) struct History {
    events: ring_host::History<HistoryKeys>,
    state: State,
    token_id: u32,
}

impl History {
    /// Creates an empty history.
    pub(super) fn new(now: Now) -> Self {
        Self {
            events: ring_host::History::new(now),
            state: State::Orphan,
            token_id: 0,
        }
    }

    pub(super) const fn recent(&self) -> &Recent<HistoryEntry<HistoryKeys>> {
        self.events.recent()
    }

    /// Returns the state after the latest event.
    pub(super) const fn state(&self) -> State {
        self.state
    }

    pub(super) fn add_state_change(
        &mut self,
        now: Now,
        to: (State, u32),
        line: Line<LineKeys>,
        priority: Priority,
    ) {
        let from = std::mem::replace(&mut self.state, to.0);
        self.token_id = to.1;
        let keys = HistoryKeys {
            from: Some(from.name()),
            node: line.keys.node,
            ..self.keys()
        };
        self.events
            .add(now, (line.event, line.text), keys, priority);
    }

    /// Adds another event.
    pub(super) fn add(&mut self, now: Now, line: Line<LineKeys>, priority: Priority) {
        let keys = HistoryKeys {
            node: line.keys.node,
            ..self.keys()
        };
        self.events
            .add(now, (line.event, line.text), keys, priority);
    }

    /// Adds an event about a local lock. The event has a reason if the lock was refused or lost.
    pub(super) fn add_lock_event(
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
            // Thousands of these events per second would push all other events out of the history.
            _ => Priority::Passing,
        };
        let keys = HistoryKeys {
            label: Some(label.to_owned()),
            reason,
            ..self.keys()
        };
        self.events.add(now, (event, text), keys, priority);
    }

    /// Adds an event about a problem of this machine, or about the end of the problem.
    pub(super) fn add_problem(&mut self, now: Now, event: &'static str, text: String) {
        let keys = self.keys();
        self.events.add(now, (event, text), keys, Priority::News);
    }

    /// Returns the keys of an event that has no details.
    fn keys(&self) -> HistoryKeys {
        HistoryKeys {
            from: None,
            state: self.state.name(),
            token_id: self.token_id,
            node: None,
            label: None,
            reason: None,
        }
    }

    /// Returns the current state as a change with equal old and new states.
    fn ring_state(&self, now: Now) -> Change {
        Change {
            number: self.latest(),
            time_ms: now.wall / 1_000_000,
            event: event::STATE,
            from: Some(self.state.name()),
            state: Some(self.state.name()),
            token_id: self.token_id,
            merged: 0,
        }
    }
}

impl Changes for History {
    type Change = Change;

    fn latest(&self) -> u64 {
        self.recent().latest()
    }

    fn change(&self, number: u64) -> Option<Change> {
        let entry = self.recent().get(number)?;
        let keys = entry.keys();
        Some(Change {
            number,
            time_ms: entry.time_ms(),
            event: event::STATE,
            from: Some(keys.from?),
            state: Some(keys.state),
            token_id: keys.token_id,
            merged: 0,
        })
    }

    fn merged_change_since(&self, number: u64) -> Option<Change> {
        use ring_host::hooks::Change as _;
        let changes = (number..=self.latest()).filter_map(|number| self.change(number));
        changes.reduce(|earlier, later| later.after(earlier))
    }

    fn start_change(&self, now: Now) -> Change {
        Change {
            event: event::STARTED,
            from: None,
            ..self.ring_state(now)
        }
    }

    fn stop_change(&self, now: Now) -> Change {
        Change {
            number: self.latest() + 1,
            event: event::STOPPED,
            state: None,
            ..self.ring_state(now)
        }
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::jitterbug::{Event, State};
    use ring_proto::time::{Instant, Now};

    use super::History;
    use crate::system::jitterbug::observe::describe;
    use ring_host::Priority;
    use ring_host::hooks::Changes;

    const NOW: Now = Now {
        monotonic: Instant::from_nanos(0),
        wall: 5_000_000,
    };

    fn enter(history: &mut History, state: State) {
        let line = describe(&Event::StateChanged { state, token_id: 7 }, history.state());
        history.add_state_change(NOW, (state, 7), line, Priority::News);
    }

    #[test]
    fn an_event_has_its_sentence_state_and_keys() {
        let mut history = History::new(NOW);
        enter(&mut history, State::Waiter);
        history.add_lock_event(NOW, "lock_lost", "backup", Some("yield"));
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
    fn hooks_get_only_changes_of_state_and_merge_many() {
        let mut history = History::new(NOW);
        let first = history.latest() + 1;
        enter(&mut history, State::Waiter);
        history.add_lock_event(NOW, "lock_granted", "backup", None);
        enter(&mut history, State::Leader);
        assert!(history.change(first + 1).is_none());
        let one = history.merged_change_since(first).unwrap();
        assert_eq!((one.from, one.state), (Some("orphan"), Some("leader")));
        assert_eq!(one.merged, 1);
    }
}
