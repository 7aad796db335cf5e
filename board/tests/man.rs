//! The manual page must agree with `--help`, because both come from the same declarations.

#[path = "../../tests/man/pages.rs"]
mod pages;

use ring_board::command_line::command;

use pages::{check, check_help, check_reference, pages};

/// The command that writes the pages.
const REWRITE_COMMAND: &str = "cargo test -p ring-board --test man";

#[test]
fn the_manual_page_matches_the_help() {
    let made = pages(command());
    let is_own = |name: &str| name.starts_with("ring-board");
    check(&made, is_own, REWRITE_COMMAND);
}

#[test]
fn the_reference_agrees_with_the_help() {
    check_reference(command(), REWRITE_COMMAND);
}

#[test]
fn help_has_short_summaries_and_no_line_that_a_terminal_breaks() {
    check_help(&command());
}
