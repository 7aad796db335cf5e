//! Checks that the manual pages in `docs/man` agree with the options that the programs declare.

mod pages;

use pages::{check, check_help, pages};

#[test]
fn manual_pages_agree_with_help() {
    let made = pages(ringd::cli::command());
    let is_own = |name: &str| name.starts_with("ringd");
    check(&made, is_own, "cargo test --test man");
}

#[test]
fn help_has_short_summaries_and_no_line_that_a_terminal_breaks() {
    let mut daemons = ringd::cli::command();
    daemons.build();
    check_help(&daemons);
}
