//! The program `ringd`: see `ringd --help`.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use clap_complete::CompleteEnv;
use ring_host::observe::goes_to_journal;
use ring_process::run_as_process_1;
use ringd::cli::{Invocation, command};
use ringd::system::{ftn, jitterbug, lab2};

/// The variable that a shell sets to request completions.
const COMPLETION_VARIABLE: &str = "RINGD_COMPLETE";

fn main() -> ExitCode {
    CompleteEnv::with_factory(command)
        .var(COMPLETION_VARIABLE)
        .complete();
    if let Some(code) = run_as_process_1() {
        return ExitCode::from(code);
    }
    let ended = match Invocation::parse() {
        Ok(Invocation::Daemon(options)) => lab2::run(options),
        Ok(Invocation::Ftn(options)) => ftn::run(options),
        Ok(Invocation::Jitterbug(options)) => jitterbug::run(options),
        Ok(Invocation::Keygen(options)) => options.run(),
        Ok(Invocation::CheckConfig(options)) => return ExitCode::from(options.run().unwrap_or(1)),
        Err(error) => Err(error),
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
