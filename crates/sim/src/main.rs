//! Runs the simulator: see `ring-sim --help`.

#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "the program's entry runs outside the simulations"
)]

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use clap_complete::CompleteEnv;
use ring_sim::command::{self, Options};

/// The exit code if a rule is broken.
const VIOLATION_EXIT_CODE: u8 = 1;
/// The variable that a shell sets to request completions.
const COMPLETION_VAR: &str = "RING_SIM_COMPLETE";

fn main() -> ExitCode {
    CompleteEnv::with_factory(Options::command)
        .var(COMPLETION_VAR)
        .complete();
    match command::run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(VIOLATION_EXIT_CODE),
        Err(error) => {
            // If stderr is closed, the exit code still reports the error.
            let _ = writeln!(io::stderr(), "ring-sim: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
