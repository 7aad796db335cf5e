//! The daemon: see `ringd --help`.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use ringd::daemon::{self, Options};

fn main() -> ExitCode {
    match daemon::run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where nobody can be told, the exit code still says it.
            let _ = writeln!(io::stderr(), "ringd: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
