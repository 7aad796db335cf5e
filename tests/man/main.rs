//! The manual pages say what `--help` says: both are made from the same declarations.

mod pages;

use clap::CommandFactory;

use pages::{check, check_lines, pages};

#[test]
fn manual_pages_say_what_help_says() {
    let mut made = pages(ringd::cli::command());
    made.extend(pages(ringd::ctl::Options::command()));
    let names_aliases = made["ringctl-run.8"].contains(r"\-\-wait]");
    assert!(names_aliases, "--timeout has another name");
    let is_own = |name: &str| name.starts_with("ringd") || name.starts_with("ringctl");
    check(&made, is_own, "cargo test --test man");
}

#[test]
fn no_line_of_help_is_broken_twice() {
    let mut daemons = ringd::cli::command();
    daemons.build();
    check_lines(&daemons);
    check_lines(&ringd::ctl::Options::command());
}
