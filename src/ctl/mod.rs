//! `ringctl`: finds the daemon, asks it, and shows the answer.

mod client;
mod connection;
mod data;
mod discover;
mod error;
mod fence;
mod gate;
mod keeper;
mod lines;
mod lock;
mod names;
mod options;
mod pause;
mod peer;
mod pipe;
mod prober;
mod render;
mod run;
mod values;
mod watch;

use std::io::{self, Write};
use std::path::{self, Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

pub use error::Error;
pub use options::{
    Acquire, Command, DataCommand, GuardOptions, LockOptions, OnceOptions, Options, PauseOptions,
    RunOptions, Target,
};

use crate::control::{CONTROL_DIR, NodeStatus, Reply, Request, Status, harmless};

/// The exit code of `status` for a node that is in no ring.
const NOT_IN_RING: u8 = 5;

/// Does what the options say, prints to `output`, and returns the process's exit code.
///
/// # Errors
/// An [`Error`], or that `output` takes nothing.
pub fn carry_out(options: &Options, output: &mut impl Write) -> anyhow::Result<u8> {
    match &options.command {
        Command::Status { json } => {
            let status = node_status(&socket(options)?)?;
            if !options.quiet {
                show(&status, *json, output).context("cannot write the answer")?;
            }
            let is_well = match &status {
                NodeStatus::Lab2(status) => status.is_in_ring(),
                NodeStatus::Other(summary) => summary.healthy,
            };
            return Ok(if is_well { 0 } else { NOT_IN_RING });
        }
        Command::Run(run) => return Ok(run::run(&full_socket(options)?, run)?),
        Command::Once(once) => return Ok(run::once(&full_socket(options)?, once, options.quiet)?),
        Command::Lock(lock) => lock::lock(&full_socket(options)?, lock, output)?,
        Command::Unlock { pid } => lock::unlock(&full_socket(options)?, *pid)?,
        Command::Pause(pause) => pause::pause(&socket(options)?, pause, options.quiet)?,
        Command::Resume => client::done(&socket(options)?, &Request::Resume)?,
        Command::Yield { to } => yield_to(&socket(options)?, to.as_deref())?,
        Command::Forget { member } => {
            let socket = socket(options)?;
            let member = address(&socket, member)?;
            client::done(&socket, &Request::Forget { member })?;
        }
        Command::Data { command } => data::data(&socket(options)?, command, output)?,
        Command::Watch { json, from, turns } => {
            watch::watch(&socket(options)?, *json, *from, *turns, output)?;
        }
        Command::Wait { target, timeout } => watch::wait(&socket(options)?, *target, *timeout)?,
        Command::Guard(guard) => return Ok(fence::guard(guard)?),
        Command::Keep => keeper::keep()?,
        Command::Become { gate, command } => return Ok(gate::wait_and_become(*gate, command)),
    }
    Ok(0)
}

/// Asks for the status of a node of a Lab2 ring.
fn status(socket: &Path) -> Result<Status, Error> {
    match node_status(socket)? {
        NodeStatus::Lab2(status) => Ok(*status),
        NodeStatus::Other(summary) => Err(Error::Refused(format!(
            "a node of {} is in no ring",
            harmless(&summary.system)
        ))),
    }
}

fn node_status(socket: &Path) -> Result<NodeStatus, Error> {
    match client::ask(socket, &Request::Status)? {
        Reply::Status(mut status) => {
            if let NodeStatus::Lab2(status) = &mut status {
                names::Names::read().give_to(status);
            }
            Ok(status)
        }
        Reply::Error(why) => Err(Error::Refused(why)),
        other => Err(Error::Unexpected(format!("{other:?}"))),
    }
}

fn yield_to(socket: &Path, to: Option<&str>) -> Result<(), Error> {
    let to = to.map(|to| address(socket, to)).transpose()?;
    client::done(socket, &Request::Yield { to })
}

/// Returns the address of a member that is given by its MAC, its ip or its name.
fn address(socket: &Path, member: &str) -> Result<String, Error> {
    if names::is_name(member) {
        names::member_called(member, &status(socket)?)
    } else {
        Ok(member.to_owned())
    }
}

fn show(status: &NodeStatus, json: bool, output: &mut impl Write) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *output, status)?;
        writeln!(output)?;
    } else {
        match status {
            NodeStatus::Lab2(status) => render::status(status, output)?,
            NodeStatus::Other(summary) => render::summary(summary, output)?,
        }
    }
    output.flush()
}

fn not_acquired(text: String, options: &Acquire) -> Error {
    Error::NotAcquired {
        text,
        code: options.conflict_exit_code,
    }
}

/// Returns the socket's absolute path.
fn full_socket(options: &Options) -> Result<PathBuf, Error> {
    path::absolute(socket(options)?).map_err(Error::System)
}

/// In whole milliseconds.
fn duration_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn socket(options: &Options) -> Result<PathBuf, Error> {
    let directory = Path::new(CONTROL_DIR);
    match (&options.socket, &options.interface) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(name)) => Ok(name.socket(directory)),
        (None, None) => discover::only_socket(directory),
    }
}
