//! Asks a running daemon; `ringctl --help` lists the commands.

#![forbid(unsafe_code)]

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Error;
use ring_process::stand_in_as_process_1;
use ringctl::Options;

fn main() -> ExitCode {
    ringctl::answer_completion_request();
    let mut output = io::BufWriter::new(io::stdout().lock());
    let options = Options::of_process();
    if !options.depends_on_caller()
        && let Some(code) = stand_in_as_process_1()
    {
        return ExitCode::from(code);
    }
    match ringctl::execute(&options, &mut output) {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_closed_by_reader(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let known: Option<&ringctl::Error> = error.downcast_ref();
            if !(options.quiet && known.is_some_and(ringctl::Error::is_answer)) {
                // If standard error is closed, the exit code still reports the failure.
                let text = ringctl::error_text(&options, &error);
                let _ = writeln!(io::stderr(), "ringctl: {text}");
            }
            ExitCode::from(known.map_or(1, ringctl::Error::exit_code))
        }
    }
}

/// Whether the error means only that the reader closed the output, as `head` does.
fn is_closed_by_reader(error: &Error) -> bool {
    let io: Option<&io::Error> = error.downcast_ref();
    io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
