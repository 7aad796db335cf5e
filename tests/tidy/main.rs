//! Holds the project to `docs/style.md`, as far as a program can judge it.
//!
//! `rules.rs` lists the rules, `sentences.rs` finds the sentences that they judge, and `ratchet.rs` compares the number of
//! breaches in each folder with `allowed.txt`. A folder without a line in that file has none. A number may only fall:
//! `RINGD_WRITE_TIDY=1 cargo test --test tidy` writes the smaller numbers.

mod code;
mod commits;
mod ratchet;
mod rules;
mod sentences;
mod tree;

use tree::Tree;

#[test]
fn no_folder_has_more_breaches_of_the_style_than_it_is_allowed() {
    let tree = Tree::read();
    let mut breaches = sentences::breaches(&tree);
    breaches.extend(code::breaches(&tree));
    ratchet::check(&breaches);
}

#[test]
fn the_rules_find_what_they_are_for_and_nothing_else() {
    rules::check_examples();
}

#[test]
fn new_commits_have_a_subject_in_the_imperative_and_a_reason() {
    commits::check();
}
