//! The report: one line for each check.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    /// The check is not part of the level, or the run gave no occasion for the check.
    NotApplicable,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub name: &'static str,
    /// The page and the id of the rule.
    pub rule: &'static str,
    pub outcome: Outcome,
    pub detail: String,
}

/// The results of all checks.
#[derive(Debug, Default)]
pub struct Report {
    pub(super) lines: Vec<Line>,
}

impl Report {
    pub(super) fn add(
        &mut self,
        (name, rule): (&'static str, &'static str),
        outcome: Outcome,
        detail: impl Into<String>,
    ) {
        self.lines.push(Line {
            name,
            rule,
            outcome,
            detail: detail.into(),
        });
    }

    /// Adds a check that passes if there are no violations.
    pub(super) fn add_violations(
        &mut self,
        check: (&'static str, &'static str),
        violations: &[String],
        passed: impl Into<String>,
    ) {
        match violations.first() {
            None => self.add(check, Outcome::Passed, passed),
            Some(first) => {
                let more = match violations.len() - 1 {
                    0 => String::new(),
                    more => format!(" (and {more} more)"),
                };
                self.add(check, Outcome::Failed, format!("{first}{more}"));
            }
        }
    }

    /// Adds a check that passes if the condition is true.
    pub(super) fn add_condition(
        &mut self,
        check: (&'static str, &'static str),
        passed: bool,
        detail: impl Into<String>,
    ) {
        let outcome = if passed {
            Outcome::Passed
        } else {
            Outcome::Failed
        };
        self.add(check, outcome, detail);
    }

    /// Whether no check failed.
    pub fn passed(&self) -> bool {
        self.failed().next().is_none()
    }

    /// Returns the names of the failed checks.
    pub fn failed(&self) -> impl Iterator<Item = &'static str> {
        let failed = self.lines.iter();
        failed
            .filter(|line| line.outcome == Outcome::Failed)
            .map(|line| line.name)
    }

    /// Returns the outcome of a check.
    pub fn outcome(&self, name: &str) -> Option<Outcome> {
        let line = self.lines.iter().find(|line| line.name == name);
        line.map(|line| line.outcome)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            let outcome = match line.outcome {
                Outcome::Passed => "passed",
                Outcome::Failed => "FAILED",
                Outcome::NotApplicable => "not applicable",
            };
            writeln!(
                f,
                "{outcome:14}  {:12}  {:16}  {}",
                line.name, line.rule, line.detail
            )?;
        }
        Ok(())
    }
}
