//! `ring-sim`: the world as a command. Files, threads and the terminal are here, and only here.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what is around the worlds reads files and clocks, and has a thread for each processor"
)]

mod andrews;
mod error;
mod files;
mod ftn;
mod jitterbug;
mod lab2;
mod many;
mod options;
mod progress;
mod system;

use std::io;

pub use error::Error;
pub use options::Options;
use options::Simulated;

/// Runs what the options ask for and prints what happened. `true`: nothing was broken.
///
/// # Errors
/// A file cannot be read or written, or the output takes nothing.
pub fn run(options: &Options) -> Result<bool, Error> {
    // A machine that panics is a violation like any other, and is printed as one.
    std::panic::set_hook(Box::new(|_| ()));
    options.check()?;
    let out = &mut io::stdout().lock();
    match options.system {
        Simulated::Lab2 => system::run::<lab2::Lab2<ring_proto::lab2::Lab2>>(options, out),
        Simulated::Ftn => system::run::<ftn::Ftn>(options, out),
        Simulated::Jitterbug => system::run::<jitterbug::Jitterbug>(options, out),
        Simulated::Andrews => system::run::<andrews::Andrews>(options, out),
    }
}

#[cfg(test)]
mod tests;
