//! The messages that a client gets when it watches a node. These messages are the same for all systems.

use serde::{Deserialize, Serialize};

use super::{NodeStatus, RawJson};

/// The complete status of the node after an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The number of the last event before this snapshot.
    pub number: u64,
    /// The node's status after that event.
    pub status: NodeStatus,
}

/// The keys that every event has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventHead {
    /// The event's number. The numbers of successive events grow by 1. Routine events have numbers too, even if the
    /// client does not watch them.
    pub number: u64,
    /// The time in milliseconds since 1970.
    pub time_ms: u64,
    /// The event's name in `snake_case`.
    pub event: String,
    /// The event as a sentence for people. If the text is absent, the client builds a sentence from the keys of the
    /// system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An event: a JSON object with the keys of [`EventHead`] and the system's keys. The text of the object is kept
/// unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventMessage(RawJson);

impl EventMessage {
    /// Creates an event. `own` is an object with the keys of the system. It must not contain the keys of [`EventHead`].
    pub fn new(head: &EventHead, own: &impl Serialize) -> Self {
        #[derive(Serialize)]
        struct Combined<'a, T> {
            #[serde(flatten)]
            head: &'a EventHead,
            #[serde(flatten)]
            own: &'a T,
        }
        Self(RawJson::encode(&Combined { head, own }))
    }

    /// Returns the JSON.
    pub const fn json(&self) -> &RawJson {
        &self.0
    }

    /// Reads the keys that every event has.
    ///
    /// # Errors
    /// Fails if one of the keys is missing.
    pub fn head(&self) -> serde_json::Result<EventHead> {
        self.0.decode()
    }
}

#[cfg(test)]
mod tests {
    use super::{EventHead, EventMessage};

    #[test]
    fn an_event_has_the_common_keys_and_the_systems() {
        let head = EventHead {
            number: 17,
            time_ms: 3,
            event: "grant".to_owned(),
            text: Some("a grant".to_owned()),
        };
        let own = [("to", 7)]
            .into_iter()
            .collect::<std::collections::BTreeMap<_, _>>();
        let event = EventMessage::new(&head, &own);
        let line = r#"{"number":17,"time_ms":3,"event":"grant","text":"a grant","to":7}"#;
        assert_eq!(event.json().text(), line);
        assert_eq!(event.head().expect("it is whole"), head);
    }
}
