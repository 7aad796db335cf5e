//! Checks that the manual pages in `docs/man` agree with the options that the programs declare.

mod pages;

use clap::Command;

use pages::{check, check_help, check_reference, pages};

/// The command that writes the pages.
const REWRITE_COMMAND: &str = "cargo test --test man";

#[test]
fn manual_pages_agree_with_help() {
    let made = pages(ringd::cli::command());
    let is_own = |name: &str| name.starts_with("ringd");
    check(&made, is_own, REWRITE_COMMAND);
}

#[test]
fn the_reference_agrees_with_help() {
    let mut daemons = ringd::cli::command();
    daemons.build();
    let others: Vec<Command> = daemons.get_subcommands().cloned().collect();
    check_reference(ringd::cli::command(), REWRITE_COMMAND);
    for other in others {
        check_reference(other, REWRITE_COMMAND);
    }
}

#[test]
fn help_has_short_summaries_and_no_line_that_a_terminal_breaks() {
    let mut daemons = ringd::cli::command();
    daemons.build();
    check_help(&daemons);
}
