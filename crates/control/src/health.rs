//! The health of a node, for `status` and for monitors. All systems have the same kinds of health.

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
    /// Returns the health of a node whose status contains no health. The result is degraded, because the node may have
    /// a problem.
    pub(super) const fn default_when_absent() -> Self {
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
    /// The health of a node that has this problem and no other.
    pub health: Health,
    /// The problem and the remedy, as a sentence.
    pub text: String,
}

impl Finding {
    /// Creates a finding about a problem that needs attention.
    pub fn with_problem(text: impl Into<String>) -> Self {
        let (health, text) = (Health::Degraded, text.into());
        Self { health, text }
    }

    /// Creates a finding about a problem that keeps the node or its ring from working.
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

    /// Creates the verdict for a status that has no health, or has a health that this program does not know.
    pub(super) fn without_health(mut troubles: Vec<String>) -> Self {
        let why = "this daemon reports no health that this ringctl knows: install the same version of both, and \
                   restart the daemon";
        troubles.insert(0, why.to_owned());
        let health = Health::default_when_absent();
        Self { health, troubles }
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, Health, Verdict};

    #[test]
    fn the_worst_finding_decides_and_is_first() {
        assert_eq!(Verdict::from_findings(Vec::new()).health, Health::Healthy);
        let findings = ["a", "b"].map(Finding::with_problem);
        let [a, b] = findings;
        let verdict = Verdict::from_findings(vec![a, b, Finding::critical("c")]);
        assert_eq!(verdict.health, Health::Critical);
        assert_eq!(verdict.troubles, ["c", "a", "b"]);
    }
}
