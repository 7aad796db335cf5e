//! The commands of `ringctl` for nodes of a Lab2 ring. The code in `render/lab2/` formats the status of these nodes.

mod completion;
mod data;
mod dump;
pub(super) mod help;
mod lock;
mod locks;
mod named_lock;
mod names;
mod options;
mod pause;
mod requests;
mod run;
mod survey;
mod wait;
mod wait_quorum;

use std::io::Write;
use std::path::{self, Path};

use ring_control::lab2::RingRequest;

use super::Error;
pub(super) use completion::lock_candidates;
pub(super) use named_lock::{caller_token as named_lock_token, parse_lock_name};
pub(super) use names::add_names;
pub(super) use options::RingCommand;
pub(super) use requests::read_status;
use requests::{fetch_status, request_done};
pub(super) use survey::{ask as ask_for_survey, status_of_all};

pub(super) fn execute(
    command: &RingCommand,
    socket: &Path,
    quiet: bool,
    output: &mut impl Write,
) -> anyhow::Result<u8> {
    // The keeper changes its working directory, so it needs an absolute path.
    let full = || path::absolute(socket).map_err(Error::System);
    match command {
        RingCommand::Run(run) => return Ok(run::run(&full()?, run)?),
        RingCommand::RunTarget(target) => return Ok(run::run_target(&full()?, target)?),
        RingCommand::Once(once) => return Ok(run::once(&full()?, once, quiet)?),
        RingCommand::Lock(lock) => lock::lock(&full()?, lock, output)?,
        RingCommand::Unlock { name, pid } => lock::unlock(&full()?, *name, *pid)?,
        RingCommand::Locks { json } => locks::list(socket, *json, output)?,
        RingCommand::Pause(pause) => pause::pause(socket, pause, quiet)?,
        RingCommand::Resume => request_done(socket, RingRequest::Resume)?,
        RingCommand::Yield { to } => yield_to(socket, to.as_deref())?,
        RingCommand::Forget { member } => {
            let member = address(socket, member)?;
            request_done(socket, RingRequest::Forget { member })?;
        }
        RingCommand::Dump { output: file } => dump::dump(socket, file.as_deref(), output)?,
        RingCommand::Data { command } => data::data(socket, command, output)?,
        RingCommand::Wait {
            target, timeout, ..
        } => match target {
            Some(target) => wait::wait(socket, *target, *timeout)?,
            None => wait_quorum::wait(socket, *timeout)?,
        },
    }
    Ok(0)
}

fn yield_to(socket: &Path, to: Option<&str>) -> Result<(), Error> {
    let to = to.map(|to| address(socket, to)).transpose()?;
    request_done(socket, RingRequest::Yield { to })
}

fn address(socket: &Path, member: &str) -> Result<String, Error> {
    if names::is_name(member) {
        names::find_member(member, &fetch_status(socket)?)
    } else {
        Ok(member.to_owned())
    }
}
