//! What `ringctl` does with a node of a Lab2 ring: its commands, and its locks. The page of its status is in
//! `ctl/render/lab2/`.

mod data;
pub(super) mod help;
mod lock;
mod names;
mod obstacle;
mod options;
mod pause;
mod run;
mod view;
mod wait;

use std::io::Write;
use std::path::Path;

use ring_control::lab2::{LockRequest, RefusalReason, RingRequest, Status};
use ring_control::{NodeStatus, OwnJson, Refusal, Reply, Request, harmless};
use serde_json::Error as JsonError;

use super::keeper::{Assignment, Binding, Granter, NotAcquired};
use super::{Error, Options, client, full_socket, socket};
use client::Plain;
pub(super) use names::named_by;
use options::Acquire;
pub(super) use options::RingCommand;
use ring_client::lock::MARGINS;
pub(super) use view::{RingView, event_text};

/// Carries a command out, prints to `output`, and returns the process's exit code.
///
/// # Errors
/// An [`Error`], or that `output` takes nothing.
pub(super) fn carry_out(
    command: &RingCommand,
    options: &Options,
    output: &mut impl Write,
) -> anyhow::Result<u8> {
    match command {
        RingCommand::Run(run) => return Ok(run::run(&full_socket(options)?, run)?),
        RingCommand::Once(once) => {
            return Ok(run::once(&full_socket(options)?, once, options.quiet)?);
        }
        RingCommand::Lock(lock) => lock::lock(&full_socket(options)?, lock, output)?,
        RingCommand::Unlock { pid } => lock::unlock(&full_socket(options)?, *pid)?,
        RingCommand::Pause(pause) => pause::pause(&socket(options)?, pause, options.quiet)?,
        RingCommand::Resume => done(&socket(options)?, RingRequest::Resume)?,
        RingCommand::Yield { to } => yield_to(&socket(options)?, to.as_deref())?,
        RingCommand::Forget { member } => {
            let socket = socket(options)?;
            let member = address(&socket, member)?;
            done(&socket, RingRequest::Forget { member })?;
        }
        RingCommand::Data { command } => data::data(&socket(options)?, command, output)?,
        RingCommand::Wait { target, timeout } => {
            wait::wait(&socket(options)?, *target, *timeout)?;
        }
    }
    Ok(0)
}

/// Sends a request whose only answer is that it is done.
fn done(socket: &Path, own: RingRequest) -> Result<(), Error> {
    client::done(socket, &Request::Own(own))
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

/// Asks for the status of a node of a ring, with the names of its members.
fn status(socket: &Path) -> Result<Status, Error> {
    let mut status = match client::ask(socket, &Plain::Status)? {
        Reply::Status(status) => read(&status)?,
        Reply::Error(why) => return Err(Error::Refused(why)),
        other => return Err(Error::Unexpected(format!("{other:?}"))),
    };
    names::give_to(&mut status);
    Ok(status)
}

/// Reads the status of a node of a ring.
fn read(status: &NodeStatus) -> Result<Status, Error> {
    if let Some(system) = status.system() {
        let system = harmless(&system);
        return Err(Error::Refused(format!(
            "a node of {system} has no members with names: give none"
        )));
    }
    let read = status.json().read();
    read.map_err(|error: JsonError| Error::Unexpected(error.to_string()))
}

/// A request that only nodes of a ring know, as JSON.
fn request(own: RingRequest) -> OwnJson {
    OwnJson::of(&Request::Own(own))
}

/// The request for a lock, as JSON.
fn lock_request(lock: LockRequest) -> OwnJson {
    OwnJson::of(&Request::<RingRequest>::Lock(lock))
}

/// What a keeper has to do for such a lock.
fn assignment(socket: &Path, lock: LockRequest, binding: Binding) -> Assignment {
    Assignment {
        granter: Granter::Daemon(socket.to_owned()),
        wait_ms: lock.wait_ms,
        request: lock_request(lock),
        reports: None,
        margins: MARGINS,
        grace_ms: 0,
        binding,
    }
}

/// Returns the error for a lock that is not granted.
fn not_acquired(why: NotAcquired, options: &Acquire) -> Error {
    match why {
        NotAcquired::Refused(refusal) => lock_denied(refusal, options),
        NotAcquired::Unbound(text) => Error::NotAcquired {
            text,
            code: options.conflict_exit_code,
        },
        NotAcquired::NoDaemon(text) => Error::Gone(text),
        NotAcquired::Error(text) => Error::Refused(text),
    }
}

/// Returns the error for a lock that the daemon refuses.
fn lock_denied(Refusal { why, text, lost }: Refusal, options: &Acquire) -> Error {
    // Neither waiting nor another attempt helps.
    let for_good = [
        RefusalReason::Nested,
        RefusalReason::Names,
        RefusalReason::Mtu,
    ];
    if why == RefusalReason::Ran.name() && lost {
        Error::RunLost(text)
    } else if why == RefusalReason::Ran.name() {
        Error::HasRun(text)
    } else if for_good.iter().any(|reason| why == reason.name()) {
        Error::Refused(text)
    } else {
        Error::NotAcquired {
            text,
            code: options.conflict_exit_code,
        }
    }
}
