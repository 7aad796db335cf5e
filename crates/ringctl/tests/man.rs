//! The manual pages say what `--help` says: both are made from the same declarations.

#[path = "../../../tests/man/pages.rs"]
mod pages;

use pages::{check, check_lines, pages};

#[test]
fn manual_pages_say_what_help_says() {
    let made = pages(ringctl::command());
    let names_aliases = made["ringctl-run.8"].contains(r"\-\-wait]");
    assert!(names_aliases, "--timeout has another name");
    let is_own = |name: &str| name.starts_with("ringctl");
    check(&made, is_own, "cargo test -p ringctl --test man");
}

#[test]
fn no_line_of_help_is_broken_twice() {
    check_lines(&ringctl::command());
}
