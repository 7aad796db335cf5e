//! Checks the rules of `docs/contributors/style.md` that a program can judge.
//!
//! `rules.rs` lists the rules on words, and `sentences.rs` finds the sentences that they judge. `code.rs` contains the
//! rules for lines and names of Rust code, `rule_ids.rs` the rules for the ids of rules, and `commits.rs` the rules for
//! commits. `crates.rs` compares the list of the daemon's crates with the lock file.

mod code;
mod commits;
mod crates;
mod rule_ids;
mod rules;
mod sentences;
mod tree;

use std::fmt;

use tree::Tree;

/// A place that breaks a rule.
struct Breach {
    /// Path and line.
    place: String,
    rule: &'static str,
    text: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place, self.rule, self.text)
    }
}

#[test]
fn pages_messages_comments_and_names_follow_the_style() {
    let tree = Tree::read();
    let mut breaches = sentences::breaches(&tree);
    breaches.extend(code::breaches(&tree));
    let lines: Vec<_> = breaches.iter().map(ToString::to_string).collect();
    assert!(
        lines.is_empty(),
        "docs/contributors/style.md explains the rules:\n{}",
        lines.join("\n")
    );
}

#[test]
fn each_crate_of_the_daemon_is_on_its_page() {
    let (linked, listed) = (crates::linked(), crates::listed());
    let missing: Vec<_> = linked
        .iter()
        .filter(|&(name, line)| listed.get(name) != Some(line))
        .collect();
    let needless: Vec<_> = listed
        .keys()
        .filter(|&name| !linked.contains_key(name))
        .collect();
    assert!(
        missing.is_empty() && needless.is_empty(),
        "docs/contributors/dependencies.md lacks these lines: {missing:#?}\nand has needless crates: {needless:#?}"
    );
}

#[test]
fn each_id_of_a_rule_is_unique_and_each_citation_names_a_rule() {
    let lines: Vec<_> = rule_ids::breaches(&Tree::read())
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(lines.is_empty(), "ids of rules:\n{}", lines.join("\n"));
}

#[test]
fn a_page_for_operators_has_at_most_1200_words() {
    let tree = Tree::read();
    let folders = ["docs/tutorials/", "docs/how-to/", "docs/operations/"];
    let long: Vec<_> = tree
        .markdown()
        .filter(|page| folders.iter().any(|it| page.path.starts_with(it)))
        .map(|page| (&page.path, page.text.split_whitespace().count()))
        .filter(|(_, words)| *words > 1200)
        .collect();
    assert!(long.is_empty(), "pages with more words: {long:?}");
}

#[test]
fn each_rule_finds_its_bad_example_and_no_rule_finds_a_good_example() {
    rules::check_examples();
}

#[test]
fn new_commits_have_a_subject_in_the_imperative_and_a_reason() {
    commits::check();
}
