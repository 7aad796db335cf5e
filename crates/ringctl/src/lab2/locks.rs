//! `ringctl locks`: lists the named locks of the ring.

use std::io::Write;
use std::path::Path;

use ring_control::lab2::{NamedLockStatus, RingRequest};
use ring_control::{RawJson, Reply, Request};

use super::super::render::{locks, write_json};
use super::super::{Error, client};
use super::named_lock::explain_unknown;
use super::requests::fetch_status;

/// Prints all programs that hold named locks or wait for them.
pub(super) fn list(socket: &Path, json: bool, output: &mut impl Write) -> anyhow::Result<()> {
    let mut found = fetch_locks(socket)?;
    if !found.is_empty() {
        let status = fetch_status(socket)?;
        for lock in &mut found {
            let mut members = status.members.iter();
            let member = members.find(|member| member.mac == lock.member);
            if let Some(member) = member {
                lock.member_name.clone_from(&member.name);
            }
        }
    }
    if json {
        write_json(&RawJson::encode(&found), output)?;
    } else {
        locks::write_locks(&found, output)?;
    }
    Ok(output.flush()?)
}

/// Returns all named locks of the ring, sorted by name. Asks the daemon for them.
pub(super) fn fetch_locks(socket: &Path) -> Result<Vec<NamedLockStatus>, Error> {
    match client::ask(socket, &Request::System(RingRequest::Locks))? {
        Reply::Locks(locks) => {
            let decoded = locks.iter().map(RawJson::decode);
            decoded
                .collect::<Result<_, _>>()
                .map_err(|error: serde_json::Error| Error::Unexpected(error.to_string()))
        }
        other => Err(explain_unknown(Error::from_unexpected_reply(other))),
    }
}
