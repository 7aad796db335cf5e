//! The manual page, which must agree with `--help`: both come from the same declarations.

#[path = "../../tests/man/pages.rs"]
mod pages;

use clap::CommandFactory;
use ring_board::options::Options;

use pages::{check, check_lines, pages};

#[test]
fn the_manual_page_matches_the_help() {
    let made = pages(Options::command());
    let is_own = |name: &str| name.starts_with("ring-board");
    check(&made, is_own, "cargo test -p ring-board --test man");
}

#[test]
fn no_line_of_help_is_broken_twice() {
    check_lines(&Options::command());
}
