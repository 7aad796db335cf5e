//! Long texts of `--help` that are made of those of several systems.

use super::jitterbug::help as of_jitterbug;
use super::lab2::help as of_rings;

/// What `ringctl run --help` says at length.
pub(super) fn run_help() -> String {
    [of_rings::RUN, of_jitterbug::RUN, of_rings::RUN_CODES].join("\n\n")
}

/// What `ringctl lock --help` says at length.
pub(super) fn lock_help() -> String {
    let promise = [of_rings::LOCK, of_jitterbug::LOCK].join(" ");
    [&promise, of_rings::LOCK_CODES].join("\n\n")
}
