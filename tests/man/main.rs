//! Checks that the manual pages in `docs/man` agree with the options that the programs declare.

mod pages;

use pages::{check, check_lines, pages};

#[test]
fn manual_pages_agree_with_help() {
    let made = pages(ringd::cli::command());
    let is_own = |name: &str| name.starts_with("ringd");
    check(&made, is_own, "cargo test --test man");
}

#[test]
fn no_line_of_help_is_broken_twice() {
    let mut daemons = ringd::cli::command();
    daemons.build();
    check_lines(&daemons);
}
