//! `ringctl`: finds the daemon, asks it, and shows the answer.
//!
//! What all systems have in common is here, and names none of them; what is a system's own is in a folder of its
//! name, here and in `render/`. `systems.rs` knows which there are.

#![forbid(unsafe_code)]

mod client;
mod completion;
mod connection;
mod discover;
mod error;
mod fence;
mod ftn;
mod gate;
mod jitterbug;
mod keeper;
mod kill_timer;
mod lab2;
mod options;
mod pipe;
mod prober;
mod render;
mod run;
mod status;
mod systems;
mod usage;
mod values;
mod watch;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write;
use std::path::{self, Path, PathBuf};
use std::time::Duration;

pub use completion::complete_if_asked;
pub use error::Error;
pub use options::{Command, GuardOptions, Options};
pub use systems::SystemCommand;

use ring_control::CONTROL_DIR;
use status::Shown;

/// Does what the options say, prints to `output`, and returns the process's exit code.
///
/// # Errors
/// An [`Error`], or that `output` takes nothing.
pub fn carry_out(options: &Options, output: &mut impl Write) -> anyhow::Result<u8> {
    match &options.command {
        Command::Status { check: true, .. } => status::check(socket(options), output),
        Command::Status { json, check: false } => {
            let shown = match json {
                _ if options.quiet => Shown::No,
                true => Shown::Json,
                false => Shown::Page,
            };
            status::status(&socket(options)?, shown, output)
        }
        Command::System(command) => command.carry_out(options, output),
        Command::Watch { json, from, turns } => {
            watch::watch(&socket(options)?, *json, *from, *turns, output)?;
            Ok(0)
        }
        Command::Guard(guard) => Ok(fence::guard(guard)?),
        Command::Keep => {
            keeper::keep()?;
            Ok(0)
        }
        Command::Become { gate, command } => Ok(gate::wait_and_become(*gate, command)),
    }
}

/// Returns the socket's absolute path.
fn full_socket(options: &Options) -> Result<PathBuf, Error> {
    path::absolute(socket(options)?).map_err(Error::System)
}

/// Returns what an error says to people, with the names of the machines that it names by MAC.
#[must_use]
pub fn message(options: &Options, error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    match (&options.command, socket(options)) {
        (Command::System(command), Ok(socket)) => command.named(&socket, text),
        _ => text,
    }
}

/// Returns a command's name without its directory.
fn program_name(command: &[OsString]) -> Cow<'_, str> {
    let program = command.first().map(Path::new);
    let name = program.map(|program| program.file_name().unwrap_or(program.as_os_str()));
    name.unwrap_or_default().to_string_lossy()
}

/// In whole milliseconds.
fn duration_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn socket(options: &Options) -> Result<PathBuf, Error> {
    let base = Path::new(CONTROL_DIR);
    match (&options.socket, &options.interface) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(name)) => Ok(discover::socket(base, name)),
        (None, None) => discover::only_socket(base, |system| options.command.is_served_by(system)),
    }
}
