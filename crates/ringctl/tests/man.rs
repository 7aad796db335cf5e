//! Checks that the manual pages and `--help` agree: both are generated from the same declarations.

#[path = "../../../tests/man/pages.rs"]
mod pages;

use pages::{check, check_help, check_reference, pages};

/// The command that writes the pages.
const REWRITE_COMMAND: &str = "cargo test -p ringctl --test man";

#[test]
fn manual_pages_say_what_help_says() {
    let made = pages(ringctl::command());
    let is_own = |name: &str| name.starts_with("ringctl");
    check(&made, is_own, REWRITE_COMMAND);
    let names_aliases = made["ringctl-run.1"].contains(r"\-\-timeout]");
    assert!(names_aliases, "--wait has another name");
}

#[test]
fn the_reference_says_what_help_says() {
    check_reference(ringctl::command(), REWRITE_COMMAND);
}

#[test]
fn help_has_short_summaries_and_no_line_that_a_terminal_breaks() {
    check_help(&ringctl::command());
}
