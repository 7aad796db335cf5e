//! Checks that the manual pages and `--help` agree: both are generated from the same declarations.

#[path = "../../../tests/man/pages.rs"]
mod pages;

use pages::{check, check_help, pages};

#[test]
fn manual_pages_say_what_help_says() {
    let made = pages(ringctl::command());
    let is_own = |name: &str| name.starts_with("ringctl");
    check(&made, is_own, "cargo test -p ringctl --test man");
    let names_aliases = made["ringctl-run.8"].contains(r"\-\-wait]");
    assert!(names_aliases, "--timeout has another name");
}

#[test]
fn help_has_short_summaries_and_no_line_that_a_terminal_breaks() {
    check_help(&ringctl::command());
}
