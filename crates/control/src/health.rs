//! The health of a node: one verdict for every system, for `status` and for monitors.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The health of a node, from the best to the worst.
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
    /// The node works.
    #[default]
    Healthy,
    /// The node works, but something needs attention.
    Degraded,
    /// The node or its ring does not work.
    Critical,
}

impl Health {
    /// Returns the health of a node whose status contains none: degraded, because the node may be ill.
    pub(super) const fn unreported() -> Self {
        Self::Degraded
    }

    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A problem of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The health of the node with this problem.
    pub health: Health,
    /// The problem and the remedy, as a sentence.
    pub text: String,
}

impl Finding {
    /// Creates a finding that needs attention.
    pub fn degraded(text: impl Into<String>) -> Self {
        let (health, text) = (Health::Degraded, text.into());
        Self { health, text }
    }

    /// Creates a finding that keeps the node or its ring from working.
    pub fn critical(text: impl Into<String>) -> Self {
        let (health, text) = (Health::Critical, text.into());
        Self { health, text }
    }
}

/// The health of a node, and the reasons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The worst health of all findings.
    pub health: Health,
    /// The problems and the remedies, as sentences, the worst first.
    pub troubles: Vec<String>,
}

impl Verdict {
    /// Creates the verdict from a node's findings.
    pub fn from_findings(mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.health));
        Self {
            health: findings
                .first()
                .map_or_else(Health::default, |it| it.health),
            troubles: findings.into_iter().map(|finding| finding.text).collect(),
        }
    }

    /// Creates the verdict for a status without a health that this program knows.
    pub(super) fn unreported(mut troubles: Vec<String>) -> Self {
        let why = "this daemon does not report a health that this ringctl knows: install the same version of both, and restart the daemon";
        troubles.insert(0, why.to_owned());
        let health = Health::unreported();
        Self { health, troubles }
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, Health, Verdict};

    #[test]
    fn the_worst_finding_decides_and_is_first() {
        assert_eq!(Verdict::from_findings(Vec::new()).health, Health::Healthy);
        let findings = ["a", "b"].map(Finding::degraded);
        let [a, b] = findings;
        let verdict = Verdict::from_findings(vec![a, b, Finding::critical("c")]);
        assert_eq!(verdict.health, Health::Critical);
        assert_eq!(verdict.troubles, ["c", "a", "b"]);
    }
}
