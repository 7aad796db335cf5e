//! Asks a running daemon: see `ringctl --help`.

#![forbid(unsafe_code)]

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use clap::Parser;
use ringd::ctl::{self, Error, Options};

fn main() -> ExitCode {
    let mut output = io::BufWriter::new(io::stdout().lock());
    match ctl::run(&Options::parse(), &mut output) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has read enough.
        Err(Error::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ringctl: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
