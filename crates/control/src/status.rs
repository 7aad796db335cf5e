//! What `status` answers, whatever the system.

use serde::{Deserialize, Serialize};

use super::{Health, OwnJson, Verdict};

/// A node's status: an object with the system's own keys, as it came.
///
/// Some keys are read by programs that know nothing of the system: `system`, its name, tells one system's status from
/// another's; `health` tells how well the node does what it is for, and `troubles` why. A system whose page says which keys
/// its status has may have its name in `protocol`.
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
    health: Option<Health>,
    #[serde(default)]
    troubles: Vec<String>,
}

impl NodeStatus {
    /// Makes the status of a node of `system`. `own` is an object without the key `system`.
    pub fn new(system: &str, own: &impl Serialize) -> Self {
        #[derive(Serialize)]
        struct Whole<'a, T> {
            system: &'a str,
            #[serde(flatten)]
            own: &'a T,
        }
        Self(OwnJson::of(&Whole { system, own }))
    }

    /// Makes a status that has the system's own keys and no others.
    pub(super) fn of_keys(own: &impl Serialize) -> Self {
        Self(OwnJson::of(own))
    }

    /// The JSON.
    pub const fn json(&self) -> &OwnJson {
        &self.0
    }

    /// The system's name; `None`: it has neither a key `system` nor a key `protocol`, or has something else there.
    pub fn system(&self) -> Option<String> {
        let keys = self.0.read::<CommonKeys>().ok()?;
        keys.system.or(keys.protocol)
    }

    /// Returns the verdict of the node on itself. If the status has none, the verdict is degraded.
    pub fn verdict(&self) -> Verdict {
        let keys = self.0.read::<CommonKeys>().ok();
        let (health, troubles) = keys.map_or((None, Vec::new()), |it| (it.health, it.troubles));
        match health {
            Some(health) => Verdict { health, troubles },
            None => Verdict::untold(troubles),
        }
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
    use crate::{Health, Reply, Verdict};

    #[derive(Serialize)]
    struct Own {
        health: Health,
        role: &'static str,
        counters: Vec<u8>,
    }

    #[test]
    fn a_status_keeps_the_systems_own_keys_behind_those_of_all() {
        let own = Own {
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
    fn it_comes_through_the_envelope_to_the_byte() {
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
