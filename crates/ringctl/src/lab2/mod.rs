//! What `ringctl` does with a node of a Lab2 ring: its commands, and its locks. The page of its status is in
//! `render/lab2/`.

mod asking;
mod data;
pub(super) mod help;
mod lock;
mod names;
mod options;
mod pause;
mod run;
mod wait;

use std::io::Write;
use std::path::{self, Path};

use ring_control::lab2::RingRequest;

use super::Error;
use asking::{done, status};
pub(super) use names::named_by;
pub(super) use options::RingCommand;

/// Carries a command out, prints to `output`, and returns the process's exit code.
///
/// # Errors
/// An [`Error`], or that `output` takes nothing.
pub(super) fn carry_out(
    command: &RingCommand,
    socket: &Path,
    quiet: bool,
    output: &mut impl Write,
) -> anyhow::Result<u8> {
    // A keeper works in another directory.
    let full = || path::absolute(socket).map_err(Error::System);
    match command {
        RingCommand::Run(run) => return Ok(run::run(&full()?, run)?),
        RingCommand::Once(once) => return Ok(run::once(&full()?, once, quiet)?),
        RingCommand::Lock(lock) => lock::lock(&full()?, lock, output)?,
        RingCommand::Unlock { pid } => lock::unlock(&full()?, *pid)?,
        RingCommand::Pause(pause) => pause::pause(socket, pause, quiet)?,
        RingCommand::Resume => done(socket, RingRequest::Resume)?,
        RingCommand::Yield { to } => yield_to(socket, to.as_deref())?,
        RingCommand::Forget { member } => {
            let member = address(socket, member)?;
            done(socket, RingRequest::Forget { member })?;
        }
        RingCommand::Data { command } => data::data(socket, command, output)?,
        RingCommand::Wait { target, timeout } => wait::wait(socket, *target, *timeout)?,
    }
    Ok(0)
}

/// Hands the token over to the member of this address or name, or to the next.
fn yield_to(socket: &Path, to: Option<&str>) -> Result<(), Error> {
    let to = to.map(|to| address(socket, to)).transpose()?;
    done(socket, RingRequest::Yield { to })
}

/// Returns the address of a member that is given by its MAC, its ip or its name.
fn address(socket: &Path, member: &str) -> Result<String, Error> {
    if names::is_name(member) {
        names::member_called(member, &status(socket)?)
    } else {
        Ok(member.to_owned())
    }
}
