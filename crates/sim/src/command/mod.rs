//! The command `ring-sim`. Only this module uses files, threads and the terminal.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the command uses files, clocks and one thread per processor, outside the simulations"
)]

mod andrews;
mod error;
mod escape;
mod files;
mod ftn;
mod jitterbug;
mod lab2;
mod many;
mod options;
mod progress;
mod replay;
mod system;

use std::io;

pub use error::Error;
pub use options::Options;
use options::{Command, SimulatedSystem};

/// Runs the simulations of the options and prints their outcomes. Returns `true` if no rule is broken.
///
/// # Errors
/// Returns an error if a file or standard output cannot be read or written.
pub fn run(options: &Options) -> Result<bool, Error> {
    // The command reports a panic of a state machine as a violation, so the panic itself is not printed.
    std::panic::set_hook(Box::new(|_| ()));
    options.check()?;
    let out = &mut io::stdout().lock();
    if let Some(Command::Replay(options)) = &options.command {
        return replay::run::<ring_proto::lab2::Lab2>(options, out);
    }
    match options.system {
        SimulatedSystem::Lab2 => system::run::<lab2::Lab2<ring_proto::lab2::Lab2>>(options, out),
        SimulatedSystem::Ftn => system::run::<ftn::Ftn>(options, out),
        SimulatedSystem::Jitterbug => system::run::<jitterbug::Jitterbug>(options, out),
        SimulatedSystem::Andrews => system::run::<andrews::Andrews>(options, out),
    }
}

#[cfg(test)]
mod tests;
