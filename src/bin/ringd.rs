//! The daemon: see `ringd --help`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use ringd::daemon::{self, Options};

fn main() -> ExitCode {
    match daemon::run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ringd: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
