//! What a client that watches is told, whatever the system.

use serde::{Deserialize, Serialize};

use super::{NodeStatus, OwnJson};

/// Everything as it is after the event of a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The number of the last event before it.
    pub number: u64,
    /// The state of things.
    pub status: NodeStatus,
}

/// What every event has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventHead {
    /// Grows by one from event to event, routine included.
    pub number: u64,
    /// When: milliseconds since 1970.
    pub time_ms: u64,
    /// What: a name, in `snake_case`.
    pub event: String,
    /// The same for people; absent: whoever shows it makes it of the system's own keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Something that happened: an object with the keys of [`EventHead`] and the system's own, as it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventMessage(OwnJson);

impl EventMessage {
    /// Makes an event. `own` is an object, with none of the head's keys.
    pub fn new(head: &EventHead, own: &impl Serialize) -> Self {
        #[derive(Serialize)]
        struct Whole<'a, T> {
            #[serde(flatten)]
            head: &'a EventHead,
            #[serde(flatten)]
            own: &'a T,
        }
        Self(OwnJson::of(&Whole { head, own }))
    }

    /// The JSON.
    pub const fn json(&self) -> &OwnJson {
        &self.0
    }

    /// What every event has.
    ///
    /// # Errors
    /// A part of it is missing.
    pub fn head(&self) -> serde_json::Result<EventHead> {
        self.0.read()
    }
}

#[cfg(test)]
mod tests {
    use super::{EventHead, EventMessage};

    #[test]
    fn an_event_is_its_head_and_the_systems_own_keys() {
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
