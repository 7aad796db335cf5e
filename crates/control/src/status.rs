//! The answer to `status`. The nodes of all systems send the same type.

use serde::{Deserialize, Serialize};

use super::{Health, RawJson, Verdict};

/// A node's status: a JSON object with the keys of the node's system. The text of the object is kept unchanged.
///
/// A program that does not know the system can read three keys. `system` is the name of the system. `health` is the
/// health of the node, and `troubles` are the reasons for it. In Jitterbug, the document of the protocol defines all
/// keys of the status, so there `protocol` contains the name of the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeStatus(RawJson);

/// The keys that every system's status may contain.
#[derive(Deserialize)]
struct CommonKeys {
    #[serde(default)]
    system: Option<String>,
    #[serde(default)]
    protocol: Option<String>,
    #[serde(default)]
    health: Option<Health>,
    #[serde(default)]
    troubles: Vec<String>,
}

impl NodeStatus {
    /// Creates the status of a node of `system`. `own` is an object with the other keys; it must not contain the key
    /// `system`.
    pub fn new(system: &str, own: &impl Serialize) -> Self {
        #[derive(Serialize)]
        struct Combined<'a, T> {
            system: &'a str,
            #[serde(flatten)]
            own: &'a T,
        }
        Self(RawJson::encode(&Combined { system, own }))
    }

    /// Creates a status that contains only the keys of `own`.
    pub(super) fn of_keys(own: &impl Serialize) -> Self {
        Self(RawJson::encode(own))
    }

    /// Returns the JSON.
    pub const fn json(&self) -> &RawJson {
        &self.0
    }

    /// Returns the system's name. Returns `None` if neither `system` nor `protocol` contains a name.
    pub fn system(&self) -> Option<String> {
        let keys = self.0.decode::<CommonKeys>().ok()?;
        keys.system.or(keys.protocol)
    }

    /// Returns the health that the node reports. If the node reports no health, the verdict is degraded.
    pub fn verdict(&self) -> Verdict {
        let keys = self.0.decode::<CommonKeys>().ok();
        let (health, troubles) = keys.map_or((None, Vec::new()), |it| (it.health, it.troubles));
        match health {
            Some(health) => Verdict { health, troubles },
            None => Verdict::without_health(troubles),
        }
    }
}

/// Percentiles of a measured time, in nanoseconds. All are 0 before the first measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// The shortest time.
    pub min_ns: u64,
    /// Half of the measured times were shorter.
    pub p50_ns: u64,
    /// 90 % of the measured times were shorter.
    pub p90_ns: u64,
    /// 99 % of the measured times were shorter.
    pub p99_ns: u64,
    /// The longest time.
    pub max_ns: u64,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    use super::NodeStatus;
    use crate::{Health, Reply, Verdict};

    #[derive(Serialize)]
    struct ExampleStatus {
        health: Health,
        role: &'static str,
        counters: Vec<u8>,
    }

    #[test]
    fn a_status_has_the_common_keys_before_the_systems() {
        let own = ExampleStatus {
            health: Health::Critical,
            role: "leader",
            counters: vec![1],
        };
        let status = NodeStatus::new("note", &own);
        let line = r#"{"system":"note","health":"critical","role":"leader","counters":[1]}"#;
        assert_eq!(status.json().text(), line);
        assert_eq!(status.system().as_deref(), Some("note"));
        assert_eq!(status.verdict().health, Health::Critical);
    }

    #[test]
    fn a_system_may_be_named_by_its_protocol() {
        let status = NodeStatus::of_keys(
            &[("protocol", "note")]
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
        );
        assert_eq!(status.system().as_deref(), Some("note"));
    }

    #[test]
    fn a_status_without_health_is_not_healthy() {
        let status =
            NodeStatus::of_keys(&[("state", "up")].into_iter().collect::<BTreeMap<_, _>>());
        let Verdict { health, troubles } = status.verdict();
        assert_eq!(health, Health::Degraded);
        assert!(troubles[0].contains("restart the daemon"), "{troubles:?}");
    }

    #[test]
    fn a_status_is_unchanged_in_the_envelope() {
        let line = r#"{"status":{"interface":"x", "n":[1, 2],"a":{}}}"#;
        let Ok(Reply::Status(status)) = serde_json::from_str(line) else {
            panic!("{line}");
        };
        assert_eq!(
            (status.system(), status.verdict().health),
            (None, Health::Degraded)
        );
        let again = serde_json::to_string(&Reply::Status(status)).expect("it is JSON");
        assert_eq!(again, line);
    }
}
