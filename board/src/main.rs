//! A node of a coordinated ring: see `ring-board --help`.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use clap_complete::CompleteEnv;
use ring_board::command_line::{self, Invocation};
use ring_config::Failure;
use ring_host::observe::goes_to_journal;
use ring_process::run_as_process_1;

/// The variable that a shell sets to request completions.
const COMPLETION_VARIABLE: &str = "RING_BOARD_COMPLETE";

fn main() -> ExitCode {
    CompleteEnv::with_factory(command_line::command)
        .var(COMPLETION_VARIABLE)
        .complete();
    if let Some(code) = run_as_process_1() {
        return ExitCode::from(code);
    }
    let Err(error) = run() else {
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

fn run() -> Result<(), ring_host::Error> {
    let invocation = Invocation::parse().map_err(|failure| match failure {
        Failure::CommandLine(error) => error.exit(),
        Failure::File(error) => ring_host::Error::Usage(error.to_string()),
    })?;
    match invocation {
        Invocation::Node(configured) => ring_board::run(configured),
        Invocation::Password => {
            let line = ring_board::make_password_line()?;
            writeln!(io::stdout(), "{line}").map_err(|error| {
                ring_host::Error::Usage(format!("cannot print the line: {error}; try again"))
            })
        }
    }
}
