//! The health of a node, for `status` and for monitors. All systems have the same kinds of health.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The health of a node. The best value comes first, and the worst value is last.
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
    /// Returns the health that a node counts as if its status contains no health. This health is degraded, because the
    /// node may have a problem.
    pub(super) const fn default_when_absent() -> Self {
        troubles::NO_HEALTH.health
    }

    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A kind of problem that a status can list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trouble {
    /// Name of the kind, for documents and tests.
    pub name: &'static str,
    /// The health of a node with only this problem.
    pub health: Health,
    /// A part of the problem's sentence. All problems of this kind have this part in common.
    pub phrase: &'static str,
    /// Meaning of the problem.
    pub meaning: &'static str,
}

/// Declares a table of troubles, and a constant for each of them. The test `catalog` generates
/// `docs/reference/troubles.md` from the tables.
#[macro_export]
macro_rules! troubles {
    ($visibility:vis $table:ident: $(
        $constant:ident $name:literal $health:ident $phrase:literal $meaning:literal;
    )+) => {
        $(
            #[doc = $meaning]
            #[allow(dead_code, reason = "the test of the documents reads only the table")]
            $visibility const $constant: $crate::Trouble = $crate::Trouble {
                name: $name,
                health: $crate::Health::$health,
                phrase: $phrase,
                meaning: $meaning,
            };
        )+

        /// The table of these troubles.
        #[allow(dead_code, reason = "only the test of the documents reads the table")]
        $visibility const $table: &[$crate::Trouble] = &[$($constant),+];
    };
}

/// The troubles that `ringctl` itself finds.
pub mod troubles {
    troubles! {
        pub TROUBLES:
        NO_HEALTH "no_health" Degraded "this daemon reports no health that this ringctl knows"
            "ringctl and the daemon have different versions";
    }
}

/// A problem of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The health of a node with only this problem.
    pub health: Health,
    /// The problem and the remedy, as a sentence.
    pub text: String,
}

impl Finding {
    /// Creates a finding. The text must contain the phrase of the trouble, because operators search for this phrase in
    /// the documents.
    pub fn new(trouble: &Trouble, text: impl Into<String>) -> Self {
        let (health, text) = (trouble.health, text.into());
        debug_assert!(text.contains(trouble.phrase), "{}: {text}", trouble.name);
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

    /// Creates the verdict for a status with no health, or with a health that this program does not know.
    pub(super) fn without_health(mut texts: Vec<String>) -> Self {
        let why = "this daemon reports no health that this ringctl knows: install the same version of both, and \
                   restart the daemon";
        texts.insert(0, why.to_owned());
        debug_assert!(why.contains(troubles::NO_HEALTH.phrase), "{why}");
        let health = Health::default_when_absent();
        Self {
            health,
            troubles: texts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Finding, Health, Verdict};

    #[test]
    fn the_worst_finding_decides_and_is_first() {
        assert_eq!(Verdict::from_findings(Vec::new()).health, Health::Healthy);
        let finding = |health, text: &str| Finding {
            health,
            text: text.to_owned(),
        };
        let [a, b] = ["a", "b"].map(|text| finding(Health::Degraded, text));
        let verdict = Verdict::from_findings(vec![a, b, finding(Health::Critical, "c")]);
        assert_eq!(verdict.health, Health::Critical);
        assert_eq!(verdict.troubles, ["c", "a", "b"]);
    }
}
