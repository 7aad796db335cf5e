#![forbid(unsafe_code)]
//! Nodes as processes, each in a network namespace of its own on one segment, with one database.

mod refusals;
mod rings;
mod stand;
mod web;

use std::process::ExitCode;

fn main() -> ExitCode {
    let parts = [rings::tests(), refusals::tests(), web::tests()];
    ring_segment::main(parts.into_iter().flatten().collect())
}
