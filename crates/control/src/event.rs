//! The messages of a watch, which are the same for every system.

use serde::{Deserialize, Serialize};

use super::{NodeStatus, RawJson};

/// The whole state after an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The number of the last event before the snapshot.
    pub number: u64,
    /// The status at that time.
    pub status: NodeStatus,
}

/// The keys that every event has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventHead {
    /// The event's number, which grows by one per event, including routine events.
    pub number: u64,
    /// The time in milliseconds since 1970.
    pub time_ms: u64,
    /// The event's name in `snake_case`.
    pub event: String,
    /// The event as a sentence for people. If it is absent, the reader builds one from the system's keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An event: a JSON object with the keys of [`EventHead`] and the system's keys, unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventMessage(RawJson);

impl EventMessage {
    /// Creates an event. `own` is an object without the head's keys.
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
