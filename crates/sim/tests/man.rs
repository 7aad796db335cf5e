//! The manual page agrees with `--help`: both are made from the same declarations.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests run outside the simulations"
)]

#[path = "../../../tests/man/pages.rs"]
mod pages;

use clap::CommandFactory;
use ring_sim::command::Options;

use pages::{check, check_lines, pages};

#[test]
fn the_manual_page_agrees_with_the_help() {
    let made = pages(Options::command());
    let is_own = |name: &str| name.starts_with("ring-sim");
    check(&made, is_own, "cargo test -p ring-sim --test man");
}

#[test]
fn no_line_of_help_is_broken_twice() {
    check_lines(&Options::command());
}
