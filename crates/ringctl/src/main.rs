//! Asks a running daemon: see `ringctl --help`.

#![forbid(unsafe_code)]

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Error;
use ring_process::stand_in_as_process_1;
use ringctl::Options;

fn main() -> ExitCode {
    ringctl::complete_if_asked();
    let mut output = io::BufWriter::new(io::stdout().lock());
    let options = Options::of_process();
    if !options.is_for_its_caller()
        && let Some(code) = stand_in_as_process_1()
    {
        return ExitCode::from(code);
    }
    match ringctl::carry_out(&options, &mut output) {
        Ok(code) => ExitCode::from(code),
        Err(error) if has_read_enough(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let known: Option<&ringctl::Error> = error.downcast_ref();
            if !(options.quiet && known.is_some_and(ringctl::Error::is_answer)) {
                // Where nobody can be told, the exit code still says it.
                let text = ringctl::message(&options, &error);
                let _ = writeln!(io::stderr(), "ringctl: {text}");
            }
            ExitCode::from(known.map_or(1, ringctl::Error::exit_code))
        }
    }
}

/// Whether it is only that whoever reads the output has closed it.
fn has_read_enough(error: &Error) -> bool {
    let io: Option<&io::Error> = error.downcast_ref();
    io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
