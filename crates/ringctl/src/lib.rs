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
mod help;
mod jitterbug;
mod keeper;
mod kill_timer;
mod lab2;
mod nodes;
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

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_complete::CompleteEnv;

pub use error::Error;
pub use fence::GuardOptions;
pub use options::{Command, Options};
pub use systems::SystemCommand;

use ring_control::CONTROL_DIR;
use status::Shown;

/// What a shell sets to ask. Its own name: what is set for another program is not to keep this one from its work.
const ASKS: &str = "RINGCTL_COMPLETE";

/// Answers a shell that asks what can be completed, and ends the process; nothing if none asks.
pub fn complete_if_asked() {
    CompleteEnv::with_factory(Options::command)
        .var(ASKS)
        .complete();
}

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
        Command::System(command) => command.carry_out(socket(options), options.quiet, output),
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

/// Returns what an error says to people, with the names of the machines that it names by MAC.
pub fn message(options: &Options, error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    match (&options.command, socket(options)) {
        (Command::System(command), Ok(socket)) => command.named(&socket, text),
        _ => text,
    }
}

fn socket(options: &Options) -> Result<PathBuf, Error> {
    let base = Path::new(CONTROL_DIR);
    match (&options.socket, &options.interface) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(name)) => Ok(discover::socket(base, name)),
        (None, None) => discover::only_socket(base, |system| options.command.is_served_by(system)),
    }
}
