//! Rules for the subjects and bodies of commits.

use crate::tree::git;

/// Time from which commits must follow the rules.
const SINCE: &str = "2026-11-28T06:00:00Z";
const SUBJECT_LENGTH_MAX: usize = 72;

/// Checks each commit since [`SINCE`], except merges.
///
/// # Panics
/// Panics if a subject is not `area: imperative` with at most 72 characters, or a body is empty.
pub(super) fn check() {
    let since = format!("--since={SINCE}");
    let log = git(&["log", "--no-merges", &since, "--format=%h%x1f%s%x1f%b%x1e"]);
    let mut wrong = Vec::new();
    for commit in log
        .split('\u{1e}')
        .map(str::trim)
        .filter(|text| !text.is_empty())
    {
        let mut parts = commit.splitn(3, '\u{1f}');
        let (id, subject, body) = (
            parts.next(),
            parts.next().unwrap_or(""),
            parts.next().unwrap_or(""),
        );
        let fault = fault(subject, body);
        wrong.extend(fault.map(|fault| format!("{}: {subject}: {fault}", id.unwrap_or(""))));
    }
    assert!(
        wrong.is_empty(),
        "docs/contributors/style.md has the rules for commits:\n{}",
        wrong.join("\n")
    );
}

fn fault(subject: &str, body: &str) -> Option<&'static str> {
    let Some((area, summary)) = subject.split_once(": ") else {
        return Some("begin with the area and a colon");
    };
    let is_area = |character: char| {
        character.is_ascii_lowercase() || ",-._/ ".contains(character) || character.is_ascii_digit()
    };
    let first = summary.split(' ').next().unwrap_or_default();
    if !area.chars().all(is_area) {
        Some("name the area in lower case")
    } else if subject.chars().count() > SUBJECT_LENGTH_MAX {
        Some("use at most 72 characters")
    } else if first.ends_with("ed")
        || first.ends_with("ing")
        || first.ends_with('s') && !first.ends_with("ss")
    {
        Some("use the imperative after the colon")
    } else if body.trim().is_empty() {
        Some("give the reason in the body")
    } else {
        None
    }
}

#[test]
fn a_good_description_has_no_fault_and_each_fault_is_found() {
    assert_eq!(
        fault("ftn: survey tokens again after a restart", "Why."),
        None
    );
    for (subject, body) in [
        ("Survey tokens again", "Why."),
        ("FTN: survey tokens again", "Why."),
        ("ftn: surveyed tokens again", "Why."),
        ("ftn: surveying tokens again", "Why."),
        ("ftn: surveys tokens again", "Why."),
        ("ftn: survey tokens again", " "),
        (
            "ftn: survey the tokens of all clients again after each of the restarts",
            "Why.",
        ),
    ] {
        let is_long = subject.len() > SUBJECT_LENGTH_MAX;
        assert_eq!(
            fault(subject, body).is_some(),
            is_long || subject.len() < 50,
            "{subject}"
        );
    }
}
