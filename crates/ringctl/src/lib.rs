//! `ringctl`: finds a daemon, sends it a request and prints the answer.
//!
//! Code that all systems share is in this folder and names no system. Code for one system is in a folder of its name,
//! here and in `render/`. `systems.rs` lists the systems. `ringctl` holds no lock itself: a keeper process does
//! (`keeper/mod.rs`). Start with `options.rs` (the command line) and [`execute`].

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
use status::Format;

/// Environment variable that a shell sets to request completions. No other program uses this name, so a variable that
/// is set for another program never makes `ringctl` print completions.
const COMPLETION_VARIABLE: &str = "RINGCTL_COMPLETE";

/// Prints completions and ends the process if a shell requests them. Otherwise returns.
pub fn answer_completion_request() {
    CompleteEnv::with_factory(Options::command)
        .var(COMPLETION_VARIABLE)
        .complete();
}

/// Executes the command of the options, prints to `output`, and returns the process's exit code.
///
/// # Errors
/// Fails with an [`Error`], or if `output` cannot be written.
pub fn execute(options: &Options, output: &mut impl Write) -> anyhow::Result<u8> {
    match &options.command {
        Command::Status { check: true, .. } => status::check(socket_path(options), output),
        Command::Status { json, check: false } => {
            let shown = match json {
                _ if options.quiet => Format::Nothing,
                true => Format::Json,
                false => Format::Page,
            };
            status::status(&socket_path(options)?, shown, output)
        }
        Command::System(command) => command.execute(socket_path(options), options.quiet, output),
        Command::Watch { json, from, turns } => {
            watch::watch(&socket_path(options)?, *json, *from, *turns, output)?;
            Ok(0)
        }
        Command::Guard(guard) => Ok(fence::guard(guard)?),
        Command::Keep => {
            keeper::run_keeper()?;
            Ok(0)
        }
        Command::Become { gate, command } => Ok(gate::become_when_opened(*gate, command)),
    }
}

/// Returns an error's text for people, with the machine's name after each MAC address.
pub fn error_text(options: &Options, error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    match (&options.command, socket_path(options)) {
        (Command::System(command), Ok(socket)) => command.add_names(&socket, text),
        _ => text,
    }
}

fn socket_path(options: &Options) -> Result<PathBuf, Error> {
    let base = Path::new(CONTROL_DIR);
    match (&options.socket, &options.interface) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(name)) => Ok(discover::socket_path(base, name)),
        (None, None) => discover::only_socket(base, |system| options.command.is_served_by(system)),
    }
}
