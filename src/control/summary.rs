//! What every system's node can show of itself, without a page of its own.

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Status;

/// A node of any system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum NodeStatus {
    /// One of a Lab2 ring.
    Lab2(Box<Status>),
    /// One whose system has no page of its own.
    Other(Box<Summary>),
}

impl<'de> Deserialize<'de> for NodeStatus {
    /// A summary names its system; what does not is Lab2's. Told apart first, either can say what is wrong
    /// with it.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let status = Value::deserialize(from)?;
        let is_summary = status.get("system").is_some();
        let read = if is_summary {
            serde_json::from_value(status).map(Self::Other)
        } else {
            serde_json::from_value(status).map(Self::Lab2)
        };
        read.map_err(D::Error::custom)
    }
}

/// How a node is, in words and numbers that need no knowledge of its system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The system's name.
    pub system: String,
    /// What tells it from the others of its system on this machine: an interface, a number.
    pub place: String,
    /// The program's version.
    pub version: String,
    /// For how long it has run, in nanoseconds.
    pub up_ns: u64,
    /// How it is, in a few words.
    pub standing: String,
    /// It does what it is for.
    pub healthy: bool,
    /// What else is to be known, in order: a name, and what it is just now.
    pub facts: Vec<(String, String)>,
    /// What has happened since the start, and how often.
    pub counters: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::NodeStatus;

    #[test]
    fn what_is_wrong_with_a_status_is_said_by_its_system() {
        for (status, wrong) in [
            ("{}", "missing field `interface`"),
            (r#"{"system":"note"}"#, "missing field `place`"),
            (r#"{"system":7}"#, "invalid type: integer `7`"),
        ] {
            let error = serde_json::from_str::<NodeStatus>(status).expect_err(status);
            assert!(error.to_string().contains(wrong), "{status}: {error}");
        }
    }
}
