//! Long help texts that combine parts of several systems.

use super::jitterbug::help as jitterbug_help;
use super::lab2::help as ring_help;

pub(super) fn run_help() -> String {
    [ring_help::RUN, jitterbug_help::RUN, ring_help::RUN_CODES].join("\n\n")
}

pub(super) fn lock_help() -> String {
    let about = [ring_help::LOCK, jitterbug_help::LOCK].join(" ");
    [&about, ring_help::LOCK_CODES].join("\n\n")
}
