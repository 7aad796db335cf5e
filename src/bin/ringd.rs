//! The daemons and their simulator: see `ringd --help`.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use ringd::cli::Invocation;
use ringd::host;
use ringd::observe::goes_to_journal;
#[cfg(feature = "simulator")]
use ringd::sim;
use ringd::sys::stand_in_as_process_1;
use ringd::system::{ftn, jitterbug, lab2};

/// Something that must hold was broken in a simulation.
#[cfg(feature = "simulator")]
const BROKEN: u8 = 1;

fn main() -> ExitCode {
    if let Some(code) = stand_in_as_process_1() {
        return ExitCode::from(code);
    }
    let ended = match Invocation::parse() {
        Invocation::Daemon(options) => daemon(lab2::run(&options)),
        Invocation::Ftn(options) => daemon(ftn::run(&options)),
        Invocation::Jitterbug(options) => daemon(jitterbug::run(&options)),
        #[cfg(feature = "simulator")]
        Invocation::Sim(options) => match sim::command::run(&options) {
            Ok(true) => Ok(ExitCode::SUCCESS),
            Ok(false) => Ok(ExitCode::from(BROKEN)),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
    };
    let (code, error) = match ended {
        Ok(code) => return code,
        Err(failed) => failed,
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

/// How a daemon has ended; if it failed, with the exit code and why.
fn daemon(ended: Result<(), host::Error>) -> Result<ExitCode, (u8, String)> {
    match ended {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => Err((error.exit_code(), error.to_string())),
    }
}
