//! A node of a coordinated ring: see `ring-board --help`.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use ring_board::options::Options;
use ring_host::observe::goes_to_journal;
use ring_process::run_as_process_1;

fn main() -> ExitCode {
    if let Some(code) = run_as_process_1() {
        return ExitCode::from(code);
    }
    let Err(error) = ring_board::run(&Options::parse()) else {
        return ExitCode::SUCCESS;
    };
    // The prefix is the priority of the line: in the journal it marks the line as an error.
    let mut stderr = io::stderr();
    let start = if goes_to_journal(&stderr) {
        "<3>"
    } else {
        "ring-board: "
    };
    // If standard error is closed, the exit code still shows the result.
    let _ = writeln!(stderr, "{start}{error}");
    ExitCode::from(error.exit_code())
}
