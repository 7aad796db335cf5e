//! What `status` answers, whatever the system.

use serde::{Deserialize, Serialize};

use super::OwnJson;

/// A node's status: an object with the system's own keys, as it came.
///
/// Two keys are read by whoever knows nothing of the system: `system`, its name, tells one system's status from
/// another's, and `healthy` whether the node does what it is for. A system whose page says which keys its status has may
/// have its name in `protocol`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeStatus(OwnJson);

/// The keys that every system's status may have.
#[derive(Deserialize)]
struct CommonKeys {
    #[serde(default)]
    system: Option<String>,
    #[serde(default)]
    protocol: Option<String>,
    #[serde(default)]
    healthy: Option<bool>,
}

impl NodeStatus {
    /// Makes the status of a node of `system`. `own` is an object, with neither of the two keys.
    #[must_use]
    pub fn new(system: &str, healthy: bool, own: &impl Serialize) -> Self {
        #[derive(Serialize)]
        struct Whole<'a, T> {
            system: &'a str,
            healthy: bool,
            #[serde(flatten)]
            own: &'a T,
        }
        Self(OwnJson::of(&Whole {
            system,
            healthy,
            own,
        }))
    }

    /// Makes a status that has the system's own keys and no others.
    pub(super) fn of_keys(own: &impl Serialize) -> Self {
        Self(OwnJson::of(own))
    }

    /// The JSON.
    #[must_use]
    pub const fn json(&self) -> &OwnJson {
        &self.0
    }

    /// The system's name; `None`: it has neither a key `system` nor a key `protocol`, or has something else there.
    #[must_use]
    pub fn system(&self) -> Option<String> {
        let keys = self.0.read::<CommonKeys>().ok()?;
        keys.system.or(keys.protocol)
    }

    /// Whether the node says of itself that it does what it is for. One that does not say so answers, at least.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        let keys = self.0.read::<CommonKeys>();
        keys.ok().and_then(|keys| keys.healthy).unwrap_or(true)
    }
}

/// Percentiles of a time, in nanoseconds; all 0 before the first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// The shortest.
    pub min_ns: u64,
    /// Half were shorter.
    pub p50_ns: u64,
    /// 90 % were shorter.
    pub p90_ns: u64,
    /// 99 % were shorter.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    use super::NodeStatus;
    use crate::control::Reply;

    #[derive(Serialize)]
    struct Own {
        role: &'static str,
        counters: Vec<u8>,
    }

    #[test]
    fn a_status_keeps_the_systems_own_keys_behind_those_of_all() {
        let own = Own {
            role: "leader",
            counters: vec![1],
        };
        let status = NodeStatus::new("note", false, &own);
        let line = r#"{"system":"note","healthy":false,"role":"leader","counters":[1]}"#;
        assert_eq!(status.json().text(), line);
        assert_eq!(status.system().as_deref(), Some("note"));
        assert!(!status.is_healthy());
    }

    #[test]
    fn a_system_may_be_named_by_its_protocol() {
        let status = NodeStatus::of_keys(
            &[("protocol", "note")]
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
        );
        assert_eq!(status.system().as_deref(), Some("note"));
        assert!(status.is_healthy(), "it does not say that it is not");
    }

    #[test]
    fn it_comes_through_the_envelope_to_the_byte() {
        let line = r#"{"status":{"interface":"x", "n":[1, 2],"a":{}}}"#;
        let Ok(Reply::Status(status)) = serde_json::from_str(line) else {
            panic!("{line}");
        };
        assert_eq!((status.system(), status.is_healthy()), (None, true));
        let again = serde_json::to_string(&Reply::Status(status)).expect("it is JSON");
        assert_eq!(again, line);
    }
}
