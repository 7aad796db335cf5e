//! How well a node does what it is for: one verdict for every system, as `status` shows it and monitors read it.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// How well a node does what it is for, from the best to the worst.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Health {
    /// All is well.
    #[default]
    Healthy,
    /// The node does its job, and something needs attention.
    Degraded,
    /// The node, or its ring, does not do its job.
    Critical,
}

impl Health {
    /// Returns the health of a node whose status has none: degraded, because the node may be ill.
    pub(super) const fn untold() -> Self {
        Self::Degraded
    }

    /// Returns the name that users see.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How well the node does what it is for, in spite of it.
    pub health: Health,
    /// What is wrong and what to do, as a sentence.
    pub text: String,
}

impl Finding {
    /// Makes a finding that needs attention.
    pub fn degraded(text: impl Into<String>) -> Self {
        let (health, text) = (Health::Degraded, text.into());
        Self { health, text }
    }

    /// Makes a finding that keeps the node, or its ring, from its job.
    pub fn critical(text: impl Into<String>) -> Self {
        let (health, text) = (Health::Critical, text.into());
        Self { health, text }
    }
}

/// How well a node does what it is for, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The worst of all findings.
    pub health: Health,
    /// What is wrong and what to do, as sentences, the worst first.
    pub troubles: Vec<String>,
}

impl Verdict {
    /// Makes the verdict on a node with these findings.
    pub fn of(mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.health));
        Self {
            health: findings
                .first()
                .map_or_else(Health::default, |it| it.health),
            troubles: findings.into_iter().map(|finding| finding.text).collect(),
        }
    }
}

impl Verdict {
    /// Makes the verdict on a node whose status has no health that this program knows.
    pub(super) fn untold(mut troubles: Vec<String>) -> Self {
        let why = "this daemon does not report its health as this ringctl expects: run the same version of both, and restart the daemon";
        troubles.insert(0, why.to_owned());
        let health = Health::untold();
        Self { health, troubles }
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, Health, Verdict};

    #[test]
    fn the_worst_finding_decides_and_stands_first() {
        assert_eq!(Verdict::of(Vec::new()).health, Health::Healthy);
        let findings = ["a", "b"].map(Finding::degraded);
        let [a, b] = findings;
        let verdict = Verdict::of(vec![a, b, Finding::critical("c")]);
        assert_eq!(verdict.health, Health::Critical);
        assert_eq!(verdict.troubles, ["c", "a", "b"]);
    }
}
