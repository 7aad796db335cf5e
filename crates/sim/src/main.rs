//! Simulates rings: see `ring-sim --help`.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "it is around the worlds")]

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use clap_complete::CompleteEnv;
use ring_sim::command::{self, Options};

/// Something that must hold was broken.
const BROKEN: u8 = 1;
/// What a shell sets to ask for completions.
const ASKS: &str = "RING_SIM_COMPLETE";

fn main() -> ExitCode {
    CompleteEnv::with_factory(Options::command)
        .var(ASKS)
        .complete();
    match command::run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(BROKEN),
        Err(error) => {
            // Where nobody can be told, the exit code still says it.
            let _ = writeln!(io::stderr(), "ring-sim: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
