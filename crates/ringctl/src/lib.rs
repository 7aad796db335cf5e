//! `ringctl`: finds a daemon, sends it a request and prints the answer.
//!
//! This folder contains the code that all systems share, which names no system. The code for one system is in a folder
//! with the name of this system, here and in `render/`. `systems.rs` lists the systems. `ringctl` itself holds no lock:
//! a keeper process holds it (`keeper/mod.rs`). Start with `options.rs` (the command line) and [`run_process`].

#![forbid(unsafe_code)]

mod client;
mod completion;
mod connection;
mod discover;
mod doctor;
mod error;
mod fence;
mod ftn;
mod gate;
mod help;
mod history;
mod jitterbug;
mod keeper;
mod kill_timer;
mod lab2;
mod metrics;
mod nodes;
mod options;
mod pipe;
mod prober;
mod render;
mod run;
mod signers;
mod status;
mod systemd;
mod systems;
mod top;
mod usage;
mod values;
mod watch;

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::CompleteEnv;
use ring_control::{CONTROL_DIR, Right};
use ring_process::run_as_process_1;

use error::Error;
use options::{Command, Options};
use status::Format;

/// Environment variable that a shell sets to request completions. No other program uses this name. So a variable for a
/// different program never makes `ringctl` print completions.
const COMPLETION_VARIABLE: &str = "RINGCTL_COMPLETE";

/// Returns the declaration of the command line, from which manual pages are generated.
pub fn command() -> clap::Command {
    Options::command()
}

/// Returns the tables of all metrics as Markdown, from which the reference page is generated.
pub fn metric_tables() -> String {
    metrics::reference_tables()
}

/// Returns the table of all kinds of findings as Markdown, from which the reference page is generated.
pub fn finding_table() -> String {
    doctor::finding_table()
}

/// Runs `ringctl` with the command line of this process, and returns the exit code.
pub fn run_process() -> ExitCode {
    // If a shell requests completions, this call prints them and ends the process.
    CompleteEnv::with_factory(command)
        .var(COMPLETION_VARIABLE)
        .complete();
    let mut output = io::BufWriter::new(io::stdout().lock());
    let options = Options::of_process();
    if !options.depends_on_caller()
        && let Some(code) = run_as_process_1()
    {
        return ExitCode::from(code);
    }
    match execute(&options, &mut output) {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_closed_by_reader(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let known: Option<&Error> = error.downcast_ref();
            if !(options.quiet && known.is_some_and(Error::is_answer)) {
                // If the error cannot be printed, the exit code still shows the failure.
                let _ = writeln!(io::stderr(), "ringctl: {}", error_text(&options, &error));
            }
            ExitCode::from(known.map_or(1, Error::exit_code))
        }
    }
}

/// Whether the only cause of the error is that the output was closed by its reader, for example by `head`.
fn is_closed_by_reader(error: &anyhow::Error) -> bool {
    let io: Option<&io::Error> = error.downcast_ref();
    io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn execute(options: &Options, output: &mut impl Write) -> anyhow::Result<u8> {
    match &options.command {
        Command::Status { check: true, .. } => status::check(socket_path(options), output),
        Command::Status {
            json,
            all,
            check: false,
        } => {
            let shown = match json {
                _ if options.quiet => Format::Nothing,
                true => Format::Json,
                false => Format::Page,
            };
            let socket = socket_path(options)?;
            if *all {
                return lab2::status_of_all(&socket, shown, output);
            }
            status::status(&socket, shown, output)
        }
        Command::System(command) => command.execute(socket_path(options), options.quiet, output),
        Command::Watch { json, from, turns } => {
            watch::watch(&socket_path(options)?, *json, *from, *turns, output)?;
            Ok(0)
        }
        Command::Top(top) => {
            top::top(&socket_path(options)?, top, output)?;
            Ok(0)
        }
        Command::Metrics => {
            metrics::print(socket_path(options), output)?;
            Ok(0)
        }
        Command::Exporter(exporter) => {
            let options = options.clone();
            metrics::serve(exporter.listen, Box::new(move || socket_path(&options)))?;
            Ok(0)
        }
        Command::History(given) => {
            history::print(options, given, output)?;
            Ok(0)
        }
        Command::Guard(guard) => Ok(fence::guard(guard)?),
        Command::Keep => {
            keeper::run_keeper()?;
            Ok(0)
        }
        Command::HoldTarget { target } => {
            systemd::hold_target(target)?;
            Ok(0)
        }
        Command::Become { gate, command } => Ok(gate::become_when_opened(*gate, command)),
    }
}

/// Returns an error's text for people, with the machine's name after each MAC address.
fn error_text(options: &Options, error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    match (&options.command, socket_path(options)) {
        (Command::System(command), Ok(socket)) => command.add_names(&socket, text),
        _ => text,
    }
}

fn socket_path(options: &Options) -> Result<PathBuf, Error> {
    let base = Path::new(CONTROL_DIR);
    let ring = options.command.ring().or(options.interface.as_ref());
    let control = match (&options.socket, ring) {
        (Some(path), _) => path.clone(),
        (None, Some(name)) => discover::socket_path(base, name),
        // For a lock, the command line must name the ring. Otherwise, a ring that is added later could change the
        // meaning of the command.
        (None, None) if options.command.must_name_ring() => {
            return Err(Error::Usage(
                "name the ring with -i IFACE; in a unit: Environment=\"RINGCTL_OPTIONS=-i IFACE\""
                    .to_owned(),
            ));
        }
        (None, None) => discover::only_socket(base, |system| options.command.is_served_by(system))?,
    };
    Ok(match options.command.right() {
        Right::Read => discover::socket_for_reading(control),
        Right::Act => control,
    })
}
