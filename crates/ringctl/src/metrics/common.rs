//! The metrics that every daemon has.

use std::fmt;
use std::time::Duration;

use ring_control::{Health, NodeStatus, Verdict};
use serde::Deserialize;

use super::metric::{Source, Writer, metrics};
use crate::signers::Signers;

metrics! {
    METRICS:
    UP Gauge "ringd_up" []
        "1 if the daemon answers. If it does not answer, the value is 0, and the other metrics are absent.";
    BUILD Gauge "ringd_build_info" ["system", "version"]
        "Always 1. The label version is empty if the status of the system contains no version.";
    UPTIME Seconds "ringd_uptime" []
        "The time since the start of the daemon.";
    HEALTH Gauge "ringd_health" ["health"]
        "1 for the present health of the node, and 0 for the other values.";
    TROUBLES Gauge "ringd_troubles" []
        "The number of present problems. The status lists them with their remedies.";
    ACCEPTS_UNSIGNED Gauge "ringd_accepts_unsigned" []
        "Whether the node accepts messages without a valid signature: 0 or 1. Absent without keys.";
    MEMBERS_BY_KEY Gauge "ringd_members_by_key" ["key"]
        "The number of nodes that send messages to this node, by the id of their key, or none. Absent without keys.";
    MISSING_LIMITS Gauge "ringd_missing_limits" []
        "The number of limits of the daemon that the kernel does not support. The status lists them.";
}

/// The name of the system of rings in the label `system`. The status of a ring contains no name.
const RING_SYSTEM: &str = "ring";

/// A daemon that does not answer.
#[derive(Debug)]
pub(super) struct Silence;

impl Source for Silence {
    fn write(&self, to: &mut Writer<'_>) -> fmt::Result {
        to.write_one(&UP, false)
    }
}

/// The keys that the statuses of several systems contain.
#[derive(Debug, Default, Deserialize)]
struct Keys {
    #[serde(default)]
    ringd: String,
    up_ns: Option<u64>,
    /// Limits that the kernel does not support. Absent in the status of daemons of earlier versions.
    missing_limits: Option<Vec<String>>,
}

/// A daemon that answers.
#[derive(Debug)]
pub(super) struct Answer {
    system: String,
    keys: Keys,
    verdict: Verdict,
    signers: Option<Signers>,
}

impl Answer {
    pub(super) fn new(status: &NodeStatus) -> Self {
        Self {
            system: status.system().unwrap_or_else(|| RING_SYSTEM.to_owned()),
            keys: status.json().decode().unwrap_or_default(),
            verdict: status.verdict(),
            signers: Signers::of(status),
        }
    }
}

impl Source for Answer {
    fn write(&self, to: &mut Writer<'_>) -> fmt::Result {
        let Verdict { health, troubles } = &self.verdict;
        to.write_one(&UP, true)?;
        to.write(
            &BUILD,
            [([self.system.as_str(), self.keys.ringd.as_str()], true)],
        )?;
        let uptime = self.keys.up_ns.map(Duration::from_nanos);
        to.write(&UPTIME, uptime.map(|it| ([], it)))?;
        let kinds = [Health::Healthy, Health::Degraded, Health::Critical];
        to.write(&HEALTH, kinds.map(|it| ([it.name()], it == *health)))?;
        to.write_one(&TROUBLES, troubles.len())?;
        if let Some(signers) = &self.signers {
            to.write_one(&ACCEPTS_UNSIGNED, signers.trust.accepts_unsigned)?;
            to.write_counts(&MEMBERS_BY_KEY, &signers.nodes_by_key())?;
        }
        let missing = self.keys.missing_limits.as_ref();
        to.write(&MISSING_LIMITS, missing.map(|it| ([], it.len())))
    }
}
