//! The program `ringd`: see `ringd --help`.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use ring_host::observe::goes_to_journal;
use ring_process::run_as_process_1;
use ringd::cli::Invocation;
use ringd::system::{ftn, jitterbug, lab2};

fn main() -> ExitCode {
    if let Some(code) = run_as_process_1() {
        return ExitCode::from(code);
    }
    let ended = match Invocation::parse() {
        Invocation::Daemon(options) => lab2::run(&options),
        Invocation::Ftn(options) => ftn::run(&options),
        Invocation::Jitterbug(options) => jitterbug::run(&options),
    };
    let Err(error) = ended else {
        return ExitCode::SUCCESS;
    };
    // Under systemd, the priority marks the line as an error in the journal.
    let mut stderr = io::stderr();
    let start = if goes_to_journal(&stderr) {
        "<3>"
    } else {
        "ringd: "
    };
    // If standard error is closed, only the exit code reports the failure.
    let _ = writeln!(stderr, "{start}{error}");
    ExitCode::from(error.exit_code())
}
