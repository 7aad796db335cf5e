//! The daemons and their simulator: see `ringd --help`.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use ringd::cli::Invocation;
use ringd::observe::goes_to_journal;
use ringd::sim;
use ringd::system::{ftn, jitterbug, lab2};

/// Something that must hold was broken in a simulation.
const BROKEN: u8 = 1;

fn main() -> ExitCode {
    let (code, error) = match Invocation::parse() {
        Invocation::Daemon(options) => match lab2::run(&options) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => (error.exit_code(), error.to_string()),
        },
        Invocation::Ftn(options) => match ftn::run(&options) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => (error.exit_code(), error.to_string()),
        },
        Invocation::Jitterbug(options) => match jitterbug::run(&options) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => (error.exit_code(), error.to_string()),
        },
        Invocation::Sim(options) => match sim::command::run(&options) {
            Ok(true) => return ExitCode::SUCCESS,
            Ok(false) => return ExitCode::from(BROKEN),
            Err(error) => (error.exit_code(), error.to_string()),
        },
    };
    // In the journal an error stands out by its priority.
    let mut stderr = io::stderr();
    let start = if goes_to_journal(&stderr) {
        "<3>"
    } else {
        "ringd: "
    };
    // Where nobody can be told, the exit code still says it.
    let _ = writeln!(stderr, "{start}{error}");
    ExitCode::from(code)
}
