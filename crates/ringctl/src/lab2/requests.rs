//! Requests of the ring's commands to a daemon and to a keeper.

use std::path::Path;

use ring_client::lock::MARGINS;
use ring_control::lab2::{LockRequest, RefusalReason, RingRequest, Status};
use ring_control::{NodeStatus, RawJson, Refusal, Reply, Request, escape_control_characters};
use serde_json::Error as JsonError;

use super::super::keeper::{Assignment, Binding, Granter, NotAcquired};
use super::super::render::members::add_names;
use super::super::{Error, client, client::CommonRequest};
use super::options::AcquireOptions;

pub(super) fn request_done(socket: &Path, own: RingRequest) -> Result<(), Error> {
    client::request_done(socket, &Request::System(own))
}

/// Fetches the status of a ring's node.
pub(super) fn fetch_status(socket: &Path) -> Result<Status, Error> {
    match client::ask(socket, &CommonRequest::Status)? {
        Reply::Status(status) => read_status(&status),
        other => Err(Error::from_unexpected_reply(other)),
    }
}

/// Reads the status of a ring's node, and adds the names of its members. Fails if the status comes from a node of
/// another system.
pub(in super::super) fn read_status(status: &NodeStatus) -> Result<Status, Error> {
    if let Some(system) = status.system() {
        let system = escape_control_characters(&system);
        return Err(Error::Refused(format!(
            "members of {system} have no names; leave the name out"
        )));
    }
    let mut read = status
        .json()
        .decode()
        .map_err(|error: JsonError| Error::Unexpected(error.to_string()))?;
    add_names(&mut read);
    Ok(read)
}

pub(super) fn request_json(own: RingRequest) -> RawJson {
    RawJson::encode(&Request::System(own))
}

pub(super) fn lock_request_json(lock: LockRequest) -> RawJson {
    RawJson::encode(&Request::<RingRequest>::Lock(lock))
}

/// Returns the assignment of a keeper that requests a lock and waits for it, at most for `wait_ms`.
pub(super) fn keeper_assignment(
    socket: &Path,
    request: RawJson,
    wait_ms: Option<u64>,
    binding: Binding,
) -> Assignment {
    Assignment {
        granter: Granter::Daemon(socket.to_owned()),
        wait_ms,
        request,
        reports: None,
        margins: MARGINS,
        grace_ms: 0,
        binding,
    }
}

pub(super) fn not_acquired_error(why: NotAcquired, options: &AcquireOptions) -> Error {
    match why {
        NotAcquired::Refused(refusal) => refusal_error(refusal, options),
        NotAcquired::Unbound(text) => Error::NotAcquired {
            text,
            code: options.conflict_exit_code,
        },
        NotAcquired::NoDaemon(text) => Error::Gone(text),
        NotAcquired::Error(text) => Error::Refused(text),
    }
}

pub(super) fn refusal_error(
    Refusal { why, text, lost }: Refusal,
    options: &AcquireOptions,
) -> Error {
    // A refusal for one of these reasons is an error, because neither waiting nor another attempt helps. Other refusals
    // are negative answers.
    let permanent = [
        RefusalReason::AlreadyHeld,
        RefusalReason::JobTableFull,
        RefusalReason::LockTableFull,
        RefusalReason::Mtu,
        RefusalReason::Rule,
    ];
    if why == RefusalReason::AlreadyRan.name() && lost {
        Error::RunLost(text)
    } else if why == RefusalReason::AlreadyRan.name() {
        Error::HasRun(text)
    } else if permanent.iter().any(|reason| why == reason.name()) {
        Error::Refused(text)
    } else {
        Error::NotAcquired {
            text,
            code: options.conflict_exit_code,
        }
    }
}
