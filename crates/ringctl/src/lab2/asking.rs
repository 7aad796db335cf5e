//! What the commands of a ring ask of a daemon and of a keeper.

use std::path::Path;

use ring_client::lock::MARGINS;
use ring_control::lab2::{LockRequest, RefusalReason, RingRequest, Status};
use ring_control::{NodeStatus, OwnJson, Refusal, Reply, Request, harmless};
use serde_json::Error as JsonError;

use super::super::keeper::{Assignment, Binding, Granter, NotAcquired};
use super::super::render::members::give_to;
use super::super::{Error, client, client::Plain};
use super::options::Acquire;

/// Sends a request whose only answer is that it is done.
pub(super) fn done(socket: &Path, own: RingRequest) -> Result<(), Error> {
    client::done(socket, &Request::Own(own))
}

/// Asks for the status of a node of a ring, with the names of its members.
pub(super) fn status(socket: &Path) -> Result<Status, Error> {
    let mut status = match client::ask(socket, &Plain::Status)? {
        Reply::Status(status) => read(&status)?,
        other => return Err(Error::unexpected(other)),
    };
    give_to(&mut status);
    Ok(status)
}

/// Reads the status of a node of a ring.
pub(super) fn read(status: &NodeStatus) -> Result<Status, Error> {
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
pub(super) fn request(own: RingRequest) -> OwnJson {
    OwnJson::of(&Request::Own(own))
}

/// The request for a lock, as JSON.
pub(super) fn lock_request(lock: LockRequest) -> OwnJson {
    OwnJson::of(&Request::<RingRequest>::Lock(lock))
}

/// What a keeper has to do for such a lock.
pub(super) fn assignment(socket: &Path, lock: LockRequest, binding: Binding) -> Assignment {
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
pub(super) fn not_acquired(why: NotAcquired, options: &Acquire) -> Error {
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
pub(super) fn lock_denied(Refusal { why, text, lost }: Refusal, options: &Acquire) -> Error {
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
