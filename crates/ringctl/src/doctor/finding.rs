//! A finding: a problem, its evidence and its remedy.

use std::fmt::Write as _;

use ring_control::escape_control_characters;
use serde::Serialize;

/// The severity of a finding. The worst severity comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Severity {
    /// The ring does not work, or will not survive a failure.
    Error,
    /// Something needs attention.
    Warning,
    /// A fact that may explain another finding.
    Note,
}

impl Severity {
    /// Returns the word at the start of a finding on the page.
    const fn word(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Warning => "WARNING",
            Self::Note => "NOTE",
        }
    }
}

/// A kind of finding. The name of a kind never changes, so that programs can use it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Kind {
    #[serde(rename = "kind")]
    pub name: &'static str,
    #[serde(skip)]
    pub severity: Severity,
    /// Meaning for the reference page.
    #[serde(skip)]
    pub meaning: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    severity: Severity,
    #[serde(flatten)]
    kind: &'static Kind,
    text: String,
    evidence: Option<String>,
    /// The remedy. `None` if the text already contains the remedy.
    remedy: Option<String>,
}

impl Finding {
    pub(super) fn new(kind: &'static Kind, text: impl Into<String>) -> Self {
        Self {
            severity: kind.severity,
            kind,
            text: text.into(),
            evidence: None,
            remedy: None,
        }
    }

    pub(super) fn with_severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    pub(super) fn with_evidence(self, evidence: impl Into<String>) -> Self {
        let evidence = Some(evidence.into());
        Self { evidence, ..self }
    }

    pub(super) fn with_remedy(self, remedy: impl Into<String>) -> Self {
        let remedy = Some(remedy.into());
        Self { remedy, ..self }
    }

    pub(super) const fn severity(&self) -> Severity {
        self.severity
    }

    #[cfg(test)]
    pub(super) fn is(&self, kind: &Kind) -> bool {
        self.kind == kind
    }

    /// Whether the finding needs a person's attention.
    pub(super) fn needs_attention(&self) -> bool {
        self.severity < Severity::Note
    }

    /// Replaces each text of the finding by the result of `edit`.
    pub(super) fn map_texts(self, edit: impl Fn(&str) -> String) -> Self {
        Self {
            text: edit(&self.text),
            evidence: self.evidence.as_deref().map(&edit),
            remedy: self.remedy.as_deref().map(&edit),
            ..self
        }
    }

    /// Returns the lines of the finding on the page.
    pub(super) fn page(&self) -> String {
        let mut page = format!("{:<9}{}\n", self.severity.word(), safe(&self.text));
        let rest = [("seen:", &self.evidence), ("do:", &self.remedy)];
        for (word, text) in rest {
            if let Some(text) = text {
                // Writing to a string never fails.
                let _ = writeln!(page, "    {word:<6}{}", safe(text));
            }
        }
        page
    }
}

fn safe(text: &str) -> String {
    escape_control_characters(text)
}

#[cfg(test)]
mod tests {
    use super::super::kinds::LOSS;
    use super::{Finding, Severity};

    #[test]
    fn a_finding_has_one_line_per_part_and_stable_keys() {
        let finding = Finding::new(&LOSS, "frames are lost\u{7}");
        assert_eq!(finding.page(), "WARNING  frames are lost\\u{7}\n");
        let finding = finding
            .with_severity(Severity::Error)
            .with_evidence("3 of 40")
            .with_remedy("check the cable");
        let page = "ERROR    frames are lost\\u{7}\n    seen: 3 of 40\n    do:   check the cable\n";
        assert_eq!(finding.page(), page);
        assert!(finding.needs_attention());
        assert!(
            !finding
                .clone()
                .with_severity(Severity::Note)
                .needs_attention()
        );
        let json = serde_json::to_string(&finding).expect("it is JSON");
        let start = r#"{"severity":"error","kind":"loss","text":"frames are lost\u0007","#;
        let end = r#""evidence":"3 of 40","remedy":"check the cable"}"#;
        assert_eq!(json, [start, end].concat());
    }
}
